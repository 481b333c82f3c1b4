// A terminal of lines over the device's method exec: no shell, only what its allow list has.

import { split } from "/static/terminal_words.js";

const DENIED = -32004;
const UNKNOWN = -32601;
const TIMEOUT_S = 25; // the server gives up after 30
const LINES_MAX = 2000;
const HISTORY_MAX = 100;

export class Terminal {
  #session = null;
  #words;
  #screen = document.getElementById("screen");
  #input = document.getElementById("command");
  #history = [];
  #at = 0;
  #isBusy = false;

  constructor(words) {
    this.#words = words;
    document.getElementById("line").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#enter();
    });
    this.#input.addEventListener("keydown", (event) => this.#key(event));
    document.getElementById("terminal").addEventListener("click", () => {
      if (!getSelection()?.toString()) this.focus();
    });
    this.#print("note", words.help);
  }

  open(session) {
    this.#session = session;
  }

  close(reason) {
    this.#session = null;
    this.#print("note", reason);
  }

  focus() {
    this.#input.focus();
  }

  #key(event) {
    if (event.key === "l" && event.ctrlKey) {
      event.preventDefault();
      this.#screen.replaceChildren();
    }
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    this.#at = Math.min(Math.max(this.#at + step, 0), this.#history.length);
    this.#input.value = this.#history[this.#at] ?? "";
  }

  async #enter() {
    const line = this.#input.value.trim();
    if (!line || this.#isBusy) return;
    this.#input.value = "";
    this.#history = [...this.#history.filter((each) => each !== line), line].slice(-HISTORY_MAX);
    this.#at = this.#history.length;
    if (line === "clear") {
      this.#screen.replaceChildren();
      return;
    }
    this.#print("entered", `$ ${line}`);
    if (line === "help") this.#print("note", this.#words.help);
    else await this.#run(line);
  }

  async #run(line) {
    const argv = split(line);
    if (!this.#session?.isOpen) {
      this.#print("err", this.#words.notConnected);
      return;
    }
    this.#isBusy = true;
    const { result, error } = await this.#session.call("exec", { argv, timeout_s: TIMEOUT_S });
    this.#isBusy = false;
    if (error) this.#refused(error, line);
    else this.#done(result);
  }

  #done({ code, out, err, is_cut: isCut, is_timed_out: isTimedOut }) {
    if (out) this.#print("out", out);
    if (err) this.#print("err", err);
    if (isCut) this.#print("note", this.#words.cut);
    if (isTimedOut) this.#print("note", this.#words.timedOut);
    if (code !== 0) this.#print("code", `${this.#words.exit} ${code}`);
  }

  #refused(error, line) {
    this.#print("err", [error.message, error.data].filter(Boolean).join(": "));
    if (error.code === DENIED) this.#print("note", `${this.#words.denied}\n  ${line}`);
    if (error.code === UNKNOWN) this.#print("note", this.#words.noExec);
  }

  #print(kind, text) {
    const line = document.createElement("div");
    line.className = kind;
    line.textContent = text.replace(/\n$/, "");
    this.#screen.append(line);
    while (this.#screen.childElementCount > LINES_MAX) this.#screen.firstElementChild.remove();
    this.#screen.scrollTop = this.#screen.scrollHeight;
  }
}
