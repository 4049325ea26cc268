"use strict";
/* Which slice is in which row of the timeline. In one row nothing overlaps. */
(() => {
  const CLASSES = ["eager", "eager-onednn", "call", "graph", "onednn", "data", "folding", "plumbing", "primitive", "preparation"];
  const CLASS = Object.fromEntries(CLASSES.map((name, at) => [name, at]));

  function classify({ slices, texts }) {
    slices.class = Uint8Array.from(slices.text, (text) => (text < 0 ? CLASS.primitive : texts.class[text]));
  }

  /* The name of the group that an execution is in when rows are by function. */
  function functionName(texts, at) {
    if (texts.mode[at] === "preparation") return "instantiation";
    if (texts.kind[at] !== "call" && texts.mode[at] === "eager") return "eager ops";
    const name = texts.function[at];
    if (name === null) return texts.kind[at] === "call" ? texts.op[at] ?? "?" : "graph, unknown function";
    return texts.function_uid[at] === null ? name : `${name} ${texts.function_uid[at]}`;
  }

  function groupOf(data, by) {
    const { slices, texts, tracks } = data;
    if (by === "thread") return { names: tracks, of: (at) => slices.track[at] };
    const names = [];
    const numbers = new Map();
    const number = (name) => {
      if (!numbers.has(name)) numbers.set(name, names.push(name) - 1);
      return numbers.get(name);
    };
    const ofText = texts.mode.map((_, at) => number(functionName(texts, at)));
    const of = (at) => {
      if (slices.text[at] >= 0) return ofText[slices.text[at]];
      return slices.owner[at] ? of(at - slices.owner[at]) : number("primitives, unknown op");
    };
    return { names, of };
  }

  /* Rows from top to bottom: { name, items, begin, end, busy }; `busy` sums lengths before each. */
  function layOut(data, by, shown) {
    const { slices } = data;
    const { names, of } = groupOf(data, by);
    const lanes = new Map(); // group and track → open slices, and items by depth
    for (let at = 0; at < slices.count; at++) {
      if (!shown[slices.class[at]]) continue;
      const group = of(at);
      const key = group * 65536 + slices.track[at];
      let lane = lanes.get(key);
      if (!lane) lanes.set(key, (lane = { group, first: slices.begin[at], open: [], depths: [] }));
      const { open, depths } = lane;
      while (open.length && open[open.length - 1] <= slices.begin[at]) open.pop();
      (depths[open.length] ??= []).push(at);
      open.push(slices.end[at]);
    }
    const first = new Map(); // groups are in the order in which they begin, tracks as numbered
    for (const lane of lanes.values()) {
      first.set(lane.group, by === "thread" ? data.order.indexOf(lane.group) : Math.min(first.get(lane.group) ?? Infinity, lane.first));
    }
    const ordered = [...lanes.entries()].sort(
      ([one, a], [other, b]) => first.get(a.group) - first.get(b.group) || one - other,
    );
    const rows = [];
    let before = null;
    for (const [, lane] of ordered) {
      for (const items of lane.depths) {
        const name = names[lane.group];
        rows.push(row(slices, items, name === before ? "" : name));
        before = name;
      }
    }
    return rows;
  }

  function row(slices, list, name) {
    const items = Int32Array.from(list);
    const begin = new Float64Array(items.length);
    const end = new Float64Array(items.length);
    const busy = new Float64Array(items.length + 1);
    items.forEach((at, place) => {
      begin[place] = slices.begin[at];
      end[place] = slices.end[at];
      busy[place + 1] = busy[place] + slices.length[at];
    });
    return { name, items, begin, end, busy, matches: null };
  }

  /* The first place whose value is at least (with `above` more than) the one asked for. */
  function search(values, wanted, above = false) {
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (above ? values[middle] <= wanted : values[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  Object.assign(Report, { CLASSES, CLASS, classify, layOut, search });
})();
