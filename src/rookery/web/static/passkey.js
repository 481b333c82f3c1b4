// Passkeys: add one, sign in with one, or prove with one that it is still you.

const API = "/api/v1";

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));

function text(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

async function ask(path, body) {
  const answer = await fetch(API + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const data = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(data.detail);
  return data;
}

const named = (list) => list.map((each) => ({ ...each, id: bytes(each.id) }));

async function created(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    user: { ...options.user, id: bytes(options.user.id) },
    excludeCredentials: named(options.excludeCredentials),
  };
  const { id, response } = await navigator.credentials.create({ publicKey });
  return {
    id,
    response: {
      clientDataJSON: text(response.clientDataJSON),
      attestationObject: text(response.attestationObject),
    },
  };
}

async function answered(options) {
  const publicKey = {
    ...options,
    challenge: bytes(options.challenge),
    allowCredentials: named(options.allowCredentials),
  };
  const { id, response } = await navigator.credentials.get({ publicKey });
  return {
    id,
    response: {
      clientDataJSON: text(response.clientDataJSON),
      authenticatorData: text(response.authenticatorData),
      signature: text(response.signature),
      userHandle: response.userHandle && text(response.userHandle),
    },
  };
}

const ACTS = {
  async signIn() {
    const credential = await answered(await ask("/session/passkey/options"));
    await ask("/session/passkey", { credential });
    location.assign("/");
  },
  async prove(panel) {
    const credential = await answered(await ask("/session/proof/passkey/options"));
    await ask("/session/proof/passkey", { credential });
    location.assign(panel.dataset.back);
  },
  async add(panel) {
    const name = panel.querySelector("input").value.trim();
    if (!name) return panel.querySelector("input").focus();
    const credential = await created(await ask("/me/factors/passkeys/options"));
    const made = await ask("/me/factors/passkeys", { name, credential });
    if (!made.recovery_codes.length) return location.assign("/account/factors");
    showCodes(made.recovery_codes);
  },
};

function showCodes(codes) {
  const shown = document.getElementById("new-codes");
  const items = codes.map((code) => {
    const item = document.createElement("li");
    item.append(Object.assign(document.createElement("code"), { textContent: code }));
    return item;
  });
  shown.querySelector("ol").replaceChildren(...items);
  shown.hidden = false;
  document.getElementById("factors").hidden = true;
  shown.focus();
}

function complain(panel, error) {
  const place = panel.querySelector(".problem");
  const own = { NotAllowedError: panel.dataset.none, InvalidStateError: panel.dataset.known };
  place.textContent = own[error.name] || error.message;
  place.hidden = false;
}

for (const panel of document.querySelectorAll("[data-passkey]")) {
  const button = panel.querySelector("button[type=button]");
  if (!button) continue; // a proof is needed first
  if (!window.PublicKeyCredential) {
    const lacking = panel.querySelector("[data-lacking]");
    if (lacking) lacking.hidden = false;
    continue;
  }
  for (const part of panel.querySelectorAll("[data-offered]")) part.hidden = false;
  button.addEventListener("click", async () => {
    button.disabled = true;
    panel.querySelector(".problem").hidden = true;
    try {
      await ACTS[panel.dataset.passkey](panel);
    } catch (error) {
      complain(panel, error);
    } finally {
      button.disabled = false;
    }
  });
}
