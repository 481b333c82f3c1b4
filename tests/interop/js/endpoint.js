"use strict";

// One telehash-js mesh on loopback: identity, links, acceptance, routing, discovery.

const crypto = require("crypto");
const { LOOPBACK } = require("./loopback");
const { within } = require("./waiting");
const e3x = require("e3x");
const hashname = require("hashname");
const telehash = require("telehash/lib/mesh.js");

const TRANSPORTS = { udp4: "telehash-udp4", tcp4: "telehash-tcp4" };

async function keyPair(csid) {
  // The RSA generator of the library takes seconds and writes a format that its own loader refuses.
  if (csid !== "2a") return e3x.cs[csid].generate();
  const pair = crypto.generateKeyPairSync("rsa", {
    modulusLength: 2048,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs1", format: "der" },
  });
  return { key: pair.publicKey, secret: pair.privateKey };
}

async function identity(csids) {
  const id = { keys: {}, secrets: {} };
  for (const csid of csids) {
    const pair = await keyPair(csid);
    id.keys[csid] = hashname.base32.encode(pair.key);
    id.secrets[csid] = hashname.base32.encode(pair.secret);
  }
  return id;
}

function extensions(transports, keepaliveMs) {
  const chosen = Object.assign({}, telehash.extensions);
  for (const name of transports) {
    const transport = require(TRANSPORTS[name]);
    if (keepaliveMs) transport.keepalive = keepaliveMs;
    chosen[name] = transport;
  }
  return chosen;
}

class Endpoint {
  constructor(emit) {
    this.emit = emit;
    this.accepting = "known";
    this.watched = new Set();
  }

  // `id` is what `identity` of an earlier process said: the same endpoint again.
  async create({ csids = ["3a"], transports = ["udp4"], accept = "all", keepaliveMs, id }) {
    this.id = id || (await identity(csids));
    const args = {
      id: this.id,
      ip: LOOPBACK,
      extensions: extensions(transports, keepaliveMs),
    };
    this.mesh = await within("create", (resolve, reject) => {
      telehash.mesh(args, (error, mesh) => (error ? reject(error) : resolve(mesh)));
    });
    this.accepting = accept;
    this.mesh.accept = (from) => this.offered(from);
    return this.json();
  }

  offered(from) {
    this.emit("offered", { hashname: from.hashname, accepted: this.accepting === "all" });
    if (this.accepting === "all") this.watch(this.mesh.link(from));
  }

  watch(link) {
    if (this.watched.has(link)) return;
    this.watched.add(link);
    link.on("status", (down) => {
      this.emit("status", { hashname: link.hashname, up: !down, reason: down ? String(down) : null });
    });
  }

  identity() {
    return this.id;
  }

  // Tell nobody where we are, so that only those can reach us who already do.
  hide() {
    this.mesh.paths = () => [];
  }

  json() {
    return JSON.parse(JSON.stringify(this.mesh.json()));
  }

  accept({ mode }) {
    this.accepting = mode;
  }

  linkTo(hashname) {
    const link = this.mesh.index[hashname];
    if (!link || !link.isLink) throw new Error(`no link to ${hashname}`);
    return link;
  }

  async link({ to, via, wait = true }) {
    const link = this.mesh.link(to);
    if (!link) throw this.mesh.err || new Error("not a link");
    this.watch(link);
    if (via) link.router(this.linkTo(via));
    if (wait) await this.up({ hashname: link.hashname });
    return { hashname: link.hashname, paths: link.json.paths };
  }

  async up({ hashname }) {
    const link = this.linkTo(hashname);
    if (link.up) return;
    await within(`link to ${hashname}`, (resolve) => {
      const listener = (down) => {
        if (down) return;
        link.removeListener("status", listener);
        resolve();
      };
      link.on("status", listener);
    });
  }

  pipes({ hashname }) {
    return this.linkTo(hashname).pipes.map((pipe) => pipe.path);
  }

  sync({ hashname }) {
    return this.linkTo(hashname).sync();
  }

  async path({ hashname }) {
    const link = this.linkTo(hashname);
    const latencyMs = await within("path", (resolve, reject) => {
      link.ping((error, latency) => (error ? reject(error) : resolve(latency)));
    });
    return { latencyMs };
  }

  router({ on }) {
    this.mesh.router(on);
  }

  useRouter({ hashname, on = true }) {
    this.mesh.router(this.linkTo(hashname), on);
  }

  async discover({ on }) {
    await within("discover", (resolve) => this.mesh.discover(on, resolve));
  }
}

module.exports = Endpoint;
