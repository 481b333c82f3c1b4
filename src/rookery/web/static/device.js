// A device's page, whichever tab: its head goes on live, and tabs hear of each report.
//
//   document.addEventListener("reported", ({ detail: device }) => …)

import "/static/connect_link.js";
import { follow } from "/static/live.js";
import { setAge } from "/static/shell.js";

const head = document.getElementById("device");
const mac = head.dataset.mac;
const KINDS = { online: "ok", silent: "bad", direct: "ok", relayed: "warn", unreachable: "bad" };
let lastSeen = 0;

function badge(element, state) {
  const word = head.dataset[`words${state[0].toUpperCase()}${state.slice(1)}`];
  element.dataset.state = state;
  element.className = `badge ${KINDS[state] || ""}`;
  element.textContent = word || state;
}

function show(device) {
  const state = head.querySelector('[data-cell="state"] .badge');
  if (state.dataset.state !== device.state) badge(state, device.state);
  const button = head.querySelector("button[data-connect]");
  if (button && !button.dataset.busy) button.disabled = device.state !== "online";
  const time = head.querySelector('[data-cell="last_seen"] time');
  if (time && device.last_seen) setAge(time, device.last_seen);
  const reach = head.querySelector('[data-cell="reach"] .badge');
  if (reach && device.reach && reach.dataset.state !== device.reach) badge(reach, device.reach);
  for (const each of document.querySelectorAll('[data-cell="queued"]')) each.textContent = device.queued ?? "–";
  if (device.last_seen && device.last_seen !== lastSeen) {
    lastSeen = device.last_seen;
    document.dispatchEvent(new CustomEvent("reported", { detail: device }));
  }
}

follow({
  [head.dataset.topic]: ({ changed }) => {
    if (changed[mac]) show(changed[mac]);
  },
});
