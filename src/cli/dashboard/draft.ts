import { dropControl } from "../../system/visible.ts";

/** A text that a person edits, cut at the cursor. */
export interface Draft {
  readonly before: string;
  readonly after: string;
}

export const textOf = ({ before, after }: Draft): string => before + after;

/** With the cursor at the end. */
export const draftOf = (text: string): Draft => ({ before: text, after: "" });

/** What is typed or pasted at the cursor; control characters but newlines and tabs are dropped. */
export function insert({ before, after }: Draft, text: string): Draft {
  return { before: before + dropControl(text), after };
}

/** The draft after an editing key, as shells have them; null when the key edits nothing. Pure. */
export function edit({ before, after }: Draft, key: string): Draft | null {
  const left = [...before];
  const right = [...after];
  switch (key) {
    case "Backspace":
      return { before: left.slice(0, -1).join(""), after };
    case "C-d":
      return { before, after: right.slice(1).join("") };
    case "Left":
    case "C-b":
      return { before: left.slice(0, -1).join(""), after: (left.at(-1) ?? "") + after };
    case "Right":
    case "C-f":
      return { before: before + (right[0] ?? ""), after: right.slice(1).join("") };
    case "Home":
    case "C-a":
      return { before: "", after: before + after };
    case "End":
    case "C-e":
      return { before: before + after, after: "" };
    case "C-u":
      return { before: "", after };
    case "C-k":
      return { before, after: "" };
    case "C-w":
      return { before: before.replace(/\S+\s*$/u, ""), after };
    case "C-j":
    case "M-Enter":
      return { before: `${before}\n`, after };
    default:
      return null;
  }
}
