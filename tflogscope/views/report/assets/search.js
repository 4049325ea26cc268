"use strict";
/* Search: which slices have a text in one of their names; and which one a line belongs to. */
(() => {
  const SEARCHED = ["op", "kernel", "node", "function", "rewrite", "cause", "reason", "python"];
  const OF_PRIMITIVES = ["primitive", "implementation", "problem"];

  function found(columns, names, size, wanted) {
    const hits = new Uint8Array(size);
    for (const name of names) {
      columns[name]?.forEach((text, at) => {
        if (text !== null && text.toLowerCase().includes(wanted)) hits[at] = 1;
      });
    }
    return hits;
  }

  /* For each slice 1 if it has the text; and their numbers. */
  function find(data, asked) {
    const { slices, texts, primitives } = data;
    const wanted = asked.toLowerCase();
    const ofTexts = found(texts, SEARCHED, texts.op.length, wanted);
    texts.mode.forEach((mode, at) => {
      if (mode === "preparation" && texts.kind[at].toLowerCase().includes(wanted)) ofTexts[at] = 1;
    });
    const ofPrimitives = found(primitives, OF_PRIMITIVES, primitives.primitive.length, wanted);
    const matches = new Uint8Array(slices.count);
    const list = [];
    for (let at = 0; at < slices.count; at++) {
      const text = slices.text[at];
      const hit = text < 0 ? ofPrimitives[slices.primitive[at]] : ofTexts[text];
      if (hit) {
        matches[at] = 1;
        list.push(at);
      }
    }
    return { matches, list };
  }

  /* The slice that a line begins, or ends, else the last one that began before it; −1: none. */
  function ofLine(data, line, source = null) {
    const { slices, texts } = data;
    let best = -1;
    let ends = -1;
    for (let at = 0; at < slices.count; at++) {
      const text = slices.text[at];
      if (slices.line[at] < 0) continue;
      if (source !== null && data.sources.length > 1 && text >= 0 && texts.source[text] !== source) continue;
      if (slices.line[at] === line) return at;
      const end = slices.end_line[at];
      if (end && slices.line[at] + (end > 0 ? end - 1 : end) === line) ends = at;
      if (slices.line[at] < line && (best < 0 || slices.line[at] >= slices.line[best])) best = at;
    }
    return ends >= 0 ? ends : best;
  }

  Object.assign(Report, { find, ofLine });
})();
