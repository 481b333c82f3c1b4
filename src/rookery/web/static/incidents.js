// Incidents, live: what changed is fetched as a part of the page and put in place of what was.

import { follow } from "/static/live.js";

const place = document.getElementById("incidents") || document.getElementById("incident");
const only = place.dataset.id; // on the page of one
let isBusy = false;
let isDue = false;

async function refresh() {
  isDue = true;
  if (isBusy) return;
  isBusy = true;
  try {
    while (isDue) {
      isDue = false;
      const url = new URL(location.href);
      url.searchParams.set("part", only ? "story" : "list");
      const answer = await fetch(url, { headers: { Accept: "text/html" } });
      if (!answer.ok) return;
      const made = new DOMParser().parseFromString(await answer.text(), "text/html");
      only ? replaceStory(made.body) : replaceLists(made.body);
    }
  } finally {
    isBusy = false;
  }
}

function isHeld(element) {
  const menu = element.querySelector("details[open]");
  return menu !== null || (element.contains(document.activeElement) && document.activeElement.matches("input"));
}

function replaceStory(made) {
  if (isHeld(place)) return;
  place.replaceChildren(...made.childNodes);
}

// An entry whose menu is open, or that has the focus, is left alone unless it changed.
function replaceLists(made) {
  const before = new Map([...place.querySelectorAll("[data-version]")].map((each) => [each.id, each]));
  const focused = document.activeElement?.closest?.("[data-version]")?.id;
  for (const after of made.querySelectorAll("[data-version]")) {
    const known = before.get(after.id);
    if (!known) after.classList.add("changed");
    else if (known.tagName === after.tagName && (known.dataset.version === after.dataset.version || isHeld(known))) after.replaceWith(known);
    else after.classList.add("changed");
  }
  place.replaceChildren(...made.childNodes);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.querySelector("h3 a, a")?.focus();
}

document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-act]");
  if (!form) return;
  event.preventDefault();
  const answer = await fetch(form.action, {
    method: "POST",
    body: new URLSearchParams(new FormData(form, event.submitter)),
    redirect: "manual",
  });
  const isDone = answer.ok || answer.type === "opaqueredirect";
  if (!isDone) {
    form.submit(); // the page that says why
    return;
  }
  form.closest("details")?.removeAttribute("open");
  refresh();
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.mute[open]")) {
    if (!menu.contains(event.target)) menu.removeAttribute("open");
  }
});

for (const select of document.querySelectorAll("form.toolbar select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

follow({
  alerts({ changed, gone, first }) {
    if (first && !isStale(changed)) return;
    if (!only || only in changed || gone.includes(only)) refresh();
  },
});

// The page may be older than the stream: from a cache, or raised in between.
function isStale(changed) {
  const shown = new Set([...document.querySelectorAll("[data-list=open] [data-version]")].map((each) => each.id));
  if (only) return true;
  const open = Object.values(changed).filter((each) => each.until === null);
  return open.length !== shown.size || open.some((each) => !shown.has(`incident-${each.id}`));
}
