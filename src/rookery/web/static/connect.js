// A device's page: the steps of connecting as they happen, then a JSON-RPC console.
"use strict";

const form = document.getElementById("connect");
const steps = document.getElementById("steps");
const calls = document.getElementById("calls");
let socket = null;
let number = 0;

function add(list, text, kind) {
  const item = document.createElement("li");
  item.textContent = text;
  if (kind) item.className = kind;
  list.append(item);
  return item;
}

// EventSource cannot POST, so the stream is read by hand: events end with an empty line.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const parts = waiting.split("\n\n");
    waiting = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

async function connect() {
  steps.replaceChildren();
  document.getElementById("progress").hidden = false;
  const answer = await fetch(`/api/v1/devices/${encodeURIComponent(form.dataset.mac)}/connect`, {
    method: "POST",
    headers: { Accept: "text/event-stream" },
  });
  if (!answer.ok) {
    const problem = await answer.json();
    add(steps, problem.detail, "problem");
    return;
  }
  for await (const step of events(answer.body)) {
    const item = add(steps, step.text, step.name === "failed" ? "problem" : step.name);
    item.dataset.step = step.name;
    if (step.reason) item.title = step.reason;
    if (step.grant) attend(step.grant);
  }
}

function attend(grant) {
  if (socket) socket.close();
  socket = new WebSocket(grant.ws);
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ ticket: grant.ticket, seat: grant.seat }));
    document.getElementById("console").hidden = false;
  });
  socket.addEventListener("message", (event) => {
    const item = add(calls, "");
    const answer = document.createElement("pre");
    answer.textContent = readable(event.data);
    item.append(answer);
  });
  socket.addEventListener("close", (event) => {
    add(calls, event.reason || "the connection has ended; connect again", "problem");
    socket = null;
  });
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return String(text);
  }
}

function call(fields) {
  const request = { jsonrpc: "2.0", method: fields.get("method"), id: ++number };
  const params = fields.get("params").trim();
  if (params) {
    try {
      request.params = JSON.parse(params);
    } catch (error) {
      add(calls, error.message, "problem");
      return;
    }
  }
  if (!socket || socket.readyState !== WebSocket.OPEN) {
    add(calls, "not connected", "problem");
    return;
  }
  add(calls, `→ ${request.method} ${params}`);
  socket.send(JSON.stringify(request));
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    await connect();
  } catch (error) {
    add(steps, error.message, "problem");
  } finally {
    button.disabled = false;
  }
});

document.getElementById("call").addEventListener("submit", (event) => {
  event.preventDefault();
  call(new FormData(event.target));
});
