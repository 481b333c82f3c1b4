"use strict";

// A telehash-js endpoint driven by JSON lines.
//
//   stdin   {"call": 1, "command": "link", …arguments}
//   stdout  {"call": 1, "value": …} | {"call": 1, "error": "text"} | {"event": "status", …}
//
// It ends with its standard input, on the command "exit", or after LIFETIME_MS whatever happens.

require("./loopback");
const readline = require("readline");
const Channels = require("./channels");
const Endpoint = require("./endpoint");
const { asError } = require("./waiting");

const LIFETIME_MS = 180000;

function say(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function emit(event, facts) {
  say(Object.assign({ event }, facts));
}

const endpoint = new Endpoint(emit);
const channels = new Channels(endpoint, emit);

async function perform({ call, command, ...args }) {
  const owner = [endpoint, channels].find((candidate) => {
    return command !== "constructor" && Object.getPrototypeOf(candidate).hasOwnProperty(command);
  });
  try {
    if (!owner) throw new Error(`no command ${command}`);
    const value = await owner[command](args);
    say({ call, value: value === undefined ? null : value });
  } catch (error) {
    say({ call, error: asError(error).message });
  }
}

// The libraries throw from timers and socket callbacks; the test must hear of it and go on.
process.on("uncaughtException", (error) => emit("crash", { reason: asError(error).stack }));

setTimeout(() => process.exit(3), LIFETIME_MS).unref();

const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const order = JSON.parse(line);
  if (order.command === "exit") process.exit(0);
  perform(order);
});
lines.on("close", () => process.exit(0));

emit("ready", { pid: process.pid });
