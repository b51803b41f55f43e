import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  parsePayload,
  toReportedEvent,
} from "../../../../../src/services/extensions/bridges/signals/tool-events.ts";

const recordings = join(import.meta.dir, "../../../../signals");

/** What was sent to the hook command by the real CLI, in the order in which it came. */
function recorded(tool: string, version: string) {
  const folder = join(recordings, tool, version);
  return readdirSync(folder)
    .sort()
    .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
}

/** One line for each recorded payload: what it reports. */
const told = (tool: string, version: string) =>
  recorded(tool, version).map(({ name, text }) => {
    const event = toReportedEvent(tool, parsePayload(text));
    return `${name.slice(3, -5)}: ${event === null ? "nothing" : [event.kind, event.prompt, event.action].filter((one) => one !== null).join(" ")}`;
  });

const claudeDay = (pasted: string) => [
  "start-SessionStart: session_started",
  "first-UserPromptSubmit: prompt_submitted Hello FAST",
  "first-Stop: turn_ended",
  `multiline-UserPromptSubmit: prompt_submitted ${pasted}`,
  "multiline-Stop: turn_ended",
  "tool-UserPromptSubmit: prompt_submitted Do RUNTOOL",
  "tool-PreToolUse: tool_started Bash",
  "tool-PermissionRequest: question_asked Bash",
  "answer-PostToolUse: tool_finished Bash",
  "answer-Stop: turn_ended",
  "interrupt-UserPromptSubmit: prompt_submitted Go SLOWTURN",
  "fail-UserPromptSubmit: prompt_submitted Now FAIL400",
  "fail-StopFailure: turn_failed",
  "clear-SessionEnd: session_ended",
  "clear-SessionStart: session_started",
  "again-UserPromptSubmit: prompt_submitted Again FAST",
  "again-Stop: turn_ended",
  "exit-SessionEnd: session_ended",
];
const lines = "line one\nline two with ünïcode \u{1f600}\n\nlast FAST";

test.each([
  {
    id: "claude 2.1.330",
    pasted: `\n\n<pasted_content id="4a0f">\n${lines}\n</pasted_content id="4a0f">\n`,
  },
  { id: "claude 2.1.150", pasted: lines },
])("$id reports each step of its day", ({ id, pasted }) => {
  const [tool = "", version = ""] = id.split(" ");
  expect(told(tool, version)).toEqual(claudeDay(pasted));
});

test("claude 2.1.332 reports the turns that it begins by itself, and what goes on beside a turn", () => {
  expect(told("claude", "2.1.332")).toEqual([
    "shell-asked-UserPromptSubmit: prompt_submitted Do the BGSHELL thing",
    "shell-asked-Stop: turn_ended",
    "shell-own-UserPromptSubmit: own_turn_started",
    "shell-own-Stop: turn_ended",
    "subagent-asked-UserPromptSubmit: prompt_submitted Do the BGAGENT thing",
    "subagent-asked-Stop: turn_ended",
    "subagent-own-UserPromptSubmit: own_turn_started",
    "subagent-own-Stop: turn_ended",
  ]);
  const background = recorded("claude", "2.1.332").flatMap(({ text }) => {
    const event = toReportedEvent("claude", parsePayload(text));
    return event?.kind === "turn_ended" ? [event.background] : [];
  });
  expect(background).toEqual([["shell: Sleep"], undefined, ["subagent: count things"], undefined]);
});

test("codex reports the ends of turns with the turn's own prompt, and nothing of its title turns", () => {
  expect(told("codex", "0.169.0")).toEqual([
    "first-notify: turn_ended Hello FAST",
    "first-notify: nothing",
    `multiline-notify: turn_ended ${lines}`,
    "answer-notify: turn_ended Do RUNTOOL ESCALATE",
    "again-notify: turn_ended Again FAST",
    "again-notify: nothing",
  ]);
});

test("ids, the last message and the transcript come with the end of a turn", () => {
  const [, prompt, stop] = recorded("claude", "2.1.330").map(({ text }) =>
    toReportedEvent("claude", JSON.parse(text)),
  );
  expect(stop).toEqual({
    kind: "turn_ended",
    session_id: "c4d73d42-006c-4e5a-b1c6-7a26c46b77a7",
    turn_id: "0e9110c2-d3ce-4a02-8757-74307542b823",
    prompt: null,
    message: "ok",
    action: null,
    transcript_path: "/home/user/.claude/projects/-home-user-work/c4d73d42-006c-4e5a-b1c6-7a26c46b77a7.jsonl",
  });
  expect(prompt?.turn_id).toBe(stop?.turn_id ?? "?");
  const notified = toReportedEvent("codex", JSON.parse(recorded("codex", "0.169.0")[0]?.text ?? ""));
  expect(notified).toMatchObject({
    session_id: "01a20939-1b62-7820-81e4-76c9623ef278",
    turn_id: "01a20939-1e9f-7fd0-a5c3-565027cf2ebc",
    message: "ok",
  });
});

test.each(["2.1.330", "2.1.150"])(
  "a question of claude %s comes with the command that it is about",
  (version) => {
    const asked = recorded("claude", version).find(({ name }) => name.includes("PermissionRequest"));
    expect(toReportedEvent("claude", parsePayload(asked?.text ?? ""))).toMatchObject({
      kind: "question_asked",
      message: "touch tool-out.txt",
      action: "Bash",
    });
  },
);

test.each([
  {
    id: "a file",
    input: { file_path: "/home/user/work/a.txt", content: "secret" },
    message: "/home/user/work/a.txt",
  },
  { id: "an address", input: { url: "http://localhost/", prompt: "read" }, message: "http://localhost/" },
  { id: "fields of another kind", input: { command: ["ls"] }, message: null },
  { id: "no object", input: "ls", message: null },
])("a question about $id names that alone", ({ input, message }) => {
  const payload = { hook_event_name: "PermissionRequest", tool_name: "Tool", tool_input: input };
  expect(toReportedEvent("claude", payload)?.message).toBe(message);
});

test.each([
  { id: "null", payload: null },
  { id: "a list", payload: [{ hook_event_name: "Stop" }] },
  { id: "a text", payload: "Stop" },
  { id: "an event that it does not know", payload: { hook_event_name: "TeammateIdle" } },
  { id: "an event of the prototype", payload: { hook_event_name: "constructor" } },
  { id: "another notification of codex", payload: { type: "approval-requested" } },
  { id: "fields of another kind", payload: { hook_event_name: ["Stop"] } },
])("$id reports nothing", ({ payload }) => {
  for (const tool of ["claude", "codex", "gemini", "demo", "kimi", "constructor"]) {
    expect(toReportedEvent(tool, payload)).toBeNull();
  }
});

test("fields of another kind are absent, the event stays", () => {
  expect(
    toReportedEvent("claude", {
      hook_event_name: "Stop",
      session_id: 7,
      prompt_id: null,
      transcript_path: {},
    }),
  ).toMatchObject({ kind: "turn_ended", session_id: null, turn_id: null, transcript_path: null });
});

test("a payload that was cut off keeps its kind and its ids", () => {
  for (const { name, text } of recorded("claude", "2.1.330")) {
    const whole = JSON.stringify(JSON.parse(text));
    const long = /,"(?:prompt|tool_input|last_assistant_message)":./.exec(whole);
    if (long === null) continue;
    const cut = toReportedEvent("claude", parsePayload(whole.slice(0, long.index + long[0].length)));
    const full = toReportedEvent("claude", JSON.parse(text));
    expect([name, cut]).toEqual([name, full && { ...full, prompt: null, message: null }]);
  }
  expect(parsePayload("")).toBeNull();
  expect(parsePayload('{"session_id":"x')).toBeNull();
});
