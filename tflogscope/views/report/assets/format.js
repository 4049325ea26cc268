"use strict";
/* How figures are written: as views/table.py and docs/tables.md write them. */
(() => {
  const count = (value) => value.toLocaleString("en-US");

  function duration(microseconds) {
    if (microseconds < 0) return `-${duration(-microseconds)}`;
    for (const [unit, size] of [["µs", 1], ["ms", 1e3], ["s", 1e6]]) {
      const value = microseconds / size;
      if (value < (unit === "s" ? 59.95 : 999.5)) {
        if (unit === "µs" && Number.isInteger(value)) return `${value} µs`;
        return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`;
      }
    }
    const seconds = Math.round(microseconds / 1e6);
    const two = (value) => String(value).padStart(2, "0");
    if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
    const minutes = Math.round(seconds / 60);
    return `${count(Math.floor(minutes / 60))} h ${two(minutes % 60)} min`;
  }

  /* A time as the log prints it, which has no zone. */
  function moment(microseconds) {
    const date = new Date(Math.floor(microseconds / 1000));
    const parts = date.toISOString().replace("T", " ").slice(0, 19);
    return `${parts}.${String(Math.round(microseconds % 1e6)).padStart(6, "0")}`;
  }

  function bytes(value) {
    for (const unit of ["bytes", "kB", "MB", "GB"]) {
      if (value < 999.5) return unit === "bytes" ? `${value} ${unit}` : `${value.toPrecision(3)} ${unit}`;
      value /= 1000;
    }
    return `${value.toPrecision(3)} TB`;
  }

  /* A step of 1, 2 or 5 times a power of ten that cuts a span into at most so many parts. */
  function niceStep(span, most) {
    const least = span / most;
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least);
  }

  /* A time of an axis, in ns: all of one axis have the unit that its step is whole in. */
  function tickName(tick, step) {
    const [unit, size] = step >= 1e9 ? ["s", 1e9] : step >= 1e6 ? ["ms", 1e6] : step >= 1e3 ? ["µs", 1e3] : ["ns", 1];
    return `${count(Math.round(tick / size))} ${unit}`;
  }

  /* An element with texts and elements in it; never markup. */
  function element(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key in made && key !== "list") made[key] = value;
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  Object.assign(Report, { count, duration, moment, bytes, niceStep, tickName, element });
})();
