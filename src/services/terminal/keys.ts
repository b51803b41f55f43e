/** The keys a caller may press (ruling 26), by the names tmux gives them. */
export const keyNames = [
  "Enter",
  "Escape",
  "Tab",
  "BSpace",
  "Up",
  "Down",
  "Left",
  "Right",
  "C-c",
  "C-d",
  "C-u",
  "C-z",
] as const;
export type KeyName = (typeof keyNames)[number];

export type KeyToken = { kind: "key"; name: KeyName } | { kind: "text"; text: string };

export type KeySequence =
  | { ok: true; tokens: KeyToken[] }
  | { ok: false; reason: "blank" | "unknown_key"; message: string };

/** A token: no blank and none of `<>[]` inside. Everything else, also `<[a b]>`, is literal text. */
const TOKEN = /<\[([^\s<>[\]]+)\]>/g;

/**
 * Reads the `<[key-name]>` grammar of send-keys. Names are case-sensitive; a well-formed token with another
 * name is an error that lists the valid ones, and then nothing is to be sent. `escapeSpecialKeys`: the whole
 * sequence is literal. No Enter is implied. Neighbouring tokens are never both text. Never throws.
 * Source: rulings 26; gateway 4.3.
 */
export function parseKeySequence(sequence: string, escapeSpecialKeys = false): KeySequence {
  if (sequence.trim() === "") return { ok: false, reason: "blank", message: "the key sequence is blank" };
  if (escapeSpecialKeys) return { ok: true, tokens: [{ kind: "text", text: sequence }] };
  const tokens: KeyToken[] = [];
  let start = 0;
  for (const match of sequence.matchAll(TOKEN)) {
    const name = match[1] ?? "";
    if (!isKeyName(name)) {
      const message = `unknown key <[${name}]>; valid names: ${keyNames.join(", ")}`;
      return { ok: false, reason: "unknown_key", message };
    }
    if (match.index > start) tokens.push({ kind: "text", text: sequence.slice(start, match.index) });
    tokens.push({ kind: "key", name });
    start = match.index + match[0].length;
  }
  if (start < sequence.length) tokens.push({ kind: "text", text: sequence.slice(start) });
  return { ok: true, tokens };
}

function isKeyName(name: string): name is KeyName {
  return (keyNames as readonly string[]).includes(name);
}
