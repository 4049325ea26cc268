"use strict";
/* Memory over time, drawn by uPlot. A click goes to that time in the timeline. */
(() => {
  function drawMemory(goTo) {
    const place = document.getElementById("memory-chart");
    const data = Report.json("memory-data");
    if (!place || data === null) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("ink"), grid: { stroke: colour("faint"), width: 1 } };
    axis.ticks = axis.grid;
    place.replaceChildren();
    const time = (value) => Report.duration(value * 1000);
    const chart = new uPlot(
      {
        width: Math.max(place.clientWidth, 300),
        height: 190,
        scales: { x: { time: false } },
        cursor: { drag: { x: false, y: false } },
        axes: [
          { ...axis, values: (_, ticks, __, ___, step) => Report.tickNames(ticks.map((tick) => tick * 1e6), step * 1e6) },
          { ...axis, size: 70, values: (_, ticks) => ticks.map(Report.bytes) },
        ],
        series: [
          { label: "Time", value: (_, value) => (value === null ? "" : time(value)) },
          {
            label: "Held by tensors, most",
            stroke: colour("graph"),
            fill: colour("wash"),
            paths: uPlot.paths.stepped({ align: 1 }),
            points: { show: false },
            value: (_, value) => (value === null ? "" : Report.bytes(value)),
          },
        ],
      },
      [data.ms, data.bytes],
      place,
    );
    chart.over.addEventListener("click", () => {
      if (chart.cursor.left >= 0) goTo(chart.posToVal(chart.cursor.left, "x") * 1e6);
    });
  }

  Report.drawMemory = drawMemory;
})();
