// The chart of an insight.

import { lines } from "/static/chart.js";

const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.closest(".tabs").scrollLeft = tab.offsetLeft - tab.closest(".tabs").clientWidth / 2;

const element = document.getElementById("chart");
if (element) draw(element);

async function draw(element) {
  const answer = await fetch(element.dataset.url);
  const chart = answer.ok ? await answer.json() : { times: [] };
  if (!chart.times.length) {
    element.textContent = element.dataset.none;
    element.className = "muted";
    return;
  }
  const names = new Map(element.dataset.labels.split("|").map((pair) => pair.split("=")));
  const series = chart.series.map((one, index) => ({
    label: names.get(one.label) ?? one.label,
    values: one.values,
    fill: index === 0 && chart.unit === "bytes/s",
  }));
  lines(element, { times: chart.times, series, unit: chart.unit, height: 240 });
}
