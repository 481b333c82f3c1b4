// The JSON-RPC console: methods that the device lists, a form for the chosen one, answers, history.

import { Form } from "/static/console_form.js";
import { History } from "/static/console_history.js";

const DISCOVER = "rpc.discover";
const FIRST = "system.info"; // harmless, and every device has it

export class Console {
  #session = null;
  #words;
  #methods = [];
  #components = {};
  #chosen = null;
  #form;
  #history;
  #search = document.getElementById("method");
  #list = document.getElementById("method-list");
  #summary = document.getElementById("summary");
  #calls = document.getElementById("calls");
  #problem = document.getElementById("call-problem");
  #button = document.querySelector("#call button");

  constructor(mac, words) {
    this.#words = words;
    this.#form = new Form(words);
    this.#history = new History(mac, words, (entry) => this.#repeat(entry));
    this.#search.addEventListener("input", () => this.#sought());
    this.#search.addEventListener("keydown", (event) => this.#key(event));
    document.getElementById("call").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
  }

  async open(session) {
    this.#session = session;
    this.#button.disabled = false;
    const { result } = await session.call(DISCOVER);
    this.#methods = result?.methods ?? [];
    this.#components = result?.components?.schemas ?? {};
    // Do not take the focus from a user who is about to type.
    const isIdle = !this.#search.value && document.activeElement !== this.#search;
    if (isIdle && this.#methods.some((method) => method.name === FIRST)) this.#search.value = FIRST;
    this.#sought();
  }

  close(reason) {
    this.#session = null;
    this.#button.disabled = true;
    this.#complain(reason);
  }

  #sought() {
    const text = this.#search.value.trim();
    const exact = this.#methods.find((method) => method.name === text);
    if (exact || !text) this.#choose(exact ?? null);
    else this.#choose(null, this.#methods.length ? this.#words.unknown : "");
    this.#show();
  }

  #show() {
    const text = this.#search.value.trim().toLowerCase();
    const isWhole = this.#methods.some((method) => method.name.toLowerCase() === text);
    const fitting = this.#methods.filter((method) =>
      !text || isWhole || `${method.name} ${method.summary ?? ""}`.toLowerCase().includes(text));
    this.#list.replaceChildren(...fitting.map((method) => this.#item(method)));
    if (!fitting.length && this.#methods.length) {
      const none = document.createElement("li");
      none.className = "muted";
      none.textContent = this.#words.none;
      this.#list.append(none);
    }
  }

  #item(method) {
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = method.name;
    button.title = method.summary ?? "";
    if (method === this.#chosen) button.setAttribute("aria-current", "true");
    const summary = document.createElement("small");
    summary.textContent = method.summary ?? "";
    button.append(summary);
    button.addEventListener("click", () => {
      this.#search.value = method.name;
      this.#sought();
      this.#form.focus();
    });
    item.append(button);
    return item;
  }

  #key(event) {
    if (event.key !== "Enter" && event.key !== "ArrowDown") return;
    event.preventDefault();
    const first = this.#list.querySelector("button");
    if (event.key === "ArrowDown") first?.focus();
    else if (this.#chosen) this.#submit();
    else first?.click();
  }

  #choose(method, note = "") {
    this.#chosen = method;
    this.#summary.textContent = method ? method.summary ?? "" : note;
    this.#form.show(method?.params ?? [], this.#components, method);
  }

  #submit() {
    const method = this.#search.value.trim();
    if (!method) {
      this.#search.focus();
      return;
    }
    const { params, problem } = this.#form.read();
    if (problem) this.#complain(problem);
    else this.#call(method, params);
  }

  #repeat({ method, params }) {
    this.#search.value = method;
    this.#sought();
    this.#form.fill(params);
    this.#call(method, params);
  }

  async #call(method, params) {
    if (!this.#session?.isOpen) {
      this.#complain(this.#words.notConnected);
      return;
    }
    this.#complain("");
    const item = this.#begun(method, params);
    const outcome = await this.#session.call(method, params);
    this.#ended(item, outcome);
    this.#history.add({ method, params });
  }

  #begun(method, params) {
    const item = document.createElement("li");
    const head = document.createElement("header");
    const name = document.createElement("code");
    name.textContent = method;
    const args = document.createElement("code");
    args.className = "args";
    args.textContent = params === undefined ? "" : JSON.stringify(params);
    args.title = args.textContent;
    const note = document.createElement("span");
    note.className = "muted";
    note.textContent = this.#words.calling;
    head.append(name, args, note);
    item.append(head);
    this.#calls.prepend(item);
    while (this.#calls.childElementCount > 50) this.#calls.lastElementChild.remove();
    return item;
  }

  #ended(item, { result, error, ms }) {
    const head = item.querySelector("header");
    const note = head.querySelector(".muted");
    note.className = error ? "badge bad" : "badge ok";
    note.textContent = `${error ? this.#words.failed : this.#words.result} · ${Math.round(ms)} ms`;
    if (error) item.classList.add("problem");
    const answer = document.createElement("pre");
    answer.tabIndex = 0;
    answer.textContent = JSON.stringify(error ?? result ?? null, null, 2);
    const copy = document.createElement("button");
    copy.type = "button";
    copy.className = "tool";
    copy.dataset.copy = answer.textContent;
    const label = document.createElement("span");
    label.textContent = this.#words.copy;
    copy.append(label);
    head.append(copy);
    item.append(answer);
  }

  #complain(text) {
    this.#problem.textContent = text;
    this.#problem.hidden = !text;
  }
}
