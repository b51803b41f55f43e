import { Value } from "@sinclair/typebox/value";
import { MailEnvelope } from "../../protocol/mail-file.ts";
import { parseYaml } from "../../system/yaml.ts";

/** The text of a canonical file. Source: spec/mailbox-agui.md A1. Pure. */

export interface StoredMessage {
  envelope: MailEnvelope;
  body: string;
}

export function isEnvelope(value: unknown): value is MailEnvelope {
  return Value.Check(MailEnvelope, value);
}

/** Front matter, an empty line, the body. Every value is one line of JSON, which is YAML too. */
export function renderMessageFile({ envelope, body }: StoredMessage): string {
  const lines = Object.keys(MailEnvelope.properties).map((key) =>
    renderField(key, envelope[key as keyof MailEnvelope]),
  );
  return `---\n${lines.join("")}---\n\n${body}`;
}

/** What a canonical file says, or why it is none. */
export function parseMessageFile(
  text: string,
): { ok: true; message: StoredMessage } | { ok: false; why: string } {
  const end = text.indexOf(closing);
  if (!text.startsWith("---\n") || end < 0) return { ok: false, why: "it has no front matter" };
  let envelope: unknown;
  try {
    envelope = parseYaml(text.slice("---\n".length, end + 1));
  } catch {
    return { ok: false, why: "its front matter is not YAML" };
  }
  if (!isEnvelope(envelope)) {
    const first = Value.Errors(MailEnvelope, envelope).First();
    return {
      ok: false,
      why: `its front matter is not that of a message: ${first?.path ?? ""} ${first?.message ?? ""}`,
    };
  }
  return { ok: true, message: { envelope, body: bodyOf(text) } };
}

/** The body in the text of a canonical file, exactly as it was written. */
export function bodyOf(text: string): string {
  const end = text.indexOf(closing);
  const rest = end < 0 ? "" : text.slice(end + closing.length);
  return rest.startsWith("\n") ? rest.slice(1) : rest;
}

const closing = "\n---\n";

function renderField(key: string, value: unknown): string {
  if (!Array.isArray(value) || value.length === 0) return `${key}: ${scalar(value)}\n`;
  return `${key}:\n${value.map((item) => `  - ${scalar(item)}\n`).join("")}`;
}

/** JSON without the characters that YAML forbids or that break a line for some readers. */
function scalar(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
