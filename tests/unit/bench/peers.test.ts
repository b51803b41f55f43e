import { describe, expect, test } from "bun:test";
import {
  asksPermission,
  isAgentapiIdle,
  isCaoIdle,
  isSvcIdle,
  submissionOfAgentapi,
  submissionOfCao,
  submissionOfSvc,
} from "../../bench/peers/answers.ts";
import { countArrivals, saidByUser, toIdle } from "../../bench/peers/arrivals.ts";
import { peerEffort } from "../../bench/peers/effort.ts";
import { idleRows, lossRows, notMeasured, turnRows } from "../../bench/peers/report.ts";

const ok = (body: unknown) => ({ status: 200, body });

describe("an answer to a prompt", () => {
  test.each([
    { id: "svc stores it", got: submissionOfSvc({ status: 202, body: {} }), want: "accepted" },
    { id: "svc refuses it", got: submissionOfSvc({ status: 409, body: {} }), want: "refused" },
    { id: "cao stores it", got: submissionOfCao(ok({ success: true, message_id: 1 })), want: "accepted" },
    { id: "cao knows no such agent", got: submissionOfCao({ status: 404, body: {} }), want: "refused" },
    { id: "agentapi saw it begin", got: submissionOfAgentapi(ok({ ok: true })), want: "accepted" },
    {
      id: "agentapi is busy",
      got: submissionOfAgentapi({ status: 500, body: { detail: "running" } }),
      want: "refused",
    },
  ])("$id", ({ got, want }) => {
    expect<string>(got).toBe(want);
  });

  test("that is neither stops the bench instead of counting as accepted", () => {
    expect(() => submissionOfSvc(ok({}))).toThrow("unknown answer");
    expect(() => submissionOfCao(ok({ success: false }))).toThrow("unknown answer");
    expect(() => submissionOfAgentapi(ok(null))).toThrow("unknown answer");
  });
});

describe("a status", () => {
  test("of svc is idle when the terminal is ready and nothing is queued", () => {
    const idle = { terminal_surface_eligibility: "ready", queue_depth: 0 };
    expect(isSvcIdle(ok(idle))).toBe(true);
    expect(isSvcIdle(ok({ ...idle, queue_depth: 1 }))).toBe(false);
    expect(isSvcIdle(ok({ ...idle, terminal_surface_eligibility: "not_ready" }))).toBe(false);
  });

  test("of cao is idle also after a turn, and not while it waits for a person", () => {
    expect(["idle", "completed"].map((status) => isCaoIdle(ok({ status })))).toEqual([true, true]);
    const busy = ["unknown", "processing", "waiting_user_answer", "error"];
    expect(busy.map((status) => isCaoIdle(ok({ status })))).toEqual([false, false, false, false]);
  });

  test("of agentapi is idle when the screen is stable", () => {
    expect(isAgentapiIdle(ok({ status: "stable" }))).toBe(true);
    expect(isAgentapiIdle(ok({ status: "running" }))).toBe(false);
  });

  test("that no one knows stops the bench instead of counting as busy", () => {
    expect(() => isSvcIdle(ok({ detail: "gone" }))).toThrow("unknown status of svc");
    expect(() => isCaoIdle({ status: 500, body: { status: "done" } })).toThrow("unknown status of cao");
    expect(() => isAgentapiIdle(ok(null))).toThrow("unknown status of agentapi");
  });
});

test("a question of Claude Code is known by its selected first choice", () => {
  expect(asksPermission(" Do you want to proceed?\n ❯ 1. Yes\n   2. No")).toBe(true);
  expect(asksPermission("❯ \n  1. Yes")).toBe(false);
});

describe("the end of a turn at 1000", () => {
  const looks = (...said: [atMs: number, idle: boolean][]) => said.map(([atMs, idle]) => ({ atMs, idle }));
  const ended = (...said: [number, boolean][]) => toIdle({ endedMs: 1000, looks: looks(...said) });

  test("is seen at the first look from which on the agent is idle", () => {
    expect(ended([0, true], [20, false], [1040, false], [1060, true], [1080, true])).toBe(60);
  });

  test("is not seen while the status wavers", () => {
    expect(ended([20, false], [1040, true], [1060, false], [1300, true])).toBe(300);
  });

  test("that was reported before is no duration", () => {
    expect(ended([20, false], [900, true], [1040, true])).toBe("early");
  });

  test("of a turn that was never reported, or not to its end, is unseen", () => {
    expect(ended([20, true], [1040, true])).toBe("unseen");
    expect(ended([20, false], [1040, false])).toBe("unseen");
  });
});

describe("prompts", () => {
  const prompts = ["Prompt 0001: a", "Prompt 0002: b", "Prompt 0003: c"];

  test("that each came once are neither lost, repeated nor merged", () => {
    const growing = [prompts.slice(0, 1), prompts.slice(0, 2), prompts];
    expect(countArrivals(prompts, growing)).toEqual({ lost: [], repeated: [], merged: [] });
  });

  test("that never came, or not whole, are lost", () => {
    const { lost } = countArrivals(prompts, [["Prompt 0001: a", "Prompt 0002:"]]);
    expect(lost).toEqual(["Prompt 0002: b", "Prompt 0003: c"]);
  });

  test("that came within other words are there", () => {
    expect(countArrivals(["Prompt 0001: a"], [["<note>\nPrompt 0001: a\n</note>"]]).lost).toEqual([]);
  });

  test("that came twice in one conversation are repeated", () => {
    const { repeated } = countArrivals(prompts, [[...prompts, "Prompt 0002: b"]]);
    expect(repeated).toEqual(["Prompt 0002: b"]);
  });

  test("that came as one text are merged", () => {
    const { merged, lost } = countArrivals(prompts, [["Prompt 0001: aPrompt 0002: b", "Prompt 0003: c"]]);
    expect(merged).toEqual(["Prompt 0001: a", "Prompt 0002: b"]);
    expect(lost).toEqual([]);
  });
});

test("all that a request says in the user's role is read, without what tools gave", () => {
  const messages = [
    { role: "user", content: "first" },
    { role: "assistant", content: [{ type: "text", text: "answer" }] },
    {
      role: "user",
      content: [
        { type: "tool_result", content: "of a tool" },
        { type: "text", text: "<note>second</note>" },
      ],
    },
  ];
  expect(saidByUser({ messages })).toEqual(["first", "<note>second</note>"]);
  expect(saidByUser(null)).toEqual([]);
});

describe("the sizes", () => {
  const defaults = { prompts: 200, agents: 20, products: ["svc", "cao"] };

  test("are the defaults without flags, beside flags of others", () => {
    expect(peerEffort(["peers", "--quick", "--json"], defaults)).toEqual(defaults);
  });

  test("are those of the flags", () => {
    const words = ["peers", "--prompts", "40", "--agents", "3", "--products", "cao"];
    expect(peerEffort(words, defaults)).toEqual({ prompts: 40, agents: 3, products: ["cao"] });
  });

  test("that mean nothing are refused", () => {
    expect(() => peerEffort(["--prompts", "0"], defaults)).toThrow("--prompts");
    expect(() => peerEffort(["--agents", "few"], defaults)).toThrow("--agents");
    expect(() => peerEffort(["--products", "tmux"], defaults)).toThrow("no product tmux");
  });
});

describe("the report", () => {
  const values = (rows: { metric: string; value: number }[]) =>
    Object.fromEntries(rows.map(({ metric, value }) => [metric, value]));

  test("has no duration without a sample", () => {
    const times = { answer: [3, 1, 2], toModel: [5], toIdle: [], early: 1, unseen: 2 };
    expect(values(turnRows("cao", times))).toEqual({
      cao_answer_p50_ms: 2,
      cao_answer_p99_ms: 3,
      cao_to_model_p50_ms: 5,
      cao_to_model_p99_ms: 5,
      cao_idle_too_early: 1,
      cao_turns_unseen: 2,
    });
  });

  test("says of how many prompts some were lost", () => {
    const losses = { submitted: 40, refusals: 3, lost: ["a", "b"], repeated: ["c"], merged: [] };
    expect(values(lossRows("cao", losses))).toEqual({
      cao_prompts_submitted: 40,
      cao_prompts_lost: 2,
      cao_prompts_repeated: 1,
      cao_prompts_merged: 0,
      cao_prompts_refusals: 3,
    });
  });

  test("says how many agents were idle", () => {
    expect(values(idleRows("svc", { agents: 4, product: 0.1, cli: 1.3 }))).toEqual({
      svc_idle_agents: 4,
      svc_idle_cpu_percent_each: 0.1,
      svc_idle_cli_cpu_percent_each: 1.3,
    });
  });

  test("gives the reason of a product without figures in one line", () => {
    expect(notMeasured("agentapi", new Error("go install failed:\n  403 Forbidden\n"))).toBe(
      "agentapi: not measured: go install failed:; 403 Forbidden",
    );
  });
});
