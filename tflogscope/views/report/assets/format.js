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

  /* A step that cuts a span of ns into at most so many parts: 1, 2 or 5 times a power of ten, or
     of minutes. */
  function niceStep(span, most) {
    const least = span / most;
    const power = 10 ** Math.floor(Math.log10(least));
    const minutes = [60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400].map((each) => each * 1e9);
    const steps = least > 50e9 ? minutes : [1, 2, 5, 10].map((each) => each * power);
    return steps.find((each) => each >= least) ?? Math.ceil(least / 86400e9) * 86400e9;
  }

  /* The names of an axis's ticks, in ns. All have one unit, and digits as the step has; where these
     would be many, the others count from the first one. */
  function tickNames(ticks, step) {
    const largest = Math.max(...ticks.map(Math.abs), step);
    if (step >= 1e9 && largest >= 120e9) return ticks.map((tick) => clock(Math.round(tick / 1e9)));
    const unitOf = (ns) => [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]].find(([, size]) => ns >= size) ?? ["ns", 1];
    const digits = (size) => Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
    const [unit, size] = unitOf(largest);
    const name = (tick) => `${(tick / size).toFixed(digits(size))} ${unit}`;
    if (digits(size) <= 3) return ticks.map(name);
    const [small, part] = unitOf(step * (ticks.length - 1));
    return ticks.map((tick, place) => (place ? `+${((tick - ticks[0]) / part).toFixed(digits(part))} ${small}` : name(tick)));
  }

  /* Seconds as people write long times: `2:30 min`, `1:05 h`. */
  function clock(seconds) {
    const two = (value) => String(value).padStart(2, "0");
    if (Math.abs(seconds) < 3600) return `${Math.trunc(seconds / 60)}:${two(Math.abs(seconds) % 60)} min`;
    return `${Math.trunc(seconds / 3600)}:${two(Math.floor((Math.abs(seconds) % 3600) / 60))} h`;
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

  Object.assign(Report, { count, duration, moment, bytes, niceStep, tickNames, element });
})();
