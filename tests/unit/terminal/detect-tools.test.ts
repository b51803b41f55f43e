import { describe, expect, test } from "bun:test";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import { observationOf } from "../../../src/services/terminal/detect/explain.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { compiled, loadCorpus, observe, read } from "./corpus.ts";

const values = (observation: Observation, tool = "demo") =>
  Object.values(detect(observation, compiled(tool)).surface)
    .map((value) => value[0])
    .join("");

describe("opencode", () => {
  test.each([
    { version: "1.18.33", name: "ready-titled", want: true },
    { version: "1.18.27", name: "ready", want: true },
    { version: "1.18.33", name: "finished-titled", want: false },
    { version: "1.18.33", name: "new", want: true },
    { version: "1.18.33", name: "error-400", want: false },
  ])("$version $name has had no turn: $want", ({ version, name, want }) => {
    const one = loadCorpus().find(
      (it) => it.tool === "opencode" && it.version === version && it.name === name,
    );
    if (!one) throw new Error(name);
    expect(read(observe(one), "opencode").signals.untouched).toBe(want);
  });
});

describe("codex", () => {
  const corpus = loadCorpus();
  const screen = (name: string) => {
    const recording = corpus.find((one) => one.tool === "codex" && one.name === name);
    if (!recording) throw new Error(name);
    return recording;
  };

  test("a streaming answer whose question has scrolled away is busy without any title", () => {
    const busy = screen("busy");
    const raw = busy.raw.replace(">_ ", "   ").replace("OpenAI Codex", "some more").replace("› ", "  ");
    expect(read(observe({ ...busy, raw }), "codex").labels).toMatchObject({
      ready_posture: "no",
      phase: "active",
    });
  });

  test.each([
    {
      id: "a failed compaction",
      text: "Error running remote compact task: stream disconnected before completion",
      type: "codex_remote_compact_stream_disconnected",
    },
    {
      id: "a compaction that is too long",
      text: "compact failed: context_length_exceeded",
      type: "codex_remote_compact_context_length_exceeded",
    },
    {
      id: "a compaction the server refuses",
      text: "remote compact: unknown parameter x",
      type: "codex_remote_compact_unknown_parameter",
    },
    {
      id: "a compaction and a server error",
      text: "compact: server_error",
      type: "codex_remote_compact_server_error",
    },
    { id: "a compaction that failed otherwise", text: "compact task failed", type: "unknown" },
  ])("$id degrades the context, stays ready, and is no failed turn", ({ text, type }) => {
    const error = screen("error-500");
    const raw = error.raw.replace(/■ We.*errors\./, `■ ${text}`);
    const { signals } = read(observe({ ...error, raw }), "codex");
    expect(signals).toMatchObject({
      chatContext: "degraded",
      chatContextDiagnostic: { tool_name: "codex", degraded_error_type: type, message_preview: `■ ${text}` },
      knownFailure: false,
      successCandidate: false,
      surface: { ready_posture: "yes" },
    });
  });

  test("an error that does not speak of compaction leaves the context current", () => {
    expect(read(observe(screen("error-400")), "codex").signals).toMatchObject({
      chatContext: "current",
      successBlocked: true,
    });
  });

  test("an error that runs on over rows without an indent is read whole", () => {
    const error = screen("error-429");
    const rows = error.raw.split("\n");
    const at = rows.findIndex((row) => row.includes("■ exceeded"));
    const wrapped = (rows[at] ?? "").split(/(?<=limit,) /);
    const raw = [...rows.slice(1, at), ...wrapped, ...rows.slice(at + 1)].join("\n");
    expect(wrapped).toHaveLength(2);
    expect(read(observe({ ...error, raw }), "codex").signals).toMatchObject({
      currentError: "■ exceeded retry limit, last status: 429 Too Many Requests",
      successBlocked: true,
      successCandidate: false,
    });
  });

  test("a server that starts is neither idle nor a turn", () => {
    const ready = screen("ready");
    const rows = ready.raw.split("\n");
    const above = (ready.cursor_row ?? 0) - 2;
    const raw = rows.with(above, `${rows[above]}• Booting MCP server: x (0s • esc to interrupt)`).join("\n");
    const { labels, signals } = read(observe({ ...ready, raw }), "codex");
    expect(signals.activeReasons).toEqual([]);
    expect(labels).toMatchObject({ ready_posture: "no", phase: "unknown" });
  });
});

describe("claude", () => {
  const ready = loadCorpus().find((one) => one.tool === "claude" && one.name === "ready");
  if (!ready) throw new Error("no recording");
  const emptyComposer = /❯[ \u00a0]\x1b\[7m\n/u;
  const composer = (payload: string) => {
    expect(ready.raw).toMatch(emptyComposer);
    return { ...ready, raw: ready.raw.replace(emptyComposer, `❯ ${payload}\n`) };
  };

  test.each([
    { id: "dim text is a placeholder", payload: '\x1b[2mTry "fix the tests"\x1b[0m', want: "ynyn" },
    { id: "a placeholder under the drawn cursor", payload: '\x1b[7mT\x1b[0;2mry "fix"\x1b[0m', want: "ynyn" },
    { id: "plain text is a draft", payload: "Try it", want: "yynn" },
    { id: "a draft with a dim completion is a draft", payload: "Try\x1b[2m it\x1b[0m", want: "yynn" },
    {
      id: "text in a colour is a draft",
      payload: "\x1b[38;2;177;185;249m[Pasted text #1 +9 lines]\x1b[39m",
      want: "yynn",
    },
  ])("$id", ({ payload, want }) => {
    expect(values(observe(composer(payload)), "claude")).toBe(want);
  });
});

describe("a usage limit parks the agent", () => {
  const corpus = loadCorpus();
  const places = {
    claude: { from: "error-400", row: /● API Error.*/u },
    codex: { from: "error-500", row: /■ We.*/u },
    gemini: { from: "error-400", row: /✕ \[API Error.*/u },
  };
  test.each([
    { tool: "claude", text: "● You've hit your limit · resets 3pm (UTC)", time: "3pm (UTC)" },
    {
      tool: "claude",
      text: "  ⎿  You've hit your session limit · resets 8:30pm (Asia/Tokyo)\n     /upgrade to get more",
      time: "8:30pm (Asia/Tokyo) /upgrade to get more",
    },
    {
      tool: "claude",
      text: "  ⎿  You’ve hit your limit · resets May 5 at 9pm (America/New_York)",
      time: "May 5 at 9pm (America/New_York)",
    },
    { tool: "claude", text: "● Claude usage limit reached. Your limit will reset at 9pm", time: "9pm" },
    { tool: "claude", text: "  ⎿  5-hour limit reached ∙ resets 3pm", time: "3pm" },
    { tool: "claude", text: "  ⎿  You're out of extra usage · resets 10am", time: "10am" },
    { tool: "claude", text: "● You've reached your weekly limit", time: null },
    {
      tool: "codex",
      text: "■ You've hit your usage limit. Upgrade, or try again at 3:05 PM.",
      time: "3:05 PM",
    },
    {
      tool: "codex",
      text: "■ You've hit your usage limit. Upgrade to more, or try\n  again in 2 days 3 hours.",
      time: "2 days 3 hours",
    },
    {
      tool: "codex",
      text: "■ You’ve hit your usage limit. Upgrade to Pro, or try again in 5 days 22 hours 11\nminutes.",
      time: "5 days 22 hours 11 minutes",
    },
    {
      tool: "codex",
      text: "■ You've hit your usage limit. Visit the settings to purchase more credits or try\nagain at Nov 28th, 2026 5:04 PM.",
      time: "Nov 28th, 2026 5:04 PM",
    },
    { tool: "codex", text: "■ You've hit your usage limit. Try again later.", time: null },
    {
      tool: "gemini",
      text: "✕ [API Error: You have exhausted your capacity on this model. Your quota will reset after 12h22m45s.]",
      time: "12h22m45s.]",
    },
    {
      tool: "gemini",
      text: "Usage limit reached for all Pro models.\n  Access resets at 11:00 AM GMT+2.",
      time: "11:00 AM GMT+2.",
    },
  ] as { tool: keyof typeof places; text: string; time: string | null }[])(
    "$tool: $text",
    ({ tool, text, time }) => {
      const { from, row } = places[tool];
      const recording = corpus.find((one) => one.tool === tool && one.name === from);
      if (!recording) throw new Error(from);
      const plain = recording.raw.replaceAll(/\x1b\[[0-9;]*m/gu, "");
      const raw = tool === "codex" ? recording.raw : plain;
      const lines = raw.replace(row, text).split("\n").slice(0, 36).join("\n");
      const observation = observationOf({ raw: lines, tool: compiled(tool), title: null, cursorRow: null });
      const notice = text.replace(/\s+/gu, " ").trim();
      expect(detect(observation, compiled(tool)).parked).toEqual({ notice, shownTime: time });
    },
  );
});

describe("words of an answer are not the tool's own", () => {
  test.each([
    {
      id: "gemini's status row, indented like an answer",
      tool: "gemini",
      from: "finished",
      quote: "  ⠋ Thinking... (esc to cancel, 3s)",
    },
    { id: "gemini's queue, not dim", tool: "gemini", from: "finished", quote: "  Queued (press ↑ to edit):" },
    { id: "a prompt that says QUEUED to opencode", tool: "opencode", from: "finished", quote: "  ┃  QUEUED" },
    {
      id: "claude's spinner row inside an answer",
      tool: "claude",
      from: "finished",
      quote: "  ✻ Processing… (1s · ↓ 5 tokens)",
    },
    {
      id: "codex's status row before the closing row",
      tool: "codex",
      from: "finished",
      quote: "• Working (5s • esc to interrupt)",
    },
    {
      id: "codex's queue before the closing row",
      tool: "codex",
      from: "finished",
      quote: "• Queued follow-up inputs",
    },
  ])("$id", ({ tool, from, quote }) => {
    const recording = loadCorpus().find((one) => one.tool === tool && one.name === from);
    if (!recording) throw new Error(from);
    const rows = recording.raw.split("\n");
    const at = rows.findLastIndex((row) => row.includes("noon the tide") || row.includes("By noon the tide"));
    const raw = rows.with(at, `\x1b[0m${quote}`).join("\n");
    expect(read(observe({ ...recording, raw }), tool).labels).toMatchObject({
      ready_posture: "yes",
      pending_input: "no",
      phase: "ready",
    });
  });
});
