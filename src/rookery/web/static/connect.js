// The console tab of a device: connecting step by step, then calls and a terminal.

import { isWanted } from "/static/connect_link.js";
import { Session } from "/static/connect_session.js";
import { Console } from "/static/console.js";
import { Terminal } from "/static/terminal.js";

const ORDER = ["wished", "called", "router_here", "reserving", "directed", "arrived", "done"];
const head = document.getElementById("device");
const mac = head.dataset.mac;
const words = document.getElementById("words").dataset;
const button = head.querySelector("button[data-connect]");
const steps = document.getElementById("steps");
const state = document.getElementById("session-state");
const leave = document.getElementById("disconnect");
const calls = new Console(mac, words);
const terminal = new Terminal(words);
let session = null;
let begun = 0;

function word(name) {
  return words[`step${name[0].toUpperCase()}${name.slice(1)}`] || name;
}

function part(kind, text, parent) {
  const element = document.createElement("div");
  element.className = kind;
  element.textContent = text;
  parent.append(element);
  return element;
}

// What is still to come, as far as it goes well.
function expect(after) {
  for (const item of steps.querySelectorAll("li:not([data-step])")) item.remove();
  ORDER.slice(ORDER.indexOf(after) + 1).forEach((name, index) => {
    const item = document.createElement("li");
    item.className = index === 0 ? "active" : "pending";
    part("title", word(name), item);
    steps.append(item);
  });
}

function add(step) {
  for (const item of steps.querySelectorAll("li:not([data-step])")) item.remove();
  const item = document.createElement("li");
  item.dataset.step = step.name;
  item.className = step.name === "failed" ? "failed" : "done";
  begun ||= step.at;
  part("title", word(step.name), item);
  part("at", `+${Math.max(0, step.at - begun).toFixed(1)} s`, item).title = new Date(step.at * 1000).toISOString();
  part("text", step.text, item);
  if (step.reason && step.reason !== step.text) {
    const reason = part("reason", "", item);
    if (step.name === "reserving") {
      const title = document.createElement("b");
      title.textContent = words.why;
      reason.append(title);
    }
    reason.append(step.reason);
  }
  steps.append(item);
  if (step.name !== "failed" && step.name !== "done") expect(step.name);
}

function fail(text) {
  add({ name: "failed", text, reason: "", at: Date.now() / 1000 });
}

// EventSource cannot POST, so the stream is read by hand: events end with an empty line.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const parts = waiting.split("\n\n");
    waiting = parts.pop();
    for (const each of parts) {
      const data = each.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

async function connect() {
  document.getElementById("idle").hidden = true;
  steps.replaceChildren();
  begun = 0;
  expect("");
  const answer = await fetch(`/api/v1/devices/${encodeURIComponent(mac)}/connect`, {
    method: "POST",
    headers: { Accept: "text/event-stream" },
  });
  if (!answer.ok) {
    fail((await answer.json()).detail);
    return;
  }
  for await (const step of events(answer.body)) {
    add(step);
    if (step.grant) attend(step.grant);
  }
}

function attend(grant) {
  session?.close();
  const mine = new Session(grant, () => opened(mine), (reason) => ended(mine, reason));
  session = mine;
}

function opened(mine) {
  show(true);
  calls.open(mine);
  terminal.open(mine);
}

function ended(mine, reason) {
  if (mine !== session) return; // another one has taken its place
  session = null;
  show(false);
  calls.close(reason || words.ended);
  terminal.close(reason || words.ended);
}

function show(isOpen) {
  state.className = isOpen ? "badge ok" : "badge";
  state.textContent = isOpen ? state.dataset.open : state.dataset.idle;
  leave.hidden = !isOpen;
}

async function begin() {
  if (button.dataset.busy) return;
  button.dataset.busy = "yes";
  button.disabled = true;
  try {
    await connect();
  } catch (error) {
    fail(error.message);
  } finally {
    delete button.dataset.busy;
    button.disabled = false;
  }
}

button?.form.addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});
leave.addEventListener("click", () => session?.close());
addEventListener("pagehide", () => session?.close());

const tabs = [...document.querySelectorAll('[role="tab"]')];
function choose(tab) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute("aria-selected", String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(each.getAttribute("aria-controls")).hidden = !isChosen;
  }
  if (tab.id === "tab-terminal") terminal.focus();
}
for (const tab of tabs) {
  tab.addEventListener("click", () => choose(tab));
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = tabs.find((each) => each !== tab);
    choose(other);
    other.focus();
  });
}

if (button && !button.disabled && isWanted(mac)) begin();
