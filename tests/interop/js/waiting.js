"use strict";

// Every wait of the peer ends: with the value, or with an error that says what did not happen.

const WAIT_MS = 20000;

function within(what, start, waitMs = WAIT_MS) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${what}: nothing after ${waitMs} ms`)), waitMs);
    const done = (settle) => (value) => {
      clearTimeout(timer);
      settle(value);
    };
    start(done(resolve), done((reason) => reject(asError(reason))));
  });
}

// The libraries report errors as strings as often as as objects.
function asError(reason) {
  return reason instanceof Error ? reason : new Error(String(reason));
}

module.exports = { asError, within };
