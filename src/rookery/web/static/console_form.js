// A form for a method's parameters, made from their JSON Schemas; whatever has none is written as JSON.

const REF = "#/components/schemas/";

export class Form {
  #words;
  #fields = []; // { name, isRequired, read(), write(value), element }
  #place = document.getElementById("params");
  #raw = document.getElementById("raw");
  #text = document.querySelector("#raw textarea");
  #isRaw = document.getElementById("is-raw");

  constructor(words) {
    this.#words = words;
    this.#isRaw.addEventListener("change", () => this.#switch());
  }

  /** The parameters of a method; `method` null: nothing is known, so they are written by hand. */
  show(params, components, method) {
    this.#fields = params.map((param) => this.#field(param, components));
    this.#place.replaceChildren(...this.#fields.map((field) => field.label));
    if (method && !params.length) {
      const none = document.createElement("p");
      none.className = "muted";
      none.textContent = this.#words.noParams;
      this.#place.append(none);
    }
    this.#text.value = "";
    this.#isRaw.checked = false;
    this.#isRaw.disabled = !method;
    this.#switch(method === null);
  }

  /** `{ params }`, undefined where there are none, or `{ problem }`. */
  read() {
    if (!this.#raw.hidden) return this.#readRaw();
    const params = {};
    for (const field of this.#fields) {
      const { value, problem } = field.read();
      field.element.removeAttribute("aria-invalid");
      if (problem) {
        field.element.setAttribute("aria-invalid", "true");
        field.element.focus();
        return { problem: `${field.name}: ${problem}` };
      }
      if (value !== undefined) params[field.name] = value;
    }
    return { params: Object.keys(params).length ? params : undefined };
  }

  fill(params) {
    const isPlain = params !== undefined && !Array.isArray(params) && this.#fields.length;
    if (isPlain) for (const field of this.#fields) if (field.name in params) field.write(params[field.name]);
    if (params !== undefined) this.#text.value = JSON.stringify(params, null, 2);
  }

  focus() {
    (this.#fields[0]?.element ?? document.querySelector("#call button")).focus();
  }

  #switch(isUnknown = false) {
    const isRaw = this.#isRaw.checked || isUnknown;
    if (this.#isRaw.checked) {
      const { params } = this.#readFields();
      if (params && !this.#text.value) this.#text.value = JSON.stringify(params, null, 2);
    }
    this.#raw.hidden = !isRaw;
    this.#place.hidden = isRaw;
  }

  #readFields() {
    const params = {};
    for (const field of this.#fields) {
      const { value } = field.read();
      if (value !== undefined) params[field.name] = value;
    }
    return { params: Object.keys(params).length ? params : undefined };
  }

  #readRaw() {
    const text = this.#text.value.trim();
    if (!text) return { params: undefined };
    const { value, problem } = this.#json(text, null);
    return problem ? { problem } : { params: value };
  }

  #json(text, kind) {
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return { problem: `${this.#words.badJson} ${error.message}` };
    }
    if (kind === "array" && !Array.isArray(value)) return { problem: this.#words.wantsArray };
    const isObject = value !== null && typeof value === "object" && !Array.isArray(value);
    if (kind === "object" && !isObject) return { problem: this.#words.wantsObject };
    return { value };
  }

  #field({ name, required, schema }, components) {
    const known = resolved(schema ?? {}, components);
    const element = this.#control(known, required);
    element.name = name;
    element.required = Boolean(required);
    const label = document.createElement("label");
    const head = document.createElement("span");
    const code = document.createElement("code");
    code.textContent = name;
    const hint = document.createElement("span");
    hint.className = "hint";
    hint.textContent = [described(known), required ? this.#words.required : this.#words.optional].filter(Boolean).join(" · ");
    head.append(code, hint);
    label.append(head, element);
    return {
      name, label, element,
      read: () => this.#value(known, element, required),
      write: (value) => {
        const isText = known.type === "string" || known.enum;
        element.value = isText || typeof value !== "object" ? String(value) : JSON.stringify(value);
      },
    };
  }

  #control(schema, required) {
    const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
    if (choices) {
      const select = document.createElement("select");
      if (!required) select.append(new Option(this.#words.default, ""));
      for (const choice of choices) {
        const text = choice === true ? this.#words.yes : choice === false ? this.#words.no : String(choice);
        select.append(new Option(text, String(choice)));
      }
      return select;
    }
    if (["string", "number", "integer"].includes(schema.type)) {
      const input = document.createElement("input");
      input.autocomplete = "off";
      input.spellcheck = false;
      if (schema.type === "string") {
        input.type = "text";
        if (schema.maxLength) input.maxLength = schema.maxLength;
      } else {
        input.type = "number";
        input.step = schema.type === "integer" ? "1" : "any";
        const [least, most] = [schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum];
        if (least !== undefined) input.min = least;
        if (most !== undefined) input.max = most;
      }
      if (schema.default !== undefined && schema.default !== null) input.placeholder = String(schema.default);
      return input;
    }
    const area = document.createElement("textarea");
    area.rows = 2;
    area.spellcheck = false;
    area.placeholder = schema.type === "array" ? '["…"]' : schema.type === "object" ? "{}" : "JSON";
    return area;
  }

  #value(schema, element, required) {
    const text = element.value;
    if (text.trim() === "" && !(required && schema.type === "string" && !schema.enum)) {
      return required ? { problem: this.#words.required } : { value: undefined };
    }
    if (schema.enum) return { value: schema.enum.find((choice) => String(choice) === text) };
    if (schema.type === "boolean") return { value: text === "true" };
    if (schema.type === "string") return { value: text };
    if (schema.type === "number" || schema.type === "integer") {
      return element.checkValidity() ? { value: Number(text) } : { problem: element.validationMessage };
    }
    return this.#json(text, schema.type);
  }
}

// A reference followed, and of alternatives the first that is not null.
function resolved(schema, components, depth = 0) {
  if (depth > 8) return {};
  if (schema.$ref?.startsWith(REF)) return resolved(components[schema.$ref.slice(REF.length)] ?? {}, components, depth + 1);
  const other = schema.anyOf?.filter((each) => each.type !== "null");
  if (other?.length === 1) return { ...resolved(other[0], components, depth + 1), default: schema.default };
  return schema;
}

function described(schema) {
  if (schema.enum) return "";
  const [least, most] = [schema.minimum ?? schema.exclusiveMinimum, schema.maximum ?? schema.exclusiveMaximum];
  const bounds = least !== undefined || most !== undefined ? `${least ?? ""}…${most ?? ""}` : "";
  return [schema.type ?? "JSON", bounds].filter(Boolean).join(" ");
}
