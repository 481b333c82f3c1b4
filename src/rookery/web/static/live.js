// One stream of server-sent events a page, shared by all that follow something on it.
//
//   import { follow } from "/static/live.js";
//   follow({ devices: ({ changed, gone, first }) => { … } });
//
// `changed` maps keys to values, `gone` lists keys that are no more. After a break everything comes
// anew with `first`, and what went meanwhile is in `gone` like any other.

const URL = "/api/v1/live";
const RETRY_MS = [1000, 2000, 5000, 10000, 20000];
const HIDDEN_MS = 5000; // a browser has six connections a host; hidden tabs should not hold them
const badge = document.getElementById("live");
const topics = new Map(); // name: { handlers, values }
const problems = new Map();
let source = null;
let failures = 0;
let timer = 0;
let isOver = false;

/** Pass each topic's changes to its function. */
export function follow(handlers) {
  for (const [name, handler] of Object.entries(handlers)) {
    if (!topics.has(name)) topics.set(name, { handlers: [], values: new Map() });
    topics.get(name).handlers.push(handler);
  }
  restart(0);
}

function restart(wait) {
  clearTimeout(timer);
  timer = setTimeout(open, wait);
}

function open() {
  close();
  if (isOver || document.hidden) return;
  const names = [...topics.keys()];
  source = new EventSource(`${URL}?${new URLSearchParams(names.map((name) => ["topic", name]))}`);
  source.addEventListener("open", () => {
    failures = 0;
    problems.clear();
    show();
  });
  source.addEventListener("error", broken);
  source.addEventListener("problem", (event) => {
    const { topic, detail } = JSON.parse(event.data);
    problems.set(topic, detail);
    show();
  });
  source.addEventListener("end", () => {
    isOver = true;
    close();
    show();
  });
  for (const name of names) source.addEventListener(name, (event) => dispatch(name, JSON.parse(event.data)));
}

// The browser tries again by itself only where the connection broke, not where it was refused.
function broken() {
  show("waiting");
  if (source && source.readyState === EventSource.CLOSED) {
    restart(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
    failures += 1;
  }
}

function close() {
  if (source) source.close();
  source = null;
}

function dispatch(name, { changed, gone, first = false }) {
  const { handlers, values } = topics.get(name);
  const missed = first ? [...values.keys()].filter((key) => !(key in changed)) : gone;
  for (const [key, value] of Object.entries(changed)) values.set(key, value);
  for (const key of missed) values.delete(key);
  if (problems.delete(name)) show();
  for (const handler of handlers) handler({ changed, gone: missed, first });
}

function show(state) {
  if (!badge) return;
  const now = isOver ? "ended" : state || (problems.size ? "stale" : "live");
  if (badge.dataset.state === now) return;
  badge.hidden = false;
  badge.dataset.state = now;
  badge.textContent = badge.dataset[now];
  badge.title = [...problems.values()].join("; ");
}

document.addEventListener("visibilitychange", () => {
  if (!topics.size) return;
  if (document.hidden) {
    clearTimeout(timer);
    timer = setTimeout(close, HIDDEN_MS);
  } else if (!source) {
    restart(0);
  } else {
    clearTimeout(timer);
  }
});
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => {
  if (event.persisted && topics.size) restart(0);
});
