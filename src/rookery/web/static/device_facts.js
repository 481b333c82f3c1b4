// The figures of a device's overview, renewed with each of its reports.

import { shown } from "/static/chart.js";
import { duration } from "/static/shell.js";

const mac = document.getElementById("device").dataset.mac;
const SHOWN = {
  up_s: duration,
  load: (value) => value.toFixed(2),
  mem: (value) => `${Math.round(value * 100)} %`,
  disk: (value) => `${Math.round(value * 100)} %`,
  temp: (value) => (value === null ? "–" : `${value.toFixed(1)} °C`),
};

for (const cell of document.querySelectorAll("[data-bytes]")) cell.textContent = shown(Number(cell.dataset.bytes), "bytes");

document.addEventListener("reported", async () => {
  const answer = await fetch(`/api/v1/devices/${mac}/report`);
  if (!answer.ok) return;
  const report = await answer.json();
  for (const element of document.querySelectorAll("[data-fact]")) {
    const value = report[element.dataset.fact];
    if (element.tagName === "PROGRESS") element.value = value;
    else element.textContent = SHOWN[element.dataset.fact](value);
  }
});
