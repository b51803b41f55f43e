import { describe, expect, test } from "bun:test";
import type { RequestPermissionRequest } from "@agentclientprotocol/sdk";
import type { PermissionPolicy } from "../../../src/protocol/acp-launch.ts";
import { loadDelayMs } from "../../../src/services/extensions/bridges/acp/agent-session.ts";
import {
  answerOfPolicy,
  decidePermission,
  toAskedCall,
  toDecision,
} from "../../../src/services/extensions/bridges/acp/permission.ts";
import { refuseModel } from "../../../src/services/headless/provider.ts";
import { headlessProvider } from "../../../src/services/headless/providers.ts";
import { createOpenToolCalls } from "../../../src/services/headless/tool-calls.ts";

const policy: PermissionPolicy = [
  { action: "deny", title: "*rm -rf*" },
  { action: "allow", kinds: ["read", "search"] },
  { action: "allow", kinds: ["execute"], title: "git status" },
];

test.each([
  { id: "the first rule that fits", kind: "read", title: "cat; RM -RF /", want: "deny" },
  { id: "a kind alone", kind: "search", title: "anything", want: "allow" },
  { id: "a whole title", kind: "execute", title: "git status", want: "allow" },
  { id: "not a part of one", kind: "execute", title: "git status; curl", want: "ask" },
  { id: "no rule", kind: "edit", title: "x", want: "ask" },
])("a policy: $id", ({ kind, title, want }) => {
  expect(decidePermission(policy, { kind, title, texts: [] })).toBe(want as never);
});

test.each([
  { id: "an input denies what the title hides", title: "tidy up", texts: ["rm -rf /"], want: "deny" },
  { id: "an input allows nothing", title: "x", texts: ["git status"], want: "ask" },
  { id: "nothing is shown", title: "", texts: [], want: "deny" },
  { id: "a title alone is shown", title: "x", texts: [], want: "ask" },
  { id: "an input alone is shown", title: "", texts: ["ls"], want: "ask" },
])("a policy: $id", ({ title, texts, want }) => {
  expect(decidePermission(policy, { kind: "execute", title, texts })).toBe(want as never);
});

test("a rule of the operator fits what shows nothing", () => {
  const call = { kind: "read", title: "", texts: [] };
  expect(decidePermission([{ action: "allow", kinds: ["read"] }], call)).toBe("allow");
  expect(decidePermission([{ action: "ask" }], call)).toBe("ask");
  expect(decidePermission([{ action: "allow", title: "*" }], call)).toBe("deny");
});

// With backtracking it would not end.
test("a pattern of many stars ends on a long text", () => {
  const title = "a".repeat(200_000);
  const rules: PermissionPolicy = [{ action: "allow", title: `${"*a".repeat(400)}*b` }];
  expect(decidePermission(rules, { kind: "execute", title, texts: [] })).toBe("ask");
});

test.each([
  { id: "at once by default", load: undefined, nowMs: 59_000, lastUseMs: null, want: 0 },
  { id: "in the minute of the last use", load: "next_minute", nowMs: 59_000, lastUseMs: 1000, want: 1100 },
  { id: "in a later minute", load: "next_minute", nowMs: 61_000, lastUseMs: 59_000, want: 0 },
  { id: "after a use by another bridge", load: "next_minute", nowMs: 61_000, lastUseMs: null, want: 59_100 },
] as const)("a load waits: $id", ({ want, ...facts }) => {
  expect(loadDelayMs(facts)).toBe(want);
});

test("a model is refused rather than ignored", () => {
  const provider = headlessProvider("any-acp");
  const model = { name: "big", level: null };
  expect(provider && refuseModel(provider, { model, args: [] })).toContain("its own configuration");
});

describe("what a policy answers", () => {
  type Options = RequestPermissionRequest["options"];
  const once: Options = [
    { optionId: "a", name: "Always", kind: "allow_always" },
    { optionId: "o", name: "Once", kind: "allow_once" },
    { optionId: "n", name: "No", kind: "reject_once" },
  ];

  test("allows for this once, and refuses for this once", () => {
    expect(answerOfPolicy("allow", once)).toEqual({ outcome: { outcome: "selected", optionId: "o" } });
    expect(answerOfPolicy("deny", once)).toEqual({ outcome: { outcome: "selected", optionId: "n" } });
  });

  test("never agrees for all time: a person must; a refusal that is not offered cancels", () => {
    expect(answerOfPolicy("allow", once.slice(0, 1))).toBeNull();
    expect(answerOfPolicy("deny", once.slice(0, 1))).toEqual({ outcome: { outcome: "cancelled" } });
  });
});

describe("the messages of a turn", () => {
  const read = (lines: readonly object[], sessionId?: string) => {
    const parser = headlessProvider("any-acp")?.parser({ turnIndex: 1, ...(sessionId ? { sessionId } : {}) });
    if (!parser) throw new Error("no provider");
    const events = lines.flatMap((line) =>
      parser.line(JSON.stringify({ jsonrpc: "2.0", ...line }), "2026-01-01T00:00:00Z"),
    );
    return { events: [...events, ...parser.end("2026-01-01T00:00:01Z")], summary: parser.summary() };
  };
  const update = (sessionId: string, fields: object) => ({
    method: "session/update",
    params: { sessionId, update: fields },
  });
  const chunk = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

  test("pieces of an answer are one answer; a tool call has a request and a result", () => {
    const call = { toolCallId: "c", title: "ls", kind: "execute" };
    const { events, summary } = read([
      update("one", chunk("I ")),
      update("one", chunk("look.")),
      update("one", { sessionUpdate: "tool_call", ...call, status: "pending" }),
      update("one", { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" }),
      update("one", { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" }),
      update("one", chunk("Done.")),
      { id: 3, result: { stopReason: "end_turn" } },
    ]);
    expect(events.map(({ kind }) => kind)).toEqual([
      "progress",
      "progress",
      "assistant",
      "action_request",
      "action_result",
      "progress",
      "assistant",
      "completion",
    ] as never);
    expect(summary).toMatchObject({ terminal: "success", sessionId: "one", historySummary: "Done." });
  });

  test.each([
    {
      id: "opencode and the adapters",
      result: { usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } },
    },
    {
      id: "gemini 0.61.0",
      result: { _meta: { quota: { token_count: { input_tokens: 5, output_tokens: 2, total_tokens: 7 } } } },
    },
  ])("tokens as $id count them", ({ result }) => {
    const { summary } = read([{ id: 3, result: { stopReason: "end_turn", ...result } }]);
    expect(summary.usage).toMatchObject({ input_tokens: 5, output_tokens: 2, total_tokens: 7 });
  });

  // The model counted 115 that it read, 9 of them cached and 3 written to the cache, and 4 that it wrote, 3
  // of them thoughts.
  const counted = (fields: object) => ({
    model: null,
    input_tokens: 115,
    cached_input_tokens: 9,
    cache_write_tokens: 0,
    output_tokens: 4,
    reasoning_tokens: 3,
    ...fields,
  });
  const quota = (model: string) => ({ _meta: { quota: { model_usage: [{ model, token_count: {} }] } } });
  test.each([
    {
      id: "claude-agent-acp 0.101.0",
      result: {
        usage: {
          inputTokens: 103,
          outputTokens: 4,
          cachedReadTokens: 9,
          cachedWriteTokens: 3,
          totalTokens: 119,
        },
        ...quota("claude-opus-5-5"),
      },
      want: counted({ model: "claude-opus-5-5", cache_write_tokens: 3, reasoning_tokens: 0 }),
    },
    {
      id: "codex-acp 2.6.0",
      result: {
        usage: {
          totalTokens: 119,
          inputTokens: 106,
          cachedReadTokens: 9,
          cachedWriteTokens: 0,
          outputTokens: 4,
          thoughtTokens: 3,
        },
        ...quota("mock-model"),
      },
      want: counted({ model: "mock-model" }),
    },
    {
      id: "opencode 1.18.33",
      result: {
        usage: { inputTokens: 106, outputTokens: 1, totalTokens: 119, thoughtTokens: 3, cachedReadTokens: 9 },
      },
      want: counted({}),
    },
    {
      id: "gemini 0.61.0",
      result: {
        _meta: {
          quota: {
            token_count: { input_tokens: 115, output_tokens: 1 },
            model_usage: [{ model: "gemini-3.8-flash", token_count: {} }],
          },
        },
      },
      want: counted({
        model: "gemini-3.8-flash",
        cached_input_tokens: 0,
        output_tokens: 1,
        reasoning_tokens: 0,
      }),
    },
  ])("the tokens of a turn by one rule, from $id", ({ result, want }) => {
    const { events } = read([{ id: 3, result: { stopReason: "end_turn", ...result } }]);
    expect(events.at(-1)?.data?.["tokens"]).toEqual([want]);
  });

  test.each([
    { tool: "opencode-acp", want: undefined },
    { tool: "claude-agent-acp", want: [expect.objectContaining({ output_tokens: 2 })] },
  ])("the last call alone, as $tool counts a turn with a tool", ({ tool, want }) => {
    const parser = headlessProvider(tool)?.parser({ turnIndex: 1, sessionId: "s" });
    const update = { sessionUpdate: "tool_call", toolCallId: "1", title: "ls", status: "completed" };
    const lines = [
      { method: "session/update", params: { sessionId: "s", update } },
      {
        id: 1,
        result: { stopReason: "end_turn", usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 } },
      },
    ];
    const events = lines.flatMap(
      (line) => parser?.line(JSON.stringify({ jsonrpc: "2.0", ...line }), "2026-01-01T00:00:00.000Z") ?? [],
    );
    expect(events.at(-1)?.data?.["tokens"]).toEqual(want);
  });

  test("an error has its details, a cancelled turn says so", () => {
    const failed = read([
      { id: 3, error: { code: -32603, message: "Internal error", data: { details: "no quota" } } },
    ]);
    expect(failed.summary).toMatchObject({ terminal: "error", errorText: "Internal error: no quota" });
    const cancelled = read([{ id: 3, result: { stopReason: "cancelled" } }]);
    expect(cancelled.summary).toMatchObject({ terminal: "error", errorText: "the agent cancelled the turn" });
  });

  test("a call whose input comes later is reported once, with its input", () => {
    const call = { toolCallId: "c", kind: "execute" };
    const { events } = read([
      update("one", {
        sessionUpdate: "tool_call",
        ...call,
        name: "Bash",
        title: "Terminal",
        rawInput: {},
        status: "pending",
      }),
      update("one", {
        sessionUpdate: "tool_call_update",
        toolCallId: "c",
        title: "touch it",
        rawInput: { command: "touch it" },
      }),
      update("one", { sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed" }),
      update("one", { sessionUpdate: "tool_call", toolCallId: "d", title: "never run", status: "pending" }),
      { id: 3, result: { stopReason: "end_turn" } },
    ]);
    const actions = events.filter(({ kind }) => kind.startsWith("action"));
    expect(actions.map(({ kind, data }) => [kind, data?.["action_id"]])).toEqual([
      ["action_request", "c"],
      ["action_result", "c"],
      ["action_request", "d"],
    ]);
    expect(actions.map(({ data }) => data?.["arguments"])).toEqual([
      { command: "touch it" },
      undefined,
      "never run",
    ]);
  });

  test("pieces of different messages are different answers", () => {
    const { events, summary } = read([
      update("one", chunk("Warning: no metadata.\n\n")),
      update("one", { ...chunk("Do"), messageId: "m1" }),
      update("one", { ...chunk("ne."), messageId: "m1" }),
      { id: 3, result: { stopReason: "end_turn" } },
    ]);
    const answers = events.filter(({ kind }) => kind === "assistant").map(({ message }) => message);
    expect(answers).toEqual(["Warning: no metadata.", "Done."]);
    expect(summary.resultText).toBe("Done.");
  });

  test("a turn that codex-acp ends after an error of the model has failed with the error that it printed", () => {
    const state = (type: string) =>
      update("one", { sessionUpdate: "session_info_update", _meta: { codex: { threadStatus: { type } } } });
    const said = [update("one", chunk('{"error":{"message":"no quota"}}\n\n'))];
    const end = { id: 3, result: { stopReason: "end_turn", usage: null } };
    const failed = read([state("active"), state("systemError"), ...said, end]);
    expect(failed.summary).toMatchObject({ terminal: "error", errorText: "no quota" });
    expect(read([state("systemError"), state("active"), ...said, end]).summary.terminal).toBe("success");
  });

  test("no answer contains updates of another conversation", () => {
    const { summary } = read([update("two", chunk("no")), update("one", chunk("yes"))], "one");
    expect(summary).toMatchObject({ resultText: "yes", sessionId: "one" });
  });
});

describe("a permission request", () => {
  const sessionId = "s";
  type Update = Record<string, unknown>;
  const call = (fields: Update): Update => ({ sessionUpdate: "tool_call", toolCallId: "call_1", ...fields });
  const update = (fields: Update): Update => ({ ...call(fields), sessionUpdate: "tool_call_update" });
  const rm = call({ title: "Bash", kind: "execute", rawInput: { command: "rm -rf build" } });

  function questionAfter(updates: readonly Update[], asked: Update = {}): string {
    const calls = createOpenToolCalls();
    for (const one of updates) calls.note({ sessionId, update: one }, 100);
    const toolCall = calls.complete(sessionId, { toolCallId: "call_1", ...asked });
    const request = { sessionId, toolCall, options: [] } as unknown as RequestPermissionRequest;
    return toDecision(request, { id: "1", sinceUtc: "2026-01-01T00:00:00.000+00:00" }).question;
  }
  const nothing = questionAfter([]);

  test.each([
    { id: "the call before it", updates: [rm], want: 'Bash: {"command":"rm -rf build"}' },
    {
      id: "an update of the call",
      updates: [call({ title: "Bash", rawInput: {} }), update({ rawInput: { command: "ls" }, title: null })],
      want: 'Bash: {"command":"ls"}',
    },
    {
      id: "content alone",
      updates: [
        call({ title: "Bash", content: [{ type: "content", content: { type: "text", text: "rm x" } }] }),
      ],
      want: "Bash: rm x",
    },
    {
      id: "its own content",
      updates: [],
      asked: { title: "Edit", content: [{ type: "diff", path: "/etc/hosts", oldText: "a", newText: "b c" }] },
      want: "Edit: /etc/hosts: b c",
    },
    { id: "paths", updates: [call({ title: "Read", locations: [{ path: "/x/y" }] })], want: "Read: /x/y" },
    {
      id: "an empty input does not hide the known one",
      updates: [rm],
      asked: { title: "", rawInput: {} },
      want: 'Bash: {"command":"rm -rf build"}',
    },
    {
      id: "the longer title where no input is known",
      updates: [call({ title: "rm -rf build" })],
      asked: { title: "Bash" },
      want: "Bash: rm -rf build",
    },
    { id: "not a call that has ended", updates: [rm, update({ status: "completed" })], want: nothing },
    {
      id: "not a call that has failed",
      updates: [rm, update({ status: "failed" }), update({ title: "late" })],
      want: nothing,
    },
    { id: "a new call of the id, not the earlier", updates: [rm, call({ title: "Read" })], want: "Read" },
    { id: "not a call of another conversation", updates: [{ ...rm, toolCallId: "call_2" }], want: nothing },
    { id: "not its id as a title", updates: [], asked: { title: "call_1" }, want: nothing },
    {
      id: "no title of control characters",
      updates: [],
      asked: { title: "\u001b[2J \u0000" },
      want: nothing,
    },
  ])("shows $id", ({ updates, asked = {}, want }) => {
    expect(questionAfter(updates, asked)).toBe(want);
  });

  test("is of one conversation", () => {
    const calls = createOpenToolCalls();
    calls.note({ sessionId: "other", update: rm }, 100);
    expect(calls.complete(sessionId, { toolCallId: "call_1" })).toEqual({ toolCallId: "call_1" });
  });

  test("forgets the oldest calls when they are too large together, and all of them when it is cleared", () => {
    const calls = createOpenToolCalls();
    for (let at = 0; at < 10; at++)
      calls.note({ sessionId, update: call({ toolCallId: `call_${at}`, title: `title ${at}` }) }, 2_000_000);
    const known = () =>
      Array.from({ length: 10 }, (_, at) => at).filter(
        (at) => calls.complete(sessionId, { toolCallId: `call_${at}` })["title"] !== undefined,
      );
    expect(known()).toEqual([6, 7, 8, 9]);
    calls.clear();
    expect(known()).toEqual([]);
  });

  test("shows the end of a long command", () => {
    const command = `echo ${"x".repeat(5000)}; rm -rf build`;
    const question = questionAfter([call({ title: "Bash", rawInput: { command } })]);
    expect(question).toMatch(
      /^Bash: \{"command":"echo x.* … \(\d+ characters are not shown\) … x+; rm -rf build"\}$/,
    );
    expect(question.length).toBeLessThanOrEqual(2000);
  });

  test("an argument vector fits a rule as one line", () => {
    const asked = toAskedCall({
      sessionId,
      options: [],
      toolCall: {
        toolCallId: "c",
        title: "tidy",
        rawInput: { argv: ["rm", "-rf", "/"], nested: [[{ a: 1 }]] },
      },
    });
    expect(decidePermission([{ action: "deny", title: "rm -rf *" }], asked)).toBe("deny");
  });
});
