import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { until } from "../support/until.ts";

const fixture = createCliFixture();
const log = join(fixture.folder, "agent.jsonl");
let base = "";

// biome-ignore lint/suspicious/noExplicitAny: replies are asserted field by field.
async function call(path: string, body?: unknown): Promise<{ status: number; body: any }> {
  const reply = await fetch(base + path, {
    ...(body === undefined
      ? {}
      : { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
    proxy: false,
  } as RequestInit);
  return { status: reply.status, body: await reply.json() };
}

const waitFor = (what: string) => call(`/v1/control/tui/wait?for=${what}&timeout_seconds=60`);
const heard = async (): Promise<DemoLogRecord[]> => parseDemoLog(await Bun.file(log).text());
const prompt = (text: string, more: object = {}) =>
  call("/v1/control/prompt", { schema_version: 2, prompt: text, ...more });

beforeAll(async () => {
  const launched = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "t",
    "--json",
    "--",
    "--log",
    log,
  );
  base = String(launched.json()["gateway_base_url"]);
});
afterAll(() => fixture[Symbol.asyncDispose]());

describe("a gateway beside the scripted agent", () => {
  test("a wait resolves when the agent is ready, and says false when the time is over first", async () => {
    expect((await waitFor("ready")).body).toMatchObject({ for: "ready", satisfied: true });
    const never = await call("/v1/control/tui/wait?for=decision&timeout_seconds=0.05");
    expect([never.status, never.body.satisfied]).toEqual([200, false]);
    expect((await call("/v1/control/tui/wait?for=lunch")).status).toBe(422);
  });

  test("a question refuses prompts by its own code and is answered by its text, checked on the screen", async () => {
    await waitFor("ready");
    expect((await call("/v1/control/tui/decide", { option: 1 })).status).toBe(409);
    expect((await prompt("MENU Go on?")).status).toBe(200);
    const asked = (await waitFor("decision")).body.state.awaiting_decision;
    expect(asked.options.map((option: { text: string }) => option.text)).toEqual(["Yes", "No", "Always"]);

    const refused = await prompt("too early");
    expect([refused.status, refused.body.detail.error_code]).toEqual([409, "awaiting_decision"]);
    expect((await call("/v1/control/tui/decide", { option: "Perhaps" })).status).toBe(422);
    expect((await call("/v1/control/tui/decide", { option: 1, question: "Another?" })).status).toBe(409);

    const decided = await call("/v1/control/tui/decide", { option: "always", question: asked.question });
    expect(decided).toEqual({
      status: 200,
      body: { status: "ok", action: "decide", option: { index: 3, text: "Always" } },
    });
    const answers = (await heard()).filter((one) => one.kind === "menu_answered");
    expect(answers).toEqual([expect.objectContaining({ option: 3, label: "Always" })]);
    expect((await heard()).filter((one) => one.kind === "lost_input")).toEqual([]);
  });

  test("explain names the rules that fired and why the predicate holds", async () => {
    await waitFor("ready");
    const { body } = await call("/v1/control/tui/explain");
    expect(body).toMatchObject({ tool: "demo", prompt_ready: { holds: true, failing: [] } });
    expect(body.surface.ready_posture.reason).not.toBe("");
  });

  test("chat_session new resets the conversation, then sends the prompt", async () => {
    await waitFor("ready");
    const reply = await prompt("after the reset\nFAST", { chat_session: { mode: "new" } });
    expect(reply.status).toBe(200);
    const kinds = (await heard()).filter((one) => one.kind === "reset" || one.kind === "submitted");
    expect(kinds.slice(-2).map((one) => one.kind)).toEqual(["reset", "submitted"]);
    expect(kinds.at(-1)).toMatchObject({ text: "after the reset\nFAST" });
  });

  test("two ready_only prompts at once: one is sent, the other refused", async () => {
    await waitFor("ready");
    const before = (await heard()).filter((one) => one.kind === "submitted").length;
    const replies = await Promise.all([prompt("one\nSLOW 3000"), prompt("two\nSLOW 3000")]);
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 409]);
    await waitFor("ready");
    expect((await heard()).filter((one) => one.kind === "submitted").length).toBe(before + 1);
  });

  test("history holds samples, newest last, within its limit", async () => {
    const { body } = await call("/v1/control/tui/history?limit=5");
    expect(body.entries).toHaveLength(5);
    const times = body.entries.map((entry: { recorded_at_utc: string }) => entry.recorded_at_utc);
    expect(times).toEqual([...times].sort());
    expect((await call("/v1/control/tui/history?limit=0")).status).toBe(422);
  });

  test("raw keys reach the agent as they are", async () => {
    await waitFor("ready");
    expect((await call("/v1/control/send-keys", { sequence: "half<[C-u]>" })).status).toBe(200);
    const busy = waitFor("busy");
    expect((await call("/v1/control/send-keys", { sequence: "typed FAST<[Enter]>" })).status).toBe(200);
    const typed = await until("the agent to hear it", async () =>
      (await heard()).findLast((one) => one.kind === "submitted" && one.text.startsWith("typed")),
    );
    expect(typed).toMatchObject({ text: "typed FAST" });
    // So that the next test does not take the agent for ready before the gateway has seen it at work.
    await busy;
  });

  test("an agent that left for the shell is unavailable and nothing is typed", async () => {
    await waitFor("ready");
    expect((await prompt("/exit")).status).toBe(200);
    const [started] = (await heard()).flatMap((one) => (one.kind === "started" ? [one.pid] : []));
    await until("the agent to have left", () => started && !fixture.alive(started));
    const gone = await prompt("rm -rf nothing");
    expect([gone.status, gone.body.detail.error_code]).toEqual([503, "unavailable"]);
    expect((await call("/v1/requests", { kind: "interrupt" })).status).toBe(503);
    expect((await call("/v1/status")).body).toMatchObject({
      managed_agent_connectivity: "unavailable",
      request_admission: "blocked_unavailable",
    });
  });
});
