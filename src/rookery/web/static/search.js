// The search box: `/` goes there, arrows choose, Enter opens. A combobox with a list below it.

const input = document.getElementById("search");
const list = document.getElementById("found");
const WAIT_MS = 120;
let timer = 0;
let latest = 0;
let chosen = -1;

function options() {
  return [...list.querySelectorAll('[role="option"]')];
}

function choose(index) {
  const all = options();
  chosen = all.length ? (index + all.length) % all.length : -1;
  all.forEach((option, at) => option.setAttribute("aria-selected", String(at === chosen)));
  if (chosen >= 0) {
    input.setAttribute("aria-activedescendant", all[chosen].id);
    all[chosen].scrollIntoView({ block: "nearest" });
  } else {
    input.removeAttribute("aria-activedescendant");
  }
}

function show(isShown) {
  list.hidden = !isShown;
  input.setAttribute("aria-expanded", String(isShown));
  if (!isShown) choose(-1);
}

function item(found, index) {
  const option = document.createElement("li");
  option.id = `found-${index}`;
  option.setAttribute("role", "option");
  option.setAttribute("aria-selected", "false");
  option.dataset.url = found.url;
  const title = document.createElement("span");
  title.textContent = found.title;
  const note = document.createElement("small");
  note.textContent = found.note;
  const kind = document.createElement("small");
  kind.className = "kind";
  kind.textContent = input.dataset[found.kind] ?? found.kind;
  option.append(title, note, kind);
  return option;
}

async function ask() {
  const text = input.value.trim();
  const number = ++latest;
  if (!text) {
    show(false);
    return;
  }
  const answer = await fetch(`/api/v1/search?${new URLSearchParams({ q: text })}`);
  if (number !== latest) return; // a later question is under way
  const found = answer.ok ? await answer.json() : [];
  if (number !== latest) return;
  if (found.length) {
    list.replaceChildren(...found.map(item));
  } else {
    const none = document.createElement("li");
    none.className = "none";
    none.setAttribute("role", "option");
    none.setAttribute("aria-disabled", "true");
    none.textContent = input.dataset.none;
    list.replaceChildren(none);
  }
  show(true);
  choose(found.length ? 0 : -1);
}

function go(option) {
  if (option && option.dataset.url) location.assign(option.dataset.url);
}

function isTyping(target) {
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

if (input) {
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT_MS);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) ask();
      else choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!list.hidden) go(options()[chosen]);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault(); // a second one clears the box, as browsers do
      show(false);
    }
  });
  input.addEventListener("blur", () => show(false));
  // Before the box loses the focus, which would hide the list.
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    go(event.target.closest('[role="option"]'));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (isTyping(event.target)) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}
