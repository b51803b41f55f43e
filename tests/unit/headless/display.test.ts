import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { DisplayDetail, DisplayStyle } from "../../../src/protocol/turn-files.ts";
import { type Display, renderEvent, renderTurnStart } from "../../../src/services/headless/display.ts";
import { readLines, readRecording, recordedStreams } from "./recorded-streams.ts";

const plain: Display = { style: "plain", detail: "concise" };
const styles: DisplayStyle[] = ["plain", "json", "fancy"];
const details: DisplayDetail[] = ["concise", "detail"];
const displays: Display[] = styles.flatMap((style) => details.map((detail) => ({ style, detail })));

const show = (name: string, display: Display) =>
  readRecording(name)
    .events.map((event) => renderEvent(event, display))
    .join("");

const harbor = /^The harbor was quiet .* left on time\.$/;

test("plain and concise: answers, actions and the end", () => {
  const lines = show("claude/2.1.197/tool-ok", plain).split("\n");
  expect(lines[0]).toMatch(harbor);
  expect(lines.slice(1, 3)).toEqual([
    '> Bash {"command":"touch tool-out.txt","description":"Create a file"}',
    "< success: (Bash completed with no output)",
  ]);
  expect(lines[3]).toMatch(harbor);
  expect(lines.slice(4)).toEqual(["= success (tokens: 240 input, 96 output)", ""]);
});

test("a failure says what failed", () => {
  expect(show("codex/0.169.0/error", plain)).toBe("! mock failure 400\n= error: mock failure 400\n");
});

test("detail adds the session, progress and warnings, but no piece of an answer twice", () => {
  const shown = show("gemini/0.61.0/long", { style: "plain", detail: "detail" });
  expect(shown).toStartWith("- session ddac7ff8-dd35-4266-b3ed-9ce57edfc633\n");
  expect(shown.match(/harbor was quiet/g)).toHaveLength(1);
});

test("json is one object a line; the tool's own record only in detail", () => {
  for (const detail of details) {
    const lines = show("codex/0.169.0/ok", { style: "json", detail }).trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line));
    expect(events.map(({ kind }) => kind)).toEqual([
      "session",
      "diagnostic",
      "progress",
      "assistant",
      "completion",
    ]);
    expect(events.every((event) => "raw_payload" in event)).toBe(detail === "detail");
  }
});

test("fancy is colour around the same words", () => {
  const shown = show("claude/2.1.197/tool-ok", { style: "fancy", detail: "concise" });
  expect(shown).toContain("\x1b[36m→ Bash");
  expect(shown).toContain("\x1b[32m■ success");
});

test("a turn opens with its prompt, cut to one line when concise", () => {
  const start = { turnIndex: 3, prompt: `first\nsecond ${"x".repeat(300)}` };
  expect(renderTurnStart(start, plain)).toMatch(/^\nturn 3: first second x{186}…\n$/);
  expect(renderTurnStart(start, { style: "plain", detail: "detail" })).toContain("first\nsecond");
  expect(renderTurnStart(start, { style: "json", detail: "concise" })).toBe("");
  const huge = renderTurnStart(
    { turnIndex: 3, prompt: "x".repeat(8_000_000) },
    { style: "plain", detail: "detail" },
  );
  expect(huge.length).toBeLessThan(20_000);
});

describe("no control character of a tool reaches the terminal", () => {
  const ours = /\x1b\[(?:0|1|2|31|32|36)m/g;
  const forbidden = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

  test.each(displays)("$style, $detail", (display) => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        const { events } = readLines("claude", [
          text,
          JSON.stringify({ type: "assistant", message: { content: [{ type: "text", text }] } }),
          JSON.stringify({ type: "assistant", message: { content: [{ type: "thinking", thinking: text }] } }),
          JSON.stringify({
            type: "assistant",
            message: { content: [{ type: "tool_use", name: text, input: { text } }] },
          }),
          JSON.stringify({ type: text, subtype: text, result: text }),
          JSON.stringify({ type: "result", subtype: text, result: text, is_error: true }),
        ]);
        const shown = events.map((event) => renderEvent(event, display)).join("");
        const opened = renderTurnStart({ turnIndex: 1, prompt: text }, display);
        expect(`${opened}${shown}`.replace(ours, "")).not.toMatch(forbidden);
        expect(shown === "" || shown.endsWith("\n")).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  test("every recording shows in every style", () => {
    for (const name of recordedStreams()) {
      for (const display of displays) {
        expect(show(name, display).replace(ours, "")).not.toMatch(forbidden);
      }
    }
  });
});
