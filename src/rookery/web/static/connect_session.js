// A session with a device at a server: JSON-RPC 2.0 over a WebSocket.

const PATIENCE_MS = 40000; // the server itself gives up after 30 s

/** `await session.call(method, params)`: `{ result }` or `{ error }`, and `ms`; never throws. */
export class Session {
  #socket;
  #number = 0;
  #waiting = new Map();

  /** `ended` is called once, with why. */
  constructor(grant, opened, ended) {
    this.#socket = new WebSocket(grant.ws);
    this.#socket.addEventListener("open", () => {
      this.#socket.send(JSON.stringify({ ticket: grant.ticket, seat: grant.seat }));
    });
    let isWelcome = false;
    this.#socket.addEventListener("message", (event) => {
      const message = parsed(event.data);
      if (!isWelcome && message.seat) {
        isWelcome = true;
        opened();
      } else {
        this.#answered(message);
      }
    });
    this.#socket.addEventListener("close", (event) => {
      for (const settle of this.#waiting.values()) settle({ error: { code: 0, message: event.reason } });
      this.#waiting.clear();
      ended(event.reason);
    });
  }

  get isOpen() {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  call(method, params) {
    const id = ++this.#number;
    const begun = performance.now();
    const request = { jsonrpc: "2.0", method, id };
    if (params !== undefined) request.params = params;
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle({ error: { code: -32000, message: "no answer" } }), PATIENCE_MS);
      const settle = (outcome) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve({ ...outcome, ms: performance.now() - begun });
      };
      this.#waiting.set(id, settle);
      this.#socket.send(JSON.stringify(request));
    });
  }

  close() {
    this.#socket.close(1000);
  }

  #answered(message) {
    const settle = this.#waiting.get(message.id);
    if (!settle) return;
    settle("error" in message ? { error: message.error } : { result: message.result });
  }
}

function parsed(text) {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
