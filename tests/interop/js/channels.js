"use strict";

// The channels of telehash-js as commands: stream, thtp, sock and chat.

const crypto = require("crypto");
const http = require("http");
const { asError, within } = require("./waiting");

const TRANSFER_MS = 60000;

// What arrived so far: counted and hashed, never kept.
class Tally {
  constructor() {
    this.bytes = 0;
    this.messages = 0;
    this.hash = crypto.createHash("sha256");
  }

  add(data) {
    this.bytes += data.length;
    this.messages += 1;
    this.hash.update(data);
  }

  json() {
    return { bytes: this.bytes, messages: this.messages, sha256: this.hash.copy().digest("hex") };
  }
}

// telehash-js has no send window, so one write is one burst: `writeSize` is the length of the bursts.
function sendRandom(stream, bytes, writeSize, written = () => {}) {
  const sent = new Tally();
  const next = () => {
    while (sent.bytes < bytes) {
      const data = crypto.randomBytes(Math.min(writeSize, bytes - sent.bytes));
      sent.add(data);
      if (!stream.write(data)) {
        stream.once("drain", next);
        return;
      }
    }
    written();
  };
  next();
  return sent;
}

function sha256(data) {
  return crypto.createHash("sha256").update(data).digest("hex");
}

class Channels {
  constructor(endpoint, emit) {
    this.endpoint = endpoint;
    this.emit = emit;
    this.chats = new Map();
  }

  get mesh() {
    return this.endpoint.mesh;
  }

  // Opens a channel of any type; what the other side has against it, or null.
  async open({ hashname, type }) {
    const opening = { json: { type, seq: 1 } };
    const channel = this.endpoint.linkTo(hashname).x.channel(opening);
    return within("open", (resolve) => {
      channel.receiving = (error, packet, next) => {
        resolve({ error: error ? String(error) : null });
        next();
      };
      channel.send(opening);
    });
  }

  // Inbound streams are echoed or counted; each reports its end as an event.
  streamServe({ mode }) {
    this.mesh.stream((link, request, accept) => {
      const received = new Tally();
      const stream = accept();
      stream.on("data", (data) => {
        received.add(data);
        if (mode === "echo") stream.write(data);
      });
      stream.on("error", (error) => {
        this.emit("streamFailed", { hashname: link.hashname, reason: asError(error).message });
      });
      stream.on("end", () => {
        this.emit("streamEnded", Object.assign({ hashname: link.hashname }, received.json()));
      });
    });
  }

  // Opens a stream, sends `bytes` random bytes, ends once `expect` bytes have come back.
  async streamSend({ hashname, bytes, expect = 0, writeSize = 16000 }) {
    const stream = this.endpoint.linkTo(hashname).stream();
    const received = new Tally();
    let sent;
    await within("stream", (resolve, reject) => {
      stream.on("error", reject);
      stream.on("finish", resolve);
      stream.on("data", (data) => {
        received.add(data);
        if (received.bytes >= expect) stream.end();
      });
      sent = sendRandom(stream, bytes, writeSize, () => {
        if (expect === 0) stream.end();
      });
    }, TRANSFER_MS);
    return { sent: sent.json(), received: received.json() };
  }

  async thtpRequest({ hashname, method = "GET", path = "/", headers = {}, body = "" }) {
    const link = this.endpoint.linkTo(hashname);
    return within("thtp", (resolve, reject) => {
      const request = link.request({ method, path, headers }, (response) => {
        if (!response || !response.on) return reject(response);
        const parts = [];
        response.on("data", (data) => parts.push(data));
        response.on("end", () => {
          const whole = Buffer.concat(parts);
          resolve({
            status: response.statusCode,
            headers: response.headers,
            bytes: whole.length,
            sha256: sha256(whole),
            text: whole.length <= 1000 ? whole.toString("latin1") : null,
          });
        });
      });
      if (method === "GET") return; // the library has ended it
      if (body) request.write(Buffer.from(body, "latin1"));
      request.end();
    });
  }

  // Without `url` answers by itself: /bytes/N gives N bytes, all else tells what was asked.
  thtpServe({ url }) {
    if (url) return this.mesh.proxy(url);
    const server = http.createServer();
    server.on("request", (request, response) => {
      const parts = [];
      request.on("data", (data) => parts.push(data));
      const size = /^\/bytes\/(\d+)$/.exec(request.url);
      if (size) {
        response.writeHead(200, { "Content-Type": "application/octet-stream" });
        return response.end(Buffer.alloc(Number(size[1]), "rookery"));
      }
      const respond = () => {
        const { method, url: path } = request;
        const body = Buffer.concat(parts).toString("latin1");
        response.writeHead(201, { "Content-Type": "application/json" });
        response.end(Buffer.from(JSON.stringify({ method, path, body })));
      };
      if (request.method === "GET") respond();
      else request.on("end", respond);
    });
    this.mesh.proxy(server);
  }

  sockServe({ allow }) {
    this.mesh.sock(() => allow);
  }

  // Dials through the link, sends, and counts until `expect` bytes have come back.
  async sockConnect({ hashname, ip, port, bytes = 0, expect = 0, writeSize = 16000 }) {
    const stream = this.endpoint.linkTo(hashname).connect({ ip, port });
    const received = new Tally();
    let sent;
    await within("sock", (resolve, reject) => {
      stream.on("error", reject);
      stream.on("end", resolve);
      stream.on("data", (data) => {
        received.add(data);
        if (received.bytes >= expect) stream.end();
      });
      sent = sendRandom(stream, bytes, writeSize);
    }, TRANSFER_MS);
    return { sent: sent.json(), received: received.json() };
  }

  chatWatch(chat) {
    this.chats.set(chat.id, chat);
    chat.inbox.on("data", (message) => {
      this.emit("chat", { chat: chat.id, from: message.from, message: message.json });
    });
    return { chat: chat.id };
  }

  async chatCreate({ name }) {
    const chat = await within("chat", (resolve, reject) => {
      this.mesh.chat(name, (error, ready) => (error ? reject(error) : resolve(ready)));
    });
    return this.chatWatch(chat);
  }

  chatInvite({ chat, hashname }) {
    this.chats.get(chat).join(this.endpoint.linkTo(hashname));
  }

  // From now on every invitation is taken under this name.
  chatServe({ name }) {
    this.mesh.invited((link, profile) => {
      this.emit("invited", { hashname: link.hashname, profile: profile.json });
      this.chatWatch(this.mesh.chat({ leader: link, id: profile.json.id }, name));
    });
  }

  chatSay({ chat, text }) {
    this.chats.get(chat).send(text);
  }
}

module.exports = Channels;
