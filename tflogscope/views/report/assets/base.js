"use strict";
/* What all pages have: dark or light. */
const Report = {};
(() => {
  /* `changed` is called when the colours are others. */
  function theme(changed) {
    const button = document.getElementById("theme");
    const set = (dark) => {
      document.documentElement.dataset.theme = dark ? "dark" : "light";
      button.textContent = dark ? "Light colours" : "Dark colours";
      changed();
    };
    button.addEventListener("click", () => set(document.documentElement.dataset.theme !== "dark"));
    set(matchMedia("(prefers-color-scheme: dark)").matches);
  }

  Report.theme = theme;
})();
