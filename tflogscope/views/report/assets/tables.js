"use strict";
/* Tables that can be filtered, sorted and copied; without this script they are plain tables. */
(() => {
  const { element, count } = Report;
  const exact = (cell) => cell.dataset.value ?? cell.textContent;
  // What a spreadsheet would run as a formula, as exports/csv_text.py knows it.
  const FORMULA = /^(?:[\s'"]*[=+\-@＝＋－＠][^]|[\t\n])/u;

  function field(text, isNumber) {
    if (isNumber) return text;
    const safe = FORMULA.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function csv(table) {
    const heads = [...table.tHead.rows[0].cells];
    const lines = [heads.map((head) => field(head.textContent, false)).join(",")];
    for (const row of table.tBodies[0].rows) {
      if (row.hidden) continue;
      const cells = [...row.cells].map((cell) => field(exact(cell), cell.classList.contains("n")));
      lines.push(cells.join(","));
    }
    return `${lines.join("\n")}\n`;
  }

  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = element("textarea", { value: text, readOnly: true, className: "off" });
      document.body.append(area);
      area.select();
      const done = document.execCommand("copy");
      area.remove();
      return done;
    }
  }

  function sort(table, head, column) {
    const down = head.getAttribute("aria-sort") === "descending";
    const isNumber = head.classList.contains("n");
    const ascending = head.hasAttribute("aria-sort") ? down : !isNumber;
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const value = (row) => {
      const text = exact(row.cells[column]);
      return isNumber && text !== "" ? Number(text) : text;
    };
    const rows = [...table.tBodies[0].rows].map((row, at) => ({ row, at, key: value(row) }));
    rows.sort((one, other) => {
      // What is not known comes last, whichever way.
      if (one.key === "" || other.key === "") return (one.key === "") - (other.key === "") || one.at - other.at;
      const order = isNumber ? one.key - other.key : one.key.localeCompare(other.key, "en");
      return (ascending ? order : -order) || one.at - other.at;
    });
    table.tBodies[0].append(...rows.map((each) => each.row));
  }

  function enhance(table) {
    const caption = table.caption.textContent;
    const rows = [...table.tBodies[0].rows];
    const said = element("span", { role: "status", className: "hint" });
    const say = () => {
      const shown = rows.filter((row) => !row.hidden).length;
      const all = `${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}`;
      said.textContent = shown === rows.length ? all : `${count(shown)} of ${all}`;
    };
    const filter = element("input", {
      type: "search",
      placeholder: "filter",
      oninput: () => {
        const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        for (const row of rows) {
          const text = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
          row.hidden = !words.every((word) => text.includes(word));
        }
        say();
      },
    });
    const button = element("button", {
      type: "button",
      onclick: async () => {
        const done = await copy(csv(table));
        said.textContent = done ? "Copied." : "The browser blocked copying.";
      },
    }, "Copy as CSV");
    const label = element("label", {}, `Filter `, filter);
    filter.setAttribute("aria-label", `Filter: ${caption}`);
    button.setAttribute("aria-label", `Copy as CSV: ${caption}`);
    table.parentElement.before(element("div", { className: "row tools" }, label, button, said));
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const text = head.textContent;
      head.replaceChildren(element("button", { type: "button", onclick: () => sort(table, head, column) }, text));
    });
    say();
  }

  /* Tables wider than the page say so. */
  function sayWide() {
    for (const place of document.querySelectorAll(".wide")) {
      const isWide = place.scrollWidth > place.clientWidth + 1;
      const said = place.nextElementSibling?.classList.contains("sideways") ? place.nextElementSibling : null;
      if (isWide && !said) place.after(element("p", { className: "hint sideways" }, "More columns: scroll sideways."));
      if (!isWide) said?.remove();
    }
  }

  Report.csv = csv;
  Report.enhanceTables = () => {
    document.querySelectorAll("table[data-tools]").forEach(enhance);
    sayWide();
    window.addEventListener("resize", sayWide);
  };
})();
