// What every page has: copying, ages that go on, menus that close, and the search.

import "/static/search.js";

const root = document.documentElement;
const AGES_MS = 5000;
const COPIED_MS = 1500;

async function copy(text) {
  if (navigator.clipboard && isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Over plain http there is no clipboard, only the selection.
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button || button.classList.contains("copied")) return;
  const held = document.activeElement;
  await copy(button.dataset.copy);
  if (held instanceof HTMLElement) held.focus();
  const label = button.querySelector("span");
  const before = label && label.textContent;
  button.classList.add("copied");
  if (label) label.textContent = root.dataset.copied;
  announce(root.dataset.copied);
  setTimeout(() => {
    button.classList.remove("copied");
    if (label) label.textContent = before;
  }, COPIED_MS);
});

let said = null;
function announce(text) {
  if (!said) {
    said = document.createElement("div");
    said.className = "hidden";
    said.setAttribute("role", "status");
    document.body.append(said);
  }
  said.textContent = "";
  requestAnimationFrame(() => { said.textContent = text; });
}

const [second, minute, hour, day] = root.dataset.units.split(" ");
const UNITS = [[86400, day], [3600, hour], [60, minute]];

/** `8 s`, `5 min`, `3 h`, `12 d`: the same words that the server writes. */
export function duration(seconds) {
  for (const [size, unit] of UNITS) {
    if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(seconds))} ${second}`;
}

/** An element for a moment in wall seconds, whose age goes on by itself. */
export function age(at) {
  const time = document.createElement("time");
  setAge(time, at);
  return time;
}

/** Have an element show another moment. */
export function setAge(time, at) {
  time.dataset.at = at;
  time.title = new Date(at * 1000).toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC");
  renew(time);
}

function renew(time) {
  const text = root.dataset.ago.replace("{}", duration(Date.now() / 1000 - Number(time.dataset.at)));
  if (time.textContent !== text) time.textContent = text;
}

function renewAll() {
  if (!document.hidden) for (const time of document.querySelectorAll("time[data-at]")) renew(time);
}
setInterval(renewAll, AGES_MS);
document.addEventListener("visibilitychange", renewAll);

// Menus are <details>, which work without us; we close them when one looks elsewhere.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
