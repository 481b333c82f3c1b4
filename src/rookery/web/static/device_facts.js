// The figures of a device's overview, renewed with each of its reports.

import { shown } from "/static/chart.js";
import { duration } from "/static/shell.js";

const mac = document.getElementById("device").dataset.mac;

// By unit, as `reported` of web/pages/formats.py.
function reported(value, unit) {
  if (value === null) return "–";
  if (unit === "s") return duration(value);
  if (unit === "share") return `${Math.round(value * 100)} %`;
  if (unit === "°C") return `${value.toFixed(1)} °C`;
  return unit ? `${Math.round(value)} ${unit}` : value.toFixed(2);
}

for (const cell of document.querySelectorAll("[data-bytes]")) cell.textContent = shown(Number(cell.dataset.bytes), "bytes");

document.addEventListener("reported", async () => {
  const answer = await fetch(`/api/v1/devices/${mac}/report`);
  if (!answer.ok) return;
  const report = await answer.json();
  for (const element of document.querySelectorAll("[data-fact]")) {
    const value = report[element.dataset.fact];
    if (element.tagName === "PROGRESS") element.value = value;
    else element.textContent = reported(value, element.dataset.unit);
  }
});
