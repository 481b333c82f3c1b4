// What was called in this tab of the browser, to be called again; answers are not kept.

const MAX = 30;

export class History {
  #key;
  #words;
  #repeat;
  #section = document.getElementById("history");
  #list = document.getElementById("past");

  constructor(mac, words, repeat) {
    this.#key = `rookery.calls.${mac}`;
    this.#words = words;
    this.#repeat = repeat;
    document.getElementById("forget").addEventListener("click", () => {
      sessionStorage.removeItem(this.#key);
      this.#show();
    });
    this.#show();
  }

  add(entry) {
    const others = this.#entries().filter((each) => JSON.stringify(each) !== JSON.stringify(entry));
    try {
      sessionStorage.setItem(this.#key, JSON.stringify([entry, ...others].slice(0, MAX)));
    } catch {
      // No room: the call itself was made.
    }
    this.#show();
  }

  #entries() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.#key) ?? "[]");
      return Array.isArray(kept) ? kept : [];
    } catch {
      return [];
    }
  }

  #show() {
    const entries = this.#entries();
    this.#section.hidden = !entries.length;
    this.#list.replaceChildren(...entries.map((entry) => {
      const item = document.createElement("li");
      const code = document.createElement("code");
      code.textContent = `${entry.method} ${entry.params === undefined ? "" : JSON.stringify(entry.params)}`;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "tool";
      button.textContent = this.#words.repeat;
      button.setAttribute("aria-label", `${this.#words.repeat}: ${code.textContent}`);
      button.addEventListener("click", () => this.#repeat(entry));
      item.append(code, button);
      return item;
    }));
  }
}
