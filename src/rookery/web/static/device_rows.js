// Lists of devices: the rows that are shown go on live, whoever's list it is.

import "/static/connect_link.js";
import { shown, sparkline } from "/static/chart.js";
import { follow } from "/static/live.js";
import { setAge } from "/static/shell.js";

const table = document.querySelector("[data-topic]");
const rows = new Map([...document.querySelectorAll("tr[data-key]")].map((row) => [row.dataset.key, row]));
const news = document.getElementById("news");
const states = new Map(); // of all devices, shown or not
const KINDS = { online: "ok", silent: "bad" };

function draw(cell, values) {
  sparkline(cell.querySelector(".spark"), values);
  cell.querySelector(".rate").textContent = values.length ? shown(values.at(-1), "bytes/s") : "";
}

for (const row of rows.values()) {
  const cell = row.querySelector('[data-cell="traffic"]');
  draw(cell, cell.querySelector(".spark").dataset.values.split(" ").filter(Boolean).map(Number));
}

// A state's word is taken from a badge of the same state, or the filter's button of it.
const words = new Map([...document.querySelectorAll(".segments button[value], option[value]")]
  .map((each) => [each.value, (each.querySelector(".count") ? each.childNodes[1] : each).textContent.trim()]));

function show(row, device) {
  const badge = row.querySelector('[data-cell="state"] .badge');
  if (badge.dataset.state !== device.state) {
    badge.dataset.state = device.state;
    badge.className = `badge ${KINDS[device.state] || ""}`;
    badge.textContent = words.get(device.state) || device.state;
    row.classList.remove("changed");
    requestAnimationFrame(() => row.classList.add("changed"));
    const button = row.querySelector("[data-connect]");
    if (button) button.hidden = device.state !== "online";
  }
  const time = row.querySelector('[data-cell="last_seen"] time');
  if (time && device.last_seen) setAge(time, device.last_seen);
  const cell = row.querySelector('[data-cell="traffic"]');
  if (device.traffic.length) draw(cell, device.traffic);
  const queued = row.querySelector('[data-cell="queued"]');
  if (queued) queued.textContent = device.queued ?? "–";
}

function count() {
  const counts = { all: states.size, online: 0, silent: 0, never: 0 };
  for (const state of states.values()) counts[state] += 1;
  for (const each of document.querySelectorAll("[data-count]")) each.textContent = counts[each.dataset.count];
  if (states.size !== Number(table.dataset.total) && news && !news.childElementCount) {
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = news.dataset.link;
    news.append(`${news.dataset.text} `, link);
  }
}

if (table) {
  const isMine = table.dataset.topic === "devices";
  follow({
    [table.dataset.topic]: ({ changed, gone }) => {
      for (const [mac, device] of Object.entries(changed)) {
        states.set(mac, device.state);
        const row = rows.get(mac);
        if (row) show(row, device);
      }
      for (const mac of gone) {
        states.delete(mac);
        if (isMine) rows.get(mac)?.classList.add("gone");
      }
      if (isMine) count();
    },
  });
}
