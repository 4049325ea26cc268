"use strict";
/* Time by line of the program, function and op, drawn from the top: what is wider took longer. */
(() => {
  const { CLASSES, duration, element } = Report;
  const ROW = 21;
  const LEAST = 2; // pixels
  const percent = (share) => `${share > 0 && share < 0.005 ? "<1" : Math.round(share * 100)} %`;

  /* The tree: { name, us, own, kind, children, parent, depth }; `kind` is a class of the CSS. */
  function treeOf({ names, lines, paths, us, classes }) {
    const ofProgram = new Set(lines);
    const root = { name: "all", us: 0, kind: "line", children: new Map(), parent: null, depth: 0 };
    paths.forEach((path, row) => {
      let node = root;
      root.us += us[row];
      path.forEach((number, place) => {
        const isLast = place === path.length - 1;
        const kind = ofProgram.has(number) ? "line" : isLast ? CLASSES[classes[row]] : "call";
        const key = `${number} ${kind}`;
        if (!node.children.has(key)) {
          node.children.set(key, { name: names[number], us: 0, kind, children: new Map(), parent: node, depth: node.depth + 1 });
        }
        node = node.children.get(key);
        node.us += us[row];
      });
    });
    return root;
  }

  class Icicle {
    constructor(data, place) {
      this.place = place;
      this.root = this.zoomed = treeOf(data);
      this.estimated = data.estimated;
      this.asked = "";
      place.addEventListener("click", (event) => {
        // The second of a double click would zoom out again.
        if (event.target.node && event.detail < 2) this.zoom(event.target.node);
      });
      for (const name of ["pointerover", "focusin"]) {
        place.addEventListener(name, (event) => event.target.node && this.say(event.target.node));
      }
      place.addEventListener("keydown", (event) => this.key(event));
      new ResizeObserver(() => this.draw()).observe(place);
    }

    /* What is drawn: the zoomed one and all around it as wide as there is room, what it holds below. */
    draw() {
      const width = this.place.clientWidth;
      if (!width) return;
      const focused = document.activeElement.node;
      const made = [];
      let deepest = 0;
      const add = (node, left, size) => {
        deepest = Math.max(deepest, node.depth);
        const found = this.asked && node.name.toLowerCase().includes(this.asked);
        const box = element("button", {
          type: "button",
          tabIndex: -1,
          className: `frame ${node.kind}${this.asked && !found ? " dim" : ""}`,
          role: "treeitem",
          "aria-level": node.depth + 1,
          "aria-label": `${node.name}, ${duration(node.us)}`,
        }, size > 30 ? node.name : "");
        Object.assign(box.style, { left: `${left}px`, width: `${Math.max(size - 1, 1)}px`, top: `${node.depth * ROW}px` });
        box.node = node;
        node.box = box;
        made.push(box);
      };
      for (let node = this.zoomed.parent; node; node = node.parent) add(node, 0, width);
      const scale = width / (this.zoomed.us || 1);
      const walk = (node, left) => {
        add(node, left, node.us * scale);
        for (const child of [...node.children.values()].sort((one, other) => other.us - one.us)) {
          if (child.us * scale < LEAST) break;
          walk(child, left);
          left += child.us * scale;
        }
      };
      walk(this.zoomed, 0);
      this.place.replaceChildren(...made);
      this.place.style.height = `${(deepest + 1) * ROW}px`;
      this.zoomed.box.tabIndex = 0;
      if (focused && made.includes(focused.box)) focused.box.focus({ preventScroll: true });
    }

    zoom(node) {
      this.zoomed = node === this.zoomed && node.parent ? node.parent : node;
      this.draw();
      this.zoomed.box.focus({ preventScroll: true });
    }

    say(node) {
      const parts = [node.name, `${duration(node.us)}${this.estimated ? " without logging" : ""}`];
      if (node.parent) parts.push(`${percent(node.us / this.root.us)} of all`);
      document.getElementById("icicle-said").textContent = parts.join(" · ");
    }

    key(event) {
      const node = event.target.node;
      if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
      const shown = (each) => each?.box?.isConnected;
      const beside = (by) => {
        const all = [...this.place.children].map((box) => box.node).filter((each) => each.depth === node.depth);
        return all[all.indexOf(node) + by];
      };
      const to = {
        ArrowUp: () => node.parent,
        ArrowDown: () => [...node.children.values()].sort((one, other) => other.us - one.us)[0],
        ArrowLeft: () => beside(-1),
        ArrowRight: () => beside(1),
        Escape: () => this.root,
      }[event.key]?.();
      if (!to) return;
      event.preventDefault();
      if (event.key === "Escape") return this.zoom(this.root);
      if (shown(to)) to.box.focus({ preventScroll: true });
    }

    /* Light up what has a text in its name. Returns the share of the time that is in it. */
    light(asked) {
      this.asked = asked.trim().toLowerCase();
      this.draw();
      const found = (node) =>
        node.parent && node.name.toLowerCase().includes(this.asked)
          ? node.us
          : [...node.children.values()].reduce((sum, child) => sum + found(child), 0);
      return this.asked ? `${duration(found(this.root))}, ${percent(found(this.root) / this.root.us)} of all` : "";
    }
  }

  Report.Icicle = Icicle;
})();
