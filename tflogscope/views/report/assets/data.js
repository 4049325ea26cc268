"use strict";
/* The page's data: unpacks what views/report/packed.py packed. Every text stays a text. */
(() => {
  const json = (id) => JSON.parse(document.getElementById(id).textContent);

  async function unpack(text) {
    const packed = atob(text);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; at++) bytes[at] = packed.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  /* One column of integers: planes of bytes, the low ones first. */
  function column(bytes, start, { count, width, delta, signed }) {
    const values = new Float64Array(count);
    let weight = 1;
    for (let plane = 0; plane < width; plane++, weight *= 256) {
      const from = start + plane * count;
      for (let at = 0; at < count; at++) values[at] += bytes[from + at] * weight;
    }
    if (signed) {
      for (let at = 0; at < count; at++) {
        const value = values[at];
        values[at] = value % 2 ? -(value + 1) / 2 : value / 2;
      }
    }
    if (delta) for (let at = 1; at < count; at++) values[at] += values[at - 1];
    return values;
  }

  /* Columns of texts, by name, become functions of a row. */
  async function load() {
    const data = json("picture");
    const bytes = await unpack(data.columns);
    const words = JSON.parse(new TextDecoder().decode(await unpack(data.words)));
    const slices = {};
    let start = 0;
    for (const [name, layout] of Object.entries(data.layout)) {
      slices[name] = column(bytes, start, layout);
      start += layout.count * layout.width;
    }
    slices.count = slices.begin ? slices.begin.length : 0;
    slices.end = slices.begin.map((begin, at) => begin + slices.length[at]);
    slices.last = slices.end.reduce((most, end) => Math.max(most, end), 1);
    return { ...data, ...words, columns: null, words: null, slices };
  }

  Report.json = json;
  Report.load = load;
})();
