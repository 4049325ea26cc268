"use strict";
/* What is said of a slice that was chosen. Texts of the log become text nodes, nothing else. */
(() => {
  const { CLASSES, count, duration, moment, element } = Report;

  function nameOf(data, at) {
    const { slices, texts, primitives } = data;
    const text = slices.text[at];
    if (text < 0) return primitives.primitive[slices.primitive[at]] ?? "primitive";
    const named = functionOf(texts, text) ?? texts.op[text] ?? "?";
    if (texts.mode[text] === "preparation") return named === "?" ? texts.kind[text] : `${texts.kind[text]}: ${named}`;
    if (texts.kind[text] === "call") return named;
    return texts.kernel[text] ?? "(cut off)";
  }

  function functionOf(texts, text) {
    const name = texts.function[text];
    if (name === null) return null;
    return texts.function_uid[text] === null ? name : `${name} ${texts.function_uid[text]}`;
  }

  /* The primitives that an execution ran. They come after it. */
  function primitivesOf(data, slice) {
    const { slices } = data;
    const found = [];
    for (let at = slice + 1; at < slices.count && slices.begin[at] <= slices.end[slice]; at++) {
      if (slices.text[at] < 0 && slices.owner[at] && at - slices.owner[at] === slice) found.push(at);
    }
    return found;
  }

  /* The call that an execution ran in, −1: none. */
  function callOf(data, slice) {
    const { slices, texts } = data;
    const call = slices.call[slice];
    if (call < 0) return -1;
    for (let at = 0; at < slices.count; at++) {
      if (slices.call[at] === call && slices.text[at] >= 0 && texts.kind[slices.text[at]] === "call") return at;
    }
    return -1;
  }

  /* Which call of its function, of all of its traces, it is, or runs in: a step of the program. */
  function stepOf(data, slice, call) {
    const { slices, texts } = data;
    const nameOfCall = (at) => (slices.text[at] >= 0 && texts.kind[slices.text[at]] === "call" ? texts.function[slices.text[at]] : null);
    const of = call < 0 ? slice : call;
    const name = nameOfCall(of);
    if (name === null) return null;
    let [number, total] = [0, 0];
    for (let at = 0; at < slices.count; at++) {
      if (nameOfCall(at) !== name) continue;
      total++;
      if (at <= of) number++;
    }
    const text = `${count(number)} of ${count(total)} calls of ${name}`;
    return call < 0 ? text : link(data, call, text);
  }

  function link(data, at, text) {
    return element("button", { type: "button", className: "link", onclick: () => Report.choose(at) }, text);
  }

  function lines(data, at) {
    const { slices } = data;
    if (slices.line[at] < 0) return null;
    const end = slices.end_line[at];
    const from = slices.line[at];
    if (!end) return count(from);
    return `${count(from)} to ${count(from + (end > 0 ? end - 1 : end))}`;
  }

  function took(data, at) {
    const { slices } = data;
    if (data.clock === "lines") return null;
    return slices.flags[at] & 1 ? duration(slices.length[at] / 1000) : "unknown: no end record";
  }

  function began(data, at) {
    const since = data.slices.begin[at] / 1000;
    if (data.origin === null) return null;
    return `${moment(data.origin + since)} (${duration(since)} since the start)`;
  }

  function rewrite(texts, text) {
    if (texts.rewrite[text] === "none") return null;
    const by = { layout: "layout pass", wrapped: "layout pass, in the function around an eager op" };
    by.eager = "eager rewrite registry";
    by.remapper = "grappler's remapper";
    const from = texts.from_op[text] ?? texts.op[text];
    const line = texts.rewrite_line[text];
    const where = line === null ? "" : `, on line ${count(line)}`;
    return `${from} → ${texts.kernel[text]} by ${by[texts.rewrite[text]] ?? texts.rewrite[text]}${where}`;
  }

  /* A cause or a reason, and what it means where that is one sentence. */
  function because(data, id) {
    if (id === null || !(id in data.why)) return id;
    return element("span", {}, element("b", {}, id), `: ${data.why[id]}`);
  }

  function ofExecution(data, at) {
    const { slices, texts } = data;
    const text = slices.text[at];
    const says = (name) => texts[name]?.[text] ?? null;
    const call = texts.kind[text] === "call" ? -1 : callOf(data, at);
    const several = data.sources.length > 1;
    return [
      ["Line of the program", says("python")],
      ["Mode", `${texts.mode[text]}, ${texts.kind[text]}`],
      ["Op", says("op")],
      ["Kernel", says("kernel")],
      ["Rewrite", rewrite(texts, text)],
      ["Why not rewritten", because(data, says("reason"))],
      ["Cause", because(data, says("cause"))],
      ["Node", says("node")],
      ["Function", functionOf(texts, text)],
      ["Ran", data.xla.includes(text) ? "code compiled by XLA, which logs no ops" : null],
      ["Step", stepOf(data, at, call)],
      ["Began", began(data, at)],
      ["As printed", took(data, at)],
      ["Without logging", work(data, at)],
      ["Lines", lines(data, at)],
      ["Log", several ? says("source") : null],
      ["Status", says("status")],
      ["Why", slices.line[at] < 0 || several || texts.mode[text] === "preparation" ? null : element("code", {}, `tflogscope explain LOG --line ${slices.line[at]}`)],
    ];
  }

  /* What is long, or rarely asked for. */
  function more(data, at) {
    const { slices, texts } = data;
    const says = (name) => texts[name]?.[slices.text[at]] ?? null;
    return [
      ["Thread", threadOf(data, slices.track[at])],
      ["Call", slices.call[at] < 0 ? null : String(slices.call[at])],
      ["Step id", slices.step[at] < 0 ? null : data.steps[slices.step[at]]],
      ["Device", says("device")],
      ["Type", says("dtype")],
      ["Inputs", says("inputs")],
      ["Attributes", says("attributes")],
    ];
  }

  function threadOf(data, track) {
    const [name, thread] = [data.tracks[track], data.threads[track]];
    return thread === null ? name : `${thread}, ${name} by what it ran`;
  }

  function ofPrimitive(data, at) {
    const { slices, primitives } = data;
    const says = (name) => primitives[name]?.[slices.primitive[at]] ?? null;
    const owner = slices.owner[at] ? at - slices.owner[at] : -1;
    return [
      ["Primitive", says("primitive")],
      ["Implementation", says("implementation")],
      ["Problem", says("problem")],
      ["Took", work(data, at)],
      ["Op", owner < 0 ? "not known" : link(data, owner, nameOf(data, owner))],
      ["Match", says("link")],
      ["Line", lines(data, at)],
      ["Drawn", slices.flags[at] & 2 ? "at its inferred place: its line has no timestamp" : null],
      ["Kind", says("prop_kind")],
      ["Tensors", says("memory_descriptors")],
      ["Attributes", says("attributes")],
      ["Auxiliary", says("auxiliary")],
    ];
  }

  function primitiveTable(data, found) {
    const { slices, primitives } = data;
    const heads = ["Primitive", "Implementation", "Problem", "Took", "Line"];
    const row = (at) => {
      const says = (name) => primitives[name]?.[slices.primitive[at]] ?? "";
      const cells = [link(data, at, says("primitive")), says("implementation"), says("problem")];
      cells.push(work(data, at) ?? "", lines(data, at) ?? "");
      return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
    };
    return element(
      "table",
      {},
      element("caption", {}, `primitives it ran: ${count(found.length)}`),
      element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, ...found.slice(0, 50).map(row)),
    );
  }

  const quoted = (title, lines) =>
    lines.length ? [element("h4", {}, title), ...lines.map((line) => element("pre", {}, element("code", {}, line)))] : [];

  /* The line of the program, as far as it is known. */
  function sourceOf(data, at) {
    const place = data.texts.python?.[data.slices.text[at]] ?? null;
    return quoted(place, data.program[place] ? [data.program[place]] : []);
  }

  /* The lines of the log that begin and end it, and the one that was asked for; the page has not all. */
  function rawOf(data, at, asked) {
    const { slices, texts } = data;
    const text = slices.text[at];
    const known = data.raw[text < 0 ? data.sources[0] : texts.source?.[text] ?? data.sources[0]] ?? {};
    const end = slices.end_line[at];
    const numbers = [slices.line[at], end ? slices.line[at] + (end > 0 ? end - 1 : end) : -1, asked];
    const found = [...new Set(numbers)].filter((line) => known[line] !== undefined).sort((one, other) => one - other);
    return found.flatMap((line) => quoted(`Line ${count(line)} of the log`, [known[line]]));
  }

  function listOf(facts) {
    const list = element("dl");
    for (const [name, value] of facts) {
      if (value !== null) list.append(element("dt", {}, name), element("dd", {}, value));
    }
    return list;
  }

  function describe(data, at, asked) {
    const swatch = element("span", { className: `swatch ${CLASSES[data.slices.class[at]]}` });
    const title = element("h3", {}, swatch, nameOf(data, at));
    if (data.slices.text[at] < 0) return [title, listOf(ofPrimitive(data, at)), ...rawOf(data, at, asked)];
    const found = primitivesOf(data, at);
    return [
      title,
      listOf(ofExecution(data, at)),
      ...sourceOf(data, at),
      ...rawOf(data, at, asked),
      found.length ? primitiveTable(data, found) : null,
      element("details", {}, element("summary", {}, "Where, ids, inputs, attributes"), listOf(more(data, at))),
    ];
  }

  /* What it would have taken without the log, an estimate; null: not known. */
  const work = ({ slices }, at) => (slices.own[at] < 0 ? null : duration(slices.own[at] / 1000));

  /* One line, for what is below the pointer and for screen readers. */
  function brief(data, at) {
    const { slices, texts } = data;
    const text = slices.text[at];
    const parts = [nameOf(data, at)];
    if (text >= 0 && texts.node[text] !== null) parts.push(texts.node[text]);
    if (text < 0 && data.primitives.problem?.[slices.primitive[at]]) parts.push(data.primitives.problem[slices.primitive[at]]);
    const own = work(data, at);
    const time = text < 0 ? own : took(data, at);
    const both = text >= 0 && own !== null;
    if (time !== null) parts.push(both ? `${time} as printed` : time);
    if (both) parts.push(`${own} without logging`);
    const where = lines(data, at);
    if (where !== null) parts.push(`line ${where}`);
    return parts.join(" · ");
  }

  Object.assign(Report, { nameOf, describe, brief });
})();
