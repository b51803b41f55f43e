import { type Fields, fieldsOf, isFields, itemsOf, textOf } from "./json-fields.ts";

/** The calls of tools that an ACP agent has reported and not ended. */
export type OpenToolCalls = ReturnType<typeof createOpenToolCalls>;

/**
 * What is kept of all calls together: a call that does not fit is forgotten, and a request for it shows less.
 */
const maxKeptCharacters = 8_000_000;
const maxCalls = 1000;

const fields = ["title", "name", "kind", "rawInput", "content", "locations"] as const;

/**
 * Agents reuse ids. A call is known from its `tool_call` to its end, and a new `tool_call` replaces it: what
 * is complete must never be an earlier call. An update of an unknown call is not taken in for the same
 * reason.
 */
export function createOpenToolCalls() {
  const calls = new Map<string, { size: number; call: Fields }>();
  let kept = 0;
  const keyOf = (sessionId: string | null, call: Fields) =>
    JSON.stringify([sessionId, textOf(call["toolCallId"])]);

  function forget(key: string): void {
    kept -= calls.get(key)?.size ?? 0;
    calls.delete(key);
  }

  return {
    /** Takes in the `params` of a `session/update`, which came in a line of `size` characters. */
    note(params: Fields, size: number): void {
      const update = fieldsOf(params["update"]);
      const type = update["sessionUpdate"];
      if (type !== "tool_call" && type !== "tool_call_update") return;
      const key = keyOf(textOf(params["sessionId"]), update);
      const before = type === "tool_call" ? undefined : calls.get(key);
      forget(key);
      const hasEnded = update["status"] === "completed" || update["status"] === "failed";
      if (hasEnded || (type === "tool_call_update" && before === undefined)) return;
      calls.set(key, { size: size + (before?.size ?? 0), call: { ...before?.call, ...factsIn(update) } });
      kept += calls.get(key)?.size ?? 0;
      for (const oldest of calls.keys()) {
        if (kept <= maxKeptCharacters && calls.size <= maxCalls) break;
        forget(oldest);
      }
    },
    /** A call that a request of the conversation names, with the facts that were reported of it before. */
    complete(sessionId: string | null, call: Fields): Fields {
      const before = calls.get(keyOf(sessionId, call))?.call ?? {};
      const whole: Fields = { ...call, ...before, ...factsIn(call) };
      if (textsOfCall(whole).length > 0) return whole;
      const title = bothTitles(textOf(before["title"]), textOf(call["title"]));
      return title === null ? whole : { ...whole, title };
    },
    clear(): void {
      calls.clear();
      kept = 0;
    },
  };
}

/** The facts that an update has: an empty one is none. Pure. */
function factsIn(update: Fields): Fields {
  return Object.fromEntries(
    fields.flatMap((name) => (isEmpty(update[name]) ? [] : [[name, update[name]] as const])),
  );
}

const isEmpty = (value: unknown) =>
  value === undefined ||
  value === null ||
  value === "" ||
  (Array.isArray(value) && value.length === 0) ||
  (isFields(value) && Object.keys(value).length === 0);

/**
 * Without an input the title is all that shows: a request may call "Bash" what its `tool_call` named in full.
 * Pure.
 */
function bothTitles(before: string | null, now: string | null): string | null {
  if (before === null || before === "" || now?.includes(before)) return now;
  if (now === null || now === "" || before.includes(now)) return before;
  return `${now}: ${before}`;
}

/**
 * Everything that a call says of what it would do, apart from its title: the texts of its input, an argument
 * vector as one line, those of its content, and paths. Pure.
 */
export function textsOfCall(call: Fields): string[] {
  const texts = new Set<string>();
  const add = (text: string | null) => {
    if (text !== null && text.trim() !== "") texts.add(text);
  };
  const inputs: unknown[] = [call["rawInput"]];
  for (let at = 0; at < inputs.length; at++) {
    const input = inputs[at];
    if (typeof input === "string") add(input);
    else if (Array.isArray(input) && input.every((one) => typeof one === "string")) add(input.join(" "));
    else if (typeof input === "object" && input !== null)
      for (const one of Object.values(input)) inputs.push(one);
    else if (input !== undefined && input !== null) add(String(input));
  }
  for (const item of itemsOf(call["content"]).map(fieldsOf)) {
    const content = fieldsOf(item["content"]);
    add(textOf(content["text"]) ?? textOf(fieldsOf(content["resource"])["text"]) ?? textOf(content["uri"]));
    add(textOf(item["path"]));
    add(textOf(item["newText"]));
  }
  for (const location of itemsOf(call["locations"])) add(textOf(fieldsOf(location)["path"]));
  return [...texts];
}
