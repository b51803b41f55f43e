import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { CanonicalEvent } from "../../../src/protocol/turn-files.ts";
import { TurnEvent, toTurnEvent } from "../../../src/protocol/turns.ts";
import { TokenUsage } from "../../../src/protocol/usage.ts";
import { sumOf } from "../../../src/services/headless/turn-usage.ts";
import { decideVerdict } from "../../../src/services/headless/verdict.ts";
import { kindsOf, readRecording, recordedStreams } from "./recorded-streams.ts";

const harbor =
  "The harbor was quiet that morning. Small boats rocked against the pier while gulls circled overhead. " +
  "A keeper walked the wall, checked each lamp, and wrote the hour in a ledger. Nothing unusual was found. " +
  "By noon the tide had turned and the first ferry left on time.";

interface Golden {
  kinds: string;
  session: string;
  result: string | null;
  error: string | null;
  /** As the recording's process ended; `interrupted`: we had asked for it. */
  exitCode: number;
  interrupted?: true;
  status: "completed" | "failed" | "interrupted";
  /** Input and output tokens. */
  usage: [number, number] | null;
}

const golden: Record<string, Golden> = {
  "claude/2.1.197/error": {
    kinds: "session assistant completion",
    session: "7baa04a7-7292-4351-be29-21aa7a3798c8",
    result: "API Error: 400 mock failure 400",
    error: "API Error: 400 mock failure 400",
    exitCode: 1,
    status: "failed",
    usage: [0, 0],
  },
  "claude/2.1.197/ok": {
    kinds: "session assistant completion",
    session: "acdecca1-04e9-4bc6-a804-953103aa9c97",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 1],
  },
  "claude/2.1.197/partial": {
    kinds: "session progress passthrough*2 progress*48 assistant passthrough*3 completion",
    session: "146307c4-095c-4904-aed3-095673ac167c",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 48],
  },
  "claude/2.1.197/resume": {
    kinds: "session assistant completion",
    session: "acdecca1-04e9-4bc6-a804-953103aa9c97",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 1],
  },
  "claude/2.1.197/sigint": {
    kinds: "session assistant diagnostic completion",
    session: "1b14fc86-3798-42a0-9e11-30245ab0af43",
    result:
      "The harbor was quiet that morning. Small boats rocked against the pier while gulls circled overhead. " +
      "A keeper walked the wall, checked each",
    error: "error_during_execution (aborted_streaming)",
    exitCode: 0,
    interrupted: true,
    status: "interrupted",
    usage: [0, 0],
  },
  "claude/2.1.197/tool-ok": {
    kinds: "session assistant action_request action_result assistant completion",
    session: "5c823f7e-0239-46e7-8e83-9f6918a8fbc7",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 96],
  },
  "codex/0.169.0/error": {
    kinds: "session diagnostic progress diagnostic completion",
    session: "01a1fc1e-6644-7fb0-89c7-0f388b91a602",
    result: null,
    error: "mock failure 400",
    exitCode: 1,
    status: "failed",
    usage: null,
  },
  "codex/0.169.0/ok": {
    kinds: "session diagnostic progress assistant completion",
    session: "01a1fc1e-3c06-7173-9d58-7561fc2209dc",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 60],
  },
  "codex/0.169.0/resume": {
    kinds: "session diagnostic progress assistant completion",
    session: "01a1fc1e-3c06-7173-9d58-7561fc2209dc",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 120],
  },
  "codex/0.169.0/sigint": {
    kinds: "session diagnostic progress",
    session: "01a1fc1e-66e5-7080-adac-be8dd26c683c",
    result: null,
    error: null,
    exitCode: 1,
    interrupted: true,
    status: "interrupted",
    usage: null,
  },
  "codex/0.169.0/tool": {
    kinds: "session diagnostic progress assistant action_request action_result assistant completion",
    session: "01a1fc1e-3fd5-7f12-8d88-f22439c5c134",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 120],
  },
  "gemini/0.61.0/error": {
    kinds: "session passthrough completion",
    session: "d6c5085c-f2aa-46f5-bef1-1e38782c0df7",
    result: null,
    error: "mock failure 400",
    exitCode: 144,
    status: "failed",
    usage: [120, 60],
  },
  "gemini/0.61.0/long": {
    kinds: "session passthrough progress*48 assistant completion",
    session: "ddac7ff8-dd35-4266-b3ed-9ce57edfc633",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 120],
  },
  "gemini/0.61.0/ok": {
    kinds: "session passthrough progress assistant completion",
    session: "454aaaaf-a239-4beb-8587-bb44f5f314bd",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 120],
  },
  "gemini/0.61.0/resume": {
    kinds: "session passthrough progress assistant completion",
    session: "ddac7ff8-dd35-4266-b3ed-9ce57edfc633",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 120],
  },
  "gemini/0.61.0/sigint": {
    kinds: "session passthrough progress*20 assistant",
    session: "bbfb7373-ec00-4c14-a227-caa44179abb3",
    result:
      "The harbor was quiet that morning. Small boats rocked against the pier while gulls circled overhead. " +
      "A keeper walked the",
    error: null,
    exitCode: 0,
    interrupted: true,
    status: "interrupted",
    usage: null,
  },
  "gemini/0.61.0/tool": {
    kinds:
      "session passthrough progress*48 assistant action_request action_result progress*48 assistant completion",
    session: "e4d978b0-9da1-4105-b6e3-927fc74b8402",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [360, 180],
  },
  "opencode/1.18.33/error": {
    kinds: "session completion",
    session: "ses_e03d73324ffeXMg5tTTPXFUOsa",
    result: null,
    error: "APIError: mock failure 400",
    exitCode: 1,
    status: "failed",
    usage: null,
  },
  "opencode/1.18.33/ok": {
    kinds: "session progress assistant progress completion",
    session: "ses_e03d9254dffeU32KkFP3sty7bc",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 60],
  },
  "opencode/1.18.33/resume": {
    kinds: "session progress assistant progress completion",
    session: "ses_e03d9254dffeU32KkFP3sty7bc",
    result: "ok",
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 60],
  },
  "opencode/1.18.33/sigint": {
    kinds: "session progress",
    session: "ses_e03d7def3ffeTjlEmwzMCUDDqW",
    result: null,
    error: null,
    exitCode: 130,
    interrupted: true,
    status: "interrupted",
    usage: null,
  },
  "opencode/1.18.33/tool-denied": {
    kinds: "session progress assistant action_request action_result progress",
    session: "ses_e03d91322ffetxlPEttsyBl67Z",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [120, 60],
  },
  "opencode/1.18.33/tool-ok": {
    kinds: "session progress assistant action_request action_result progress*2 assistant progress completion",
    session: "ses_e03d8f841ffeOzRuUCunw7v68j",
    result: harbor,
    error: null,
    exitCode: 0,
    status: "completed",
    usage: [240, 120],
  },
};

/** Where a stream names them. */
const [opus, router, flash] = ["claude-opus-4-8[1m]", "gemini-3.5-flash-lite", "gemini-3.8-flash"];
const modelsOf: Record<string, string[]> = {
  ...Object.fromEntries(
    ["ok", "partial", "resume", "tool-ok"].map((one) => [`claude/2.1.197/${one}`, [opus]]),
  ),
  ...Object.fromEntries(
    ["long", "ok", "resume", "tool", "sigint"].map((one) => [`gemini/0.61.0/${one}`, [router, flash]]),
  ),
  "claude/2.1.197/resume": ["claude-opus-4-8"],
  "gemini/0.61.0/error": [router],
};

test("every recorded stream has a golden expectation and none is without a recording", () => {
  expect(Object.keys(golden).sort()).toEqual(recordedStreams());
});

describe.each(Object.entries(golden))("%s", (name, want) => {
  const { events, summary } = readRecording(name);

  test("its records become these kinds, in this order", () => {
    expect(kindsOf(events)).toBe(want.kinds);
  });

  test("session, answer, error and usage are read", () => {
    const { sessionId, resultText, errorText, usage } = summary;
    expect({ sessionId, resultText, errorText }).toEqual({
      sessionId: want.session,
      resultText: want.result,
      errorText: want.error,
    });
    expect(usage && [usage.input_tokens, usage.output_tokens]).toEqual(want.usage);
  });

  test("its last report of tokens by model adds up to its usage", () => {
    const reports = events.flatMap(({ data }) => (data?.["tokens"] === undefined ? [] : [data["tokens"]]));
    const tokens = (reports.at(-1) ?? []) as TokenUsage[];
    for (const one of tokens) expect([...Value.Errors(TokenUsage, one)]).toEqual([]);
    const { input_tokens, output_tokens } = sumOf(tokens);
    expect([input_tokens, output_tokens]).toEqual(want.usage ?? [0, 0]);
    expect(tokens.map(({ model }) => model)).toEqual(want.usage?.[0] ? (modelsOf[name] ?? [null]) : []);
  });

  test("its process's end gives this verdict", () => {
    const interruptRequested = want.interrupted === true;
    const facts = { summary, exitCode: want.exitCode, signal: null, interruptRequested, exited: true };
    expect(decideVerdict(facts).status).toBe(want.status);
  });

  test("every event keeps the shape of the wire and its message to one short line", () => {
    for (const event of events) {
      expect([...Value.Errors(CanonicalEvent, event)]).toEqual([]);
      expect([...Value.Errors(TurnEvent, toTurnEvent(event))]).toEqual([]);
      expect(event.message).not.toMatch(/[\n\r]/);
      expect([...event.message].length).toBeLessThanOrEqual(160);
      expect(event.turn_index).toBe(4);
      expect(event.session_id).toBe(want.session);
    }
  });
});

describe("the actions of the recordings", () => {
  const command = { command: "touch tool-out.txt", description: "Create a file" };
  const actions = (name: string) =>
    readRecording(name).events.filter(({ kind }) => kind === "action_request" || kind === "action_result");

  test.each([
    { name: "claude/2.1.197/tool-ok", id: "toolu_bs1tustt72r", tool: "Bash", given: command },
    {
      name: "gemini/0.61.0/tool",
      id: "run_shell_command__run_shell_command_1795231474621_0",
      tool: "run_shell_command",
      given: command,
    },
    {
      name: "codex/0.169.0/tool",
      id: "item_2",
      tool: "command_execution",
      given: { command: "/bin/bash -lc 'touch tool-out.txt'" },
    },
    { name: "opencode/1.18.33/tool-ok", id: "call_vq2ehsdfomj", tool: "bash", given: command },
  ])("$name: the request and its result carry the same id", ({ name, id, tool, given }) => {
    const [request, result, ...more] = actions(name);
    expect(more).toEqual([]);
    expect(request?.data).toMatchObject({ action_id: id, name: tool, arguments: given });
    expect(result?.data).toMatchObject({ action_id: id, status: "success" });
  });

  test("claude's tool result comes from the record of the user", () => {
    const result = actions("claude/2.1.197/tool-ok")[1];
    expect(result?.provider_event_type).toBe("user.tool_result");
    expect(result?.data?.["result_summary"]).toBe("(Bash completed with no output)");
  });

  test("a command's exit code is shown where the tool reports it", () => {
    expect(actions("codex/0.169.0/tool")[1]?.data?.["exit_code"]).toBe(0);
    expect(actions("opencode/1.18.33/tool-ok")[1]?.data?.["exit_code"]).toBe(0);
  });

  test("a denied tool is an error of the action, not of the turn", () => {
    expect(actions("opencode/1.18.33/tool-denied")[1]?.data).toMatchObject({
      status: "error",
      result_summary: "The user rejected permission to use this specific tool call.",
    });
  });
});

test("pieces of an answer come as they are written, the whole answer after them", () => {
  for (const name of ["gemini/0.61.0/long", "claude/2.1.197/partial"]) {
    const { events } = readRecording(name);
    const pieces = events.flatMap(({ data }) => (data && "text_delta" in data ? [data["text_delta"]] : []));
    expect(pieces.join("")).toBe(harbor);
    const answers = events.filter(({ kind }) => kind === "assistant").map(({ data }) => data?.["text"]);
    expect(answers).toEqual([harbor]);
  }
});
