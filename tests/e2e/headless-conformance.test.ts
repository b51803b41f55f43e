import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { createHostileFixture } from "../support/hostile/fixture.ts";
import { until } from "../support/until.ts";

/**
 * What the contract of headless turns promises holds over ACP too; tests/e2e/headless-turns.test.ts shows it
 * of a tool that runs a process for each turn.
 */
describe("the headless contract over ACP", () => {
  let agent: HeadlessAgentFixture;
  beforeAll(async () => {
    agent = await launchHeadless({ tool: "demo-acp", fixture: await createHostileFixture() });
  });
  afterAll(() => agent[Symbol.asyncDispose]());

  const kinds = async (turnId: string) =>
    ((await agent.call(`/v1/turns/${turnId}/events`)).body["entries"] as { kind: string }[]).map(
      ({ kind }) => kind,
    );
  const ready = () =>
    until("an agent that takes a prompt", async () => {
      const { body } = await agent.call("/v1/control/headless/state");
      return body["can_accept_prompt_now"] ? body : null;
    });

  test("nothing of the tool runs before the first turn", async () => {
    expect(agent.runs()).toEqual([]);
    const { body } = await agent.call("/v1/status");
    expect(body).toMatchObject({ request_admission: "open", active_execution: "idle" });
    expect(await ready()).toMatchObject({
      chat_session: { current: null, startup_default: { mode: "new" } },
      interruptible: false,
    });
  });

  test("a turn has a durable record, events and one final state, and pins its conversation", async () => {
    const request = await agent.submit("one", "hello there\nTOOL look\nUSAGE 7 3");
    expect(await agent.ended("one")).toMatchObject({
      turn_id: "one",
      turn_index: 1,
      status: "completed",
      decided_by: "terminal_event",
      history_summary: "You said: hello there",
    });
    expect(await agent.settled(request)).toMatchObject({ state: "completed", turn_id: "one" });
    const seen = await kinds("one");
    for (const kind of ["assistant", "action_request", "action_result", "completion"]) {
      expect(seen).toContain(kind);
    }
    expect(JSON.parse(agent.file("one", "result.json") ?? "{}")).toMatchObject({
      usage: { input_tokens: 7, output_tokens: 3 },
    });
    expect(agent.file("one", "exitcode")).toBe("0\n");
    const [run] = agent.runs();
    expect(await ready()).toMatchObject({ chat_session: { current: { id: run?.session_id } } });
  });

  test("a later turn goes on with it; an override begins one new conversation", async () => {
    await agent.submit("two", "and again");
    expect(await agent.ended("two")).toMatchObject({ turn_index: 2, status: "completed" });
    const [first, second] = agent.runs();
    expect(second).toMatchObject({ turn: 2, session_id: first?.session_id });
    await ready();
    await agent.call("/v1/control/headless/next-prompt-session", { mode: "new" });
    const direct = await agent.call("/v1/control/prompt", { schema_version: 2, prompt: "afresh" });
    expect(direct.status).toBe(200);
    await agent.ended(String(direct.body["turn_id"]));
    expect(agent.runs().at(-1)).toMatchObject({ turn: 1 });
    expect(agent.runs().at(-1)?.session_id).not.toBe(first?.session_id);
  });

  test("an error of the tool fails its turn and its request", async () => {
    const request = await agent.submit("wrong", "look\nSTDERR careful\nERROR the model is away");
    expect(await agent.ended("wrong")).toMatchObject({ status: "failed", error: "the model is away" });
    expect(await agent.settled(request)).toMatchObject({
      state: "failed",
      error_detail: "the model is away",
    });
    expect(await agent.text("/v1/turns/wrong/artifacts/stderr")).toBe("careful\n");
  });

  test("two prompts run one after the other; a direct one is refused meanwhile", async () => {
    const slow = await agent.submit("slow", "wait\nSLOW 1500");
    const next = await agent.submit("next", "then this");
    await agent.running("slow");
    const direct = await agent.call("/v1/control/prompt", { schema_version: 2, prompt: "now" });
    expect(direct.status).toBe(409);
    expect((await agent.settled(slow)).state).toBe("completed");
    expect((await agent.settled(next)).state).toBe("completed");
  });

  test("a tool that dies in mid-turn is a failed turn, and the next turn works", async () => {
    await agent.submit("death", "go\nKILL");
    expect(await agent.ended("death")).toMatchObject({ status: "failed" });
    await agent.submit("after-death", "still there?");
    expect(await agent.ended("after-death")).toMatchObject({ status: "completed" });
  });

  test("a stubborn tool and what it started are ended by an interrupt", async () => {
    const request = await agent.submit("stubborn", "CHILD STUBBORN\nHANG SIGINT SIGTERM");
    const { child_pid: pid } = await agent.running("stubborn");
    const tree = await until("what the tool starts", async () => {
      const found = await createProcesses({ steps: quietSteps }).tree(pid);
      return found.length > 1 ? found : null;
    });
    const interrupt = await agent.mgr("interrupt", "--json");
    expect(interrupt.json()).toMatchObject({ success: true, disposition: "accepted" });
    expect(await agent.ended("stubborn")).toMatchObject({ status: "interrupted" });
    expect(tree.filter((one) => agent.fixture.alive(one.pid))).toEqual([]);
    expect(await agent.settled(request)).toMatchObject({ result_json: { outcome: "interrupted" } });
  }, 120_000);

  test("a stop ends the running turn and everything of the agent", async () => {
    await agent.submit("last", "wait\nSLOW 60000");
    const { runner_pid: runner, child_pid: child } = await agent.running("last");
    const stop = await agent.mgr("stop", "--json");
    expect(stop.json()).toMatchObject({ success: true, turn_id: "last", surviving_pids: [] });
    expect(await agent.fixture.alive(runner)).toBe(false);
    expect(await agent.fixture.alive(child)).toBe(false);
    expect(JSON.parse(agent.file("last", "result.json") ?? "{}")).toMatchObject({ status: "interrupted" });
  });
});
