"use strict";
/* Brings the page to life. Without it, tables and the still picture are there. */
(async () => {
  const { CLASSES, GUTTER, count, element } = Report;
  const by = (id) => document.getElementById(id);
  Report.enhanceTables();
  Report.theme(() => Report.picture?.draw());

  if (!("DecompressionStream" in window)) {
    by("timeline").append(element("p", {}, "This browser is too old for the interactive timeline."));
    return;
  }
  const data = await Report.load();
  if (!data.slices.count) {
    document.documentElement.dataset.state = "ready";
    return;
  }
  Report.classify(data);
  document.documentElement.classList.add("alive");
  const canvas = by("lanes");
  const picture = new Report.Picture(data, canvas, by("overview"));
  const shown = CLASSES.map(() => true);
  let found = { matches: null, list: [] };
  Object.assign(Report, { data, picture, choose });
  if (by("icicle-rows")) {
    Report.icicle = new Report.Icicle(data.stacks, by("icicle-rows"));
    by("icicle-search").addEventListener("input", (event) => {
      by("icicle-found").textContent = Report.icicle.light(event.target.value);
    });
  }
  layOut();
  picture.setView(0, data.slices.last);

  function layOut() {
    picture.setRows(Report.layOut(data, by("rows").value, shown));
  }

  function goTo(time) {
    const span = picture.view.to - picture.view.from;
    const size = Math.min(span, data.slices.last / 10);
    picture.setView(time - size / 2, time + size / 2);
    by("timeline").scrollIntoView();
  }

  // ---- choosing -------------------------------------------------------------------------------

  function choose(at, { closely = false, asked = -1, point = null } = {}) {
    if (at < 0) return;
    picture.chosen = at;
    picture.show(at, closely);
    by("details").replaceChildren(...Report.describe(data, at, asked).filter((each) => each !== null));
    open(...(point ?? picture.pointOf(at)));
    by("said").textContent = Report.brief(data, at);
    picture.request();
  }

  /* At the other side of the window if it would cover what was chosen. */
  function open(x, y) {
    const drawer = by("drawer");
    drawer.hidden = false;
    const { left, right, top, bottom } = drawer.getBoundingClientRect();
    if (x >= left && x <= right && y >= top && y <= bottom) drawer.classList.toggle("away");
  }

  let came = null; // from where the drawer was opened

  function close() {
    by("drawer").hidden = true;
    came?.focus({ preventScroll: true });
    came = null;
  }
  by("drawer-close").addEventListener("click", close);
  document.addEventListener("keydown", (event) => event.key === "Escape" && !by("drawer").hidden && close());

  /* Previous and next in the row, up to what holds it, down to what it holds. */
  function step(key) {
    if (picture.chosen < 0) {
      const begins = Report.search(data.slices.begin, picture.view.from);
      return choose(Math.min(begins, data.slices.count - 1));
    }
    const here = picture.placeOf(picture.chosen);
    if (!here) return undefined;
    if (key === "p" || key === "n") return choose(here.row.items[here.place + (key === "n" ? 1 : -1)] ?? -1);
    const other = picture.rows[here.number + (key === "ArrowDown" ? 1 : -1)];
    if (!other) return undefined;
    const begin = data.slices.begin[picture.chosen];
    const place = key === "ArrowUp" ? Report.search(other.begin, begin, true) - 1 : Report.search(other.begin, begin);
    return choose(other.items[Math.min(Math.max(place, 0), other.items.length - 1)]);
  }

  const KEYS = {
    "+": () => picture.zoom(1 / 1.5),
    "=": () => picture.zoom(1 / 1.5),
    "-": () => picture.zoom(1.5),
    "0": () => picture.setView(0, data.slices.last),
    z: () => picture.chosen >= 0 && picture.show(picture.chosen, true),
    "/": () => by("search").focus(),
    ArrowLeft: () => picture.pan(-0.2),
    ArrowRight: () => picture.pan(0.2),
  };
  for (const key of ["p", "n", "ArrowUp", "ArrowDown"]) KEYS[key] = () => step(key);
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  // ---- pointer --------------------------------------------------------------------------------

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.offsetX, moved: false, view: { ...picture.view } };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return tip(event);
    const by_ = event.offsetX - drag.x;
    drag.moved ||= Math.abs(by_) > 3;
    const span = drag.view.to - drag.view.from;
    const moved = (by_ / (picture.width - GUTTER)) * span;
    if (drag.moved) picture.setView(drag.view.from - moved, drag.view.to - moved);
    return undefined;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      choose(picture.sliceAt(event.offsetX, event.offsetY), { point: [event.clientX, event.clientY] });
    }
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => (by("tip").hidden = true));
  canvas.addEventListener("dblclick", (event) => {
    const at = picture.sliceAt(event.offsetX, event.offsetY);
    if (at >= 0) choose(at, { closely: true, point: [event.clientX, event.clientY] });
    else picture.zoom(1 / 3, event.offsetX);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (event.ctrlKey || event.metaKey) picture.zoom(Math.exp(event.deltaY * 0.0025), event.offsetX);
      else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        picture.pan((event.deltaX || event.deltaY) / (picture.width - GUTTER));
      } else return;
      event.preventDefault();
    },
    { passive: false },
  );

  function tip(event) {
    const at = picture.sliceAt(event.offsetX, event.offsetY);
    const box = by("tip");
    box.hidden = at < 0;
    if (at < 0) return;
    box.textContent = Report.brief(data, at);
    const room = canvas.parentElement.clientWidth - box.offsetWidth - 4;
    box.style.left = `${Math.max(Math.min(event.offsetX + 12, room), 0)}px`;
    box.style.top = `${event.offsetY + 66}px`;
  }

  by("overview").addEventListener("dblclick", () => picture.zoom(1 / 3)); // where the first click went
  by("overview").addEventListener("pointerdown", move);
  by("overview").addEventListener("pointermove", (event) => event.buttons && move(event));
  function move(event) {
    const time = ((event.offsetX - GUTTER) / (picture.width - GUTTER)) * data.slices.last;
    const half = (picture.view.to - picture.view.from) / 2;
    picture.setView(time - half, time + half);
  }

  // ---- tools ----------------------------------------------------------------------------------

  by("zoom-in").addEventListener("click", () => picture.zoom(1 / 2));
  by("zoom-out").addEventListener("click", () => picture.zoom(2));
  by("zoom-all").addEventListener("click", KEYS["0"]);
  by("rows").addEventListener("change", layOut);
  by("classes").addEventListener("change", (event) => {
    shown[CLASSES.indexOf(event.target.dataset.class)] = event.target.checked;
    layOut();
  });
  for (const box of by("classes").querySelectorAll("input")) {
    const kind = CLASSES.indexOf(box.dataset.class);
    box.parentElement.hidden = !data.slices.class.includes(kind);
  }

  let waiting = 0;
  by("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(look, 120);
  });
  by("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    clearTimeout(waiting);
    if (found.asked !== by("search").value.trim()) look();
    turn(event.shiftKey ? -1 : 1);
  });
  by("search-next").addEventListener("click", () => turn(1));
  by("search-back").addEventListener("click", () => turn(-1));

  function look() {
    const asked = by("search").value.trim();
    const number = Number(asked.replaceAll(",", ""));
    if (!asked) found = { matches: null, list: [] };
    else if (Number.isInteger(number)) {
      const at = Report.ofLine(data, number);
      found = { matches: null, list: at < 0 ? [] : [at] };
    } else found = Report.find(data, asked);
    found.asked = asked;
    picture.setMatches(found.matches);
    listMatches();
  }

  function listMatches() {
    for (const id of ["search-back", "search-next"]) by(id).hidden = !found.asked;
    const first = found.list.slice(0, 20);
    const what = found.list.length === 1 ? "1 match" : `${count(found.list.length)} matches`;
    const items = first.map((at) =>
      element("li", {}, element("button", { type: "button", className: "link", onclick: () => choose(at) }, Report.brief(data, at))),
    );
    const more = found.list.length > first.length ? [element("p", { className: "hint" }, "First 20 shown; Next shows more.")] : [];
    by("matches").replaceChildren(...(found.asked ? [element("h3", {}, what), element("ol", {}, ...items), ...more] : []));
    by("said").textContent = by("found").textContent = found.asked ? what : "";
  }

  function turn(by_) {
    const { list } = found;
    if (!list.length) return;
    const after = list.findIndex((at) => at > picture.chosen);
    const before = list.findLastIndex((at) => at < picture.chosen);
    if (by_ > 0) choose(list[Math.max(after, 0)]);
    else choose(list[before < 0 ? list.length - 1 : before]);
  }

  /* The finding or the row of a table that a link is in: the drawer begins with it. */
  function around(link) {
    const [card, row] = [link.closest(".cards li"), link.closest("tbody tr")];
    if (card) {
      const whole = element("div", { className: "asked" }, ...card.cloneNode(true).childNodes);
      whole.querySelector("details").open = true;
      return [whole];
    }
    if (!row) return [];
    const heads = [...row.closest("table").tHead.rows[0].cells];
    const list = element("dl", { className: "asked" });
    [...row.cells].forEach((cell, at) => {
      if (cell.textContent) list.append(element("dt", {}, heads[at].textContent), element("dd", {}, cell.textContent));
    });
    return [list];
  }

  // ---- links to lines -------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.line");
    if (!link) return;
    event.preventDefault();
    const asked = Number(link.hash.slice("#line-".length));
    const at = Report.ofLine(data, asked, link.dataset.source ?? null);
    if (at < 0) return;
    const said = around(link);
    const { left, bottom } = link.getBoundingClientRect();
    choose(at, { asked, point: [left, bottom] });
    by("details").prepend(...said);
    came = link;
    by("details").focus({ preventScroll: true });
  });
  if (/^#line-\d+$/.test(location.hash)) choose(Report.ofLine(data, Number(location.hash.slice(6))));
  document.documentElement.dataset.state = "ready";
})();
