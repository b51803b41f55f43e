import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type KeyToken, keyNames, parseKeySequence } from "../../../src/services/terminal/keys.ts";

const text = (value: string): KeyToken => ({ kind: "text", text: value });
const key = (name: (typeof keyNames)[number]): KeyToken => ({ kind: "key", name });

describe("the send-keys grammar", () => {
  const cases: { id: string; sequence: string; literal?: boolean; want: KeyToken[] }[] = [
    { id: "plain text is literal and implies no Enter", sequence: "ls -l", want: [text("ls -l")] },
    { id: "a token is a key", sequence: "<[Enter]>", want: [key("Enter")] },
    {
      id: "text and keys keep their order",
      sequence: "/model<[Enter]><[Down]>x<[C-c]>",
      want: [text("/model"), key("Enter"), key("Down"), text("x"), key("C-c")],
    },
    { id: "a token with a blank inside is literal", sequence: "<[Enter ]>", want: [text("<[Enter ]>")] },
    { id: "an empty token is literal", sequence: "<[]>", want: [text("<[]>")] },
    { id: "an unclosed token is literal", sequence: "<[Enter]", want: [text("<[Enter]")] },
    { id: "brackets inside a token make it literal", sequence: "<[a[b]>", want: [text("<[a[b]>")] },
    { id: "a token may follow a stray opening", sequence: "<[<[Up]>", want: [text("<["), key("Up")] },
    { id: "a token may be followed by a stray end", sequence: "<[Up]>]>", want: [key("Up"), text("]>")] },
    { id: "line feeds stay in the text", sequence: "a\nb", want: [text("a\nb")] },
    {
      id: "with the flag everything is literal",
      sequence: "<[Enter]><[nope]>",
      literal: true,
      want: [text("<[Enter]><[nope]>")],
    },
  ];
  test.each(cases)("$id", ({ sequence, literal, want }) => {
    expect(parseKeySequence(sequence, literal)).toEqual({ ok: true, tokens: want });
  });

  const refusals: { id: string; sequence: string; reason: string }[] = [
    { id: "a blank sequence is refused", sequence: "", reason: "blank" },
    { id: "a sequence of white space is refused", sequence: " \t\n", reason: "blank" },
    { id: "names are case-sensitive", sequence: "<[enter]>", reason: "unknown_key" },
    {
      id: "one unknown name refuses the whole sequence",
      sequence: "a<[Enter]><[F5]>",
      reason: "unknown_key",
    },
    { id: "a name of tmux that is not ours is refused", sequence: "<[S-Tab]>", reason: "unknown_key" },
  ];
  test.each(refusals)("$id", ({ sequence, reason }) => {
    expect(parseKeySequence(sequence)).toMatchObject({ ok: false, reason });
  });

  test("the refusal of a name lists the valid ones", () => {
    const parsed = parseKeySequence("<[F5]>");
    const message = parsed.ok ? "" : parsed.message;
    expect(message).toContain("<[F5]>");
    for (const name of keyNames) expect(message).toContain(name);
  });

  const part = fc.oneof(
    fc.constantFrom(...keyNames).map((name) => `<[${name}]>`),
    fc.constantFrom("<[", "]>", "<", "[", "]", ">", " ", "a"),
    fc.string({ minLength: 1, maxLength: 8 }),
  );
  const sequences = fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(""));

  test("what was read, written again, is the sequence", () => {
    fc.assert(
      fc.property(sequences, (sequence) => {
        const parsed = parseKeySequence(sequence);
        if (!parsed.ok) return;
        const written = parsed.tokens.map((token) =>
          token.kind === "key" ? `<[${token.name}]>` : token.text,
        );
        expect(written.join("")).toBe(sequence);
        expect(parsed.tokens.length).toBeGreaterThan(0);
      }),
    );
  });

  test("no two neighbours are text, no text is empty, and no text hides a valid token", () => {
    fc.assert(
      fc.property(sequences, (sequence) => {
        const parsed = parseKeySequence(sequence);
        if (!parsed.ok) return;
        parsed.tokens.forEach((token, index) => {
          if (token.kind !== "text") return;
          expect(token.text).not.toBe("");
          expect(parsed.tokens[index + 1]?.kind).not.toBe("text");
          for (const name of keyNames) expect(token.text).not.toContain(`<[${name}]>`);
        });
      }),
    );
  });
});
