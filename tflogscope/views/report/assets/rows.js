"use strict";
/* Which slice is in which row of the timeline. In one row nothing overlaps. */
(() => {
  const CLASSES = ["eager", "eager-onednn", "call", "graph", "onednn", "data", "folding", "plumbing", "primitive", "preparation"];
  const CLASS = Object.fromEntries(CLASSES.map((name, at) => [name, at]));

  /* The class of an execution, recognised from its texts. */
  function classOf(texts, at) {
    const rewritten = texts.rewrite[at] !== "none";
    if (texts.mode[at] === "preparation") return CLASS.preparation;
    if (texts.kind[at] === "call") return CLASS.call;
    if (texts.mode[at] === "eager") return rewritten ? CLASS["eager-onednn"] : CLASS.eager;
    if (texts.cause[at] === "constant-folding" || texts.kind[at] === "folding") return CLASS.folding;
    if (texts.cause[at] === "dataset-function") return CLASS.data;
    if (rewritten) return CLASS.onednn;
    return texts.kind[at] === "plumbing" ? CLASS.plumbing : CLASS.graph;
  }

  function classify(data) {
    const { slices, texts } = data;
    const ofText = Uint8Array.from(texts.mode, (_, at) => classOf(texts, at));
    slices.class = Uint8Array.from(slices.text, (text) => (text < 0 ? CLASS.primitive : ofText[text]));
  }

  /* The name of the group that an execution is in when rows are by function. */
  function functionName(texts, at) {
    if (texts.mode[at] === "preparation") return "instantiation";
    if (texts.kind[at] !== "call" && texts.mode[at] === "eager") return "eager ops";
    const name = texts.function[at];
    if (name === null) return texts.kind[at] === "call" ? texts.op[at] ?? "?" : "graph, function not known";
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
      return slices.owner[at] ? of(at - slices.owner[at]) : number("primitives, op not known");
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
      first.set(lane.group, by === "thread" ? lane.group : Math.min(first.get(lane.group) ?? Infinity, lane.first));
    }
    const ordered = [...lanes.entries()].sort(
      ([one, a], [other, b]) => first.get(a.group) - first.get(b.group) || one - other,
    );
    const rows = [];
    let before = -1;
    for (const [, lane] of ordered) {
      lane.depths.forEach((items, depth) => {
        rows.push(row(slices, items, lane.group === before ? "" : names[lane.group], depth));
        before = lane.group;
      });
    }
    return rows;
  }

  function row(slices, list, name, depth) {
    const items = Int32Array.from(list);
    const begin = new Float64Array(items.length);
    const end = new Float64Array(items.length);
    const busy = new Float64Array(items.length + 1);
    items.forEach((at, place) => {
      begin[place] = slices.begin[at];
      end[place] = slices.end[at];
      busy[place + 1] = busy[place] + slices.length[at];
    });
    return { name, depth, items, begin, end, busy, matches: null };
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
