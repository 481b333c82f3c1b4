// Charts of a device: its last reports as they come, or what the lake has of a longer time.

import { lines } from "/static/chart.js";
import { duration } from "/static/shell.js";

const mac = document.getElementById("device").dataset.mac;
const note = document.getElementById("span-note");
const spans = document.getElementById("spans");
const charts = [...document.querySelectorAll("[data-chart]")].map((element) => ({
  element,
  columns: element.dataset.chart.split(" "),
  unit: element.dataset.unit === "share" ? "ratio" : element.dataset.unit,
  fill: "fill" in element.dataset,
  plot: null,
  drawing: null,
}));
let span = "now";

function data(chart, found) {
  return {
    times: found.at,
    series: chart.columns.map((column) => ({ label: chart.element.dataset[column], values: found[column], fill: chart.fill })),
    unit: chart.unit,
  };
}

async function draw(chart, found) {
  const shown = data(chart, found);
  const none = chart.element.nextElementSibling;
  if (none) {
    none.hidden = !found.at.length || shown.series.some((one) => one.values.some((value) => value !== null));
    chart.element.hidden = !none.hidden;
    if (chart.element.hidden) return;
  }
  if (chart.plot) chart.plot.set(shown);
  else {
    chart.drawing ??= lines(chart.element, { ...shown, height: 190 });
    chart.plot = await chart.drawing;
  }
}

async function load() {
  const requested = span;
  if (note && !note.textContent) note.textContent = note.dataset.loading;
  const answer = await fetch(`/api/v1/devices/${mac}/telemetry?span=${requested}`);
  const found = await answer.json();
  if (requested !== span) return; // another one was chosen meanwhile
  if (!answer.ok) {
    if (note) note.textContent = found.detail;
    return;
  }
  if (note) {
    const text = found.source === "hub" ? note.dataset.hub : `${note.dataset.lake} ${duration(found.step_s)}`;
    note.textContent = found.at.length ? text : note.dataset.none;
  }
  await Promise.all(charts.map((chart) => draw(chart, found)));
}

spans?.addEventListener("click", (event) => {
  const button = event.target.closest("[data-span]");
  if (!button) return;
  span = button.dataset.span;
  for (const each of spans.children) each.setAttribute("aria-pressed", String(each === button));
  if (note) note.textContent = note.dataset.loading;
  load();
});
document.addEventListener("reported", () => {
  if (span === "now") load();
});
load();
