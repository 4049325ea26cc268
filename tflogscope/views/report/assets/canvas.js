"use strict";
/* The timeline's drawing. What is narrower than a pixel is drawn together, darker where more ran. */
(() => {
  const { CLASS, CLASSES, niceStep, search, tickNames } = Report;
  const ROW = 18;
  const AXIS = 22;
  const GUTTER = 78;
  const SAMPLES = 12;
  const AXES = { time: "after start", lines: "lines", durations: "added up" };
  // For those who see no colours: lines above and below a slice, and what fills half of the row.
  const ABOVE = new Set(["call", "data"].map((name) => CLASS[name]));
  const BELOW = new Set(["onednn", "eager-onednn", "data"].map((name) => CLASS[name]));
  const HALVES = { [CLASS.plumbing]: [9, 7], [CLASS.folding]: [2, 7] };

  class Picture {
    constructor(data, canvas, overview) {
      Object.assign(this, { data, canvas, overview, rows: [], chosen: -1, matches: null });
      this.scroll = canvas.parentElement;
      this.view = { from: 0, to: data.slices.last };
      this.busy = null;
      this.scroll.addEventListener("scroll", () => this.request());
      new ResizeObserver(() => this.resize()).observe(this.scroll);
    }

    setRows(rows) {
      this.rows = rows;
      this.height = AXIS + rows.length * ROW + 4;
      this.scroll.style.height = `${Math.min(this.height, 216)}px`;
      this.countMatches();
      this.busy = null;
      this.resize();
    }

    /* `matches` says of each slice whether the search found it; null: nothing is searched. */
    setMatches(matches) {
      this.matches = matches;
      this.countMatches();
      this.request();
    }

    countMatches() {
      for (const row of this.rows) {
        row.matches = null;
        if (!this.matches) continue;
        row.matches = new Uint32Array(row.items.length + 1);
        row.items.forEach((at, place) => {
          row.matches[place + 1] = row.matches[place] + this.matches[at];
        });
      }
    }

    resize() {
      this.width = Math.max(this.scroll.clientWidth, GUTTER + 50);
      for (const [canvas, height] of [[this.canvas, this.scroll.clientHeight], [this.overview, 44]]) {
        canvas.width = Math.round(this.width * devicePixelRatio);
        canvas.height = Math.round(height * devicePixelRatio);
        canvas.style.width = `${this.width}px`;
        canvas.style.height = `${height}px`;
      }
      this.canvas.style.marginBottom = `${Math.max(this.height - this.scroll.clientHeight, 0)}px`;
      this.busy = null;
      this.draw();
    }

    request() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
      });
    }

    readColours() {
      const style = getComputedStyle(document.documentElement);
      const of = (name) => style.getPropertyValue(`--${name}`).trim();
      this.colours = CLASSES.map(of);
      this.ink = of("ink");
      this.paper = of("paper");
      this.faint = of("faint");
      this.failed = of("error");
    }

    // ---- places -------------------------------------------------------------------------------

    x(time) {
      return GUTTER + ((time - this.view.from) / (this.view.to - this.view.from)) * (this.width - GUTTER);
    }

    time(x) {
      return this.view.from + ((x - GUTTER) / (this.width - GUTTER)) * (this.view.to - this.view.from);
    }

    setView(from, to) {
      const last = this.data.slices.last;
      const span = Math.min(Math.max(to - from, 200), last * 1.02);
      const begin = Math.min(Math.max(from, -0.01 * last), last * 1.01 - span);
      this.view = { from: begin, to: begin + span };
      this.request();
    }

    zoom(factor, x = GUTTER + (this.width - GUTTER) / 2) {
      const at = this.time(Math.max(x, GUTTER));
      this.setView(at - (at - this.view.from) * factor, at + (this.view.to - at) * factor);
    }

    pan(share) {
      const by = (this.view.to - this.view.from) * share;
      this.setView(this.view.from + by, this.view.to + by);
    }

    /* The slice at a place of the canvas, or the nearest within three pixels; −1: none. */
    sliceAt(x, y) {
      const row = this.rows[Math.floor((y - AXIS + this.scroll.scrollTop) / ROW)];
      if (!row || x < GUTTER || y < AXIS) return -1;
      const time = this.time(x);
      const near = (this.time(x + 3) - time) || 0;
      const place = search(row.begin, time, true) - 1;
      if (place >= 0 && row.end[place] >= time) return row.items[place];
      const found = [place, place + 1]
        .filter((each) => each >= 0 && each < row.items.length)
        .map((each) => [Math.min(Math.abs(row.begin[each] - time), Math.abs(row.end[each] - time)), each])
        .sort((one, other) => one[0] - other[0])[0];
      return found && found[0] <= near ? row.items[found[1]] : -1;
    }

    /* Row and place in it of a slice, null if it is not shown. */
    placeOf(slice) {
      const begin = this.data.slices.begin[slice];
      for (let number = 0; number < this.rows.length; number++) {
        const row = this.rows[number];
        for (let place = search(row.begin, begin); row.begin[place] === begin; place++) {
          if (row.items[place] === slice) return { number, place, row };
        }
      }
      return null;
    }

    /* Where the middle of a slice, as far as it is in view, is on the screen. */
    pointOf(slice) {
      const { begin, end } = this.data.slices;
      const box = this.canvas.getBoundingClientRect();
      const [left, right] = [Math.max(this.x(begin[slice]), GUTTER), Math.min(this.x(end[slice]), this.width)];
      const number = this.placeOf(slice)?.number ?? 0;
      return [box.x + (left + right) / 2, box.y + AXIS + (number + 0.5) * ROW - this.scroll.scrollTop];
    }

    /* Bring a slice into view; with `closely`, as large as it can be. */
    show(slice, closely = false) {
      const { begin, end, last } = this.data.slices;
      const span = this.view.to - this.view.from;
      const length = Math.max(end[slice] - begin[slice], 1000);
      const middle = (begin[slice] + end[slice]) / 2;
      const size = closely ? length * 1.3 : Math.max(Math.min(span, length * 60), length * 1.3);
      const visible = begin[slice] >= this.view.from && end[slice] <= this.view.to;
      if (closely || !visible || length < span / 200) this.setView(middle - size / 2, middle + Math.min(size, last) / 2);
      const place = this.placeOf(slice);
      if (!place) return;
      const top = place.number * ROW;
      if (top < this.scroll.scrollTop || top + ROW + AXIS > this.scroll.scrollTop + this.scroll.clientHeight) {
        this.scroll.scrollTop = top - this.scroll.clientHeight / 2;
      }
    }

    // ---- drawing ------------------------------------------------------------------------------

    draw() {
      const started = performance.now();
      this.readColours();
      const context = this.canvas.getContext("2d");
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      const height = this.scroll.clientHeight;
      context.clearRect(0, 0, this.width, height);
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      const ticks = this.ticks();
      context.fillStyle = this.faint;
      for (const tick of ticks.times) context.fillRect(this.x(tick), AXIS - 6, 1, height);
      const first = Math.max(Math.floor(this.scroll.scrollTop / ROW), 0);
      const last = Math.min(first + Math.ceil(height / ROW) + 1, this.rows.length);
      for (let number = first; number < last; number++) {
        this.drawRow(context, this.rows[number], AXIS + number * ROW - this.scroll.scrollTop);
      }
      this.drawAxis(context, ticks);
      this.drawCrash(context, height);
      this.drawOverview();
      this.drawnIn = performance.now() - started;
    }

    drawRow(context, row, top) {
      if (row.name) {
        context.globalAlpha = 1;
        context.fillStyle = this.faint;
        context.fillRect(0, top - 0.5, this.width, 1);
        context.fillStyle = this.ink;
        context.fillText(fitted(context, row.name, GUTTER - 10), 6, top + ROW / 2);
      }
      const { begin, end } = row;
      let place = Math.max(search(begin, this.view.from) - 1, 0);
      while (place < begin.length && begin[place] < this.view.to) {
        const left = Math.max(this.x(begin[place]), GUTTER);
        const right = this.x(end[place]);
        if (right < GUTTER) {
          place++;
        } else if (right - left >= 2) {
          this.drawSlice(context, row, place, left, Math.min(right, this.width + 2), top);
          place++;
        } else {
          place = this.drawTogether(context, row, place, left, top);
        }
      }
    }

    /* All that begins in one pixel. Returns the first place after it. */
    drawTogether(context, row, place, left, top) {
      const pixel = Math.floor(left);
      const until = this.time(pixel + 1);
      let after = search(row.begin, until);
      if (after <= place) after = place + 1;
      if (row.end[after - 1] > until && this.x(row.end[after - 1]) - pixel > 3 && after - 1 > place) after--;
      const step = Math.max(Math.floor((after - place) / SAMPLES), 1);
      let longest = place;
      for (let each = place; each < after; each += step) {
        if (row.end[each] - row.begin[each] > row.end[longest] - row.begin[longest]) longest = each;
      }
      const share = (row.busy[after] - row.busy[place]) / (until - this.time(pixel));
      const found = row.matches ? row.matches[after] > row.matches[place] : null;
      const dense = share > 0 ? 0.45 + 0.55 * Math.min(share, 1) : 0.8; // 0: no end is known
      context.globalAlpha = found === null ? dense : found ? 1 : 0.12;
      context.fillStyle = this.colours[this.data.slices.class[row.items[longest]]];
      const [inset, height] = HALVES[this.data.slices.class[row.items[longest]]] ?? [2, ROW - 4];
      context.fillRect(pixel, top + inset, 1.5, height);
      for (let each = place; each < after; each += step) this.outline(context, row.items[each], pixel, pixel + 2, top);
      return after;
    }

    drawSlice(context, row, place, left, right, top) {
      const at = row.items[place];
      const kind = this.data.slices.class[at];
      const found = row.matches ? this.matches[at] : null;
      context.globalAlpha = found === 0 ? 0.15 : 1;
      context.fillStyle = this.colours[kind];
      const [inset, height] = HALVES[kind] ?? [2, ROW - 4];
      context.fillRect(left, top + inset, right - left - 0.5, height);
      context.fillStyle = this.ink;
      if (ABOVE.has(kind)) context.fillRect(left, top + 2, right - left - 0.5, 2);
      if (BELOW.has(kind)) context.fillRect(left, top + ROW - 4, right - left - 0.5, 2);
      if (right - left > 26 && !(kind in HALVES)) {
        context.fillStyle = "#fff";
        context.fillText(fitted(context, Report.nameOf(this.data, at), right - left - 8), left + 4, top + ROW / 2);
      }
      this.outline(context, at, left, right, top);
    }

    outline(context, at, left, right, top) {
      if (at !== this.chosen) return;
      context.globalAlpha = 1;
      context.strokeStyle = this.ink;
      context.lineWidth = 2;
      context.strokeRect(left, top + 1.5, Math.max(right - left - 1, 2), ROW - 3);
    }

    ticks() {
      const { from, to } = this.view;
      const step = niceStep(to - from, Math.max((this.width - GUTTER) / 90, 2));
      const times = [];
      for (let time = Math.max(Math.ceil(from / step), 0) * step; time < to; time += step) times.push(time);
      return { step, times };
    }

    drawAxis(context, { step, times }) {
      context.globalAlpha = 1;
      context.fillStyle = this.paper;
      context.fillRect(0, 0, this.width, AXIS - 2);
      context.fillStyle = this.ink;
      const isLines = this.data.clock === "lines";
      context.fillText(AXES[this.data.clock], 6, AXIS / 2);
      const names = isLines ? times.map((time) => Report.count(time / 1000)) : tickNames(times, step);
      times.forEach((time, place) => {
        const left = this.x(time) + 3; // whole, or not at all
        if (left + context.measureText(names[place]).width <= this.width) context.fillText(names[place], left, AXIS / 2);
      });
    }

    /* Where the program crashed: a line, with what ended it on the axis. */
    drawCrash(context, height) {
      const { crash, slices } = this.data;
      if (!crash) return;
      const left = this.x(Math.min(crash.at, slices.last)) - 2;
      if (left < GUTTER || left > this.width) return;
      const text = fitted(context, crash.name, left - GUTTER);
      const size = context.measureText(text).width;
      context.globalAlpha = 1;
      context.fillStyle = this.paper;
      context.fillRect(left - size - 8, 0, size + 8, AXIS - 2);
      context.fillStyle = this.failed;
      context.fillRect(left, 0, 2, height);
      context.fillText(text, left - size - 4, AXIS / 2);
    }

    drawOverview() {
      const context = this.overview.getContext("2d");
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      context.clearRect(0, 0, this.width, 44);
      this.busy ??= this.sums();
      const { columns, bands } = this.busy;
      bands.forEach(([kind, place, values]) => {
        context.fillStyle = this.colours[kind];
        for (let column = 0; column < columns; column++) {
          if (!values[column]) continue;
          context.globalAlpha = 0.3 + 0.7 * Math.min(values[column], 1);
          context.fillRect(GUTTER + column, 3 + place * 10, 1, 8);
        }
      });
      context.globalAlpha = 1;
      context.fillStyle = this.ink;
      context.font = "11px system-ui, sans-serif";
      context.textBaseline = "middle";
      context.fillText("all", 6, 22);
      const scale = (this.width - GUTTER) / this.data.slices.last;
      (this.data.gaps ?? []).forEach(([begin, end], number) => {
        const middle = GUTTER + ((begin + end) / 2) * scale; // as the terminal's timeline numbers them
        context.fillRect(GUTTER + begin * scale + 1, 22, Math.max((end - begin) * scale - 2, 1), 1);
        context.clearRect(middle - 5, 14, 10, 16);
        context.fillText(String(number + 1), middle - 3, 22);
      });
      const left = GUTTER + Math.max(this.view.from, 0) * scale;
      const right = GUTTER + Math.min(this.view.to, this.data.slices.last) * scale;
      context.strokeStyle = this.ink;
      context.lineWidth = 2;
      context.strokeRect(left, 1, Math.max(right - left, 3), 42);
    }

    /* How busy each pixel of the overview is: eager, graph, oneDNN kernels, primitives. */
    sums() {
      const { slices } = this.data;
      const columns = Math.floor(this.width - GUTTER);
      const size = slices.last / columns;
      const xla = new Set(this.data.xla);
      const bandOf = [0, 2, -1, 1, 2, 1, 1, 1, 3, -1];
      // Calls of what XLA compiled are where their nodes would be, which have no records.
      const bands = [[0, 0], [3, 1], [4, 2], [8, 3], [2, 1]].map((band) => [...band, new Float32Array(columns)]);
      for (let at = 0; at < slices.count; at++) {
        const band = xla.has(slices.text[at]) ? 4 : bandOf[slices.class[at]];
        if (band < 0) continue;
        const values = bands[band][2];
        const begin = slices.begin[at] / size;
        const end = slices.end[at] / size;
        for (let column = Math.floor(begin); column <= end && column < columns; column++) {
          values[column] += Math.max(Math.min(end, column + 1) - Math.max(begin, column), 0.02);
        }
      }
      return { columns, bands };
    }
  }

  const widths = new Map();

  /* A text cut to a width, eight letters at least; its end says as much as its beginning. */
  function fitted(context, text, width) {
    const known = (part) => {
      if (!widths.has(part)) {
        if (widths.size > 20000) widths.clear();
        widths.set(part, context.measureText(part).width);
      }
      return widths.get(part);
    };
    if (known(text) <= width) return text;
    for (let room = Math.floor((width / known(text)) * text.length); room >= 8; room--) {
      const tail = Math.floor(room / 2);
      const cut = `${text.slice(0, room - tail)}…${text.slice(-tail)}`;
      if (known(cut) <= width) return cut;
    }
    return "";
  }

  Object.assign(Report, { Picture, GUTTER, fitted });
})();
