import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

let agent: HeadlessAgentFixture;
beforeAll(async () => {
  agent = await launchHeadless({ tool: "demo-acp" });
});
afterAll(() => agent[Symbol.asyncDispose]());

const asked = () =>
  until("a question", async () => {
    const { body } = await agent.call("/v1/status");
    return body["awaiting_decision"] as { id: string; question: string; options: { text: string }[] };
  });

describe("an ACP agent behind its gateway", () => {
  test("is a headless agent of backend acp_headless", async () => {
    const state = (await agent.mgr("state", "--json")).json();
    expect(state).toMatchObject({
      identity: { transport: "headless", backend: "acp_headless", tool: "demo-acp" },
      availability: "available",
    });
  });

  test("the tokens that it reports are those of the turn in the transcript", async () => {
    await agent.submit("counted", "hello\nUSAGE 7 3");
    expect(await agent.ended("counted")).toMatchObject({ status: "completed" });
    expect((await agent.call("/v1/transcript?limit=1")).body["turns"]).toMatchObject([
      { usage: [{ model: null, input_tokens: 7, output_tokens: 3, cached_input_tokens: 0 }] },
    ]);
  });

  test("a permission waits for a person: in the status, in the state and among what needs attention", async () => {
    const request = await agent.submit("ask", "work\nASK rm everything");
    const decision = await asked();
    expect(decision).toMatchObject({
      question: expect.stringContaining("rm everything"),
      options: [{ text: "Always allow" }, { text: "Allow" }, { text: "Reject" }],
    });
    expect((await agent.mgr("state", "--json")).json()).toMatchObject({
      awaiting_decision: { id: decision.id },
    });
    const list = (await agent.fixture.mgr("attention", "list", "--json")).json() as {
      items: { kind: string; question?: string }[];
    };
    expect(list.items[0]).toMatchObject({ question: expect.stringContaining("rm everything") });
    const wrong = await agent.call("/v1/control/tui/decide", { option: "perhaps" });
    expect(wrong.status).toBe(422);
    const decide = await agent.call("/v1/control/tui/decide", { option: "allow", id: decision.id });
    expect(decide).toMatchObject({ status: 200, body: { option: { index: 2, text: "Allow" } } });
    expect(await agent.settled(request)).toMatchObject({ state: "completed" });
    expect(await agent.text("/v1/turns/ask/artifacts/stdout")).toContain("rm everything: done");
    const late = await agent.call("/v1/control/tui/decide", { option: "allow", id: decision.id });
    expect(late.status).toBe(409);
  });

  test("an interrupt withdraws the question, and the same agent process goes on", async () => {
    await agent.submit("withdrawn", "work\nASK rm everything");
    const pid = (await agent.running("withdrawn")).child_pid;
    await asked();
    expect((await agent.mgr("interrupt", "--json")).json()).toMatchObject({ success: true });
    expect(await agent.ended("withdrawn")).toMatchObject({ status: "interrupted" });
    await until("no question", async () => !(await agent.call("/v1/status")).body["awaiting_decision"]);
    await agent.submit("next", "hello");
    expect(await agent.ended("next")).toMatchObject({ status: "completed" });
    expect(agent.runs().at(-1)?.pid).toBe(pid);
  });
});

describe("a permission policy", () => {
  test("answers what its rules name and leaves the rest to a person", async () => {
    await using fixture = await launchWithPolicy({
      schema_version: 1,
      rules: [
        { action: "allow", kinds: ["execute"], title: "touch *" },
        { action: "deny", title: "*everything*" },
      ],
    });
    await fixture.submit("by-rule", "work\nASK touch proof\nASK rm everything");
    expect(await fixture.ended("by-rule")).toMatchObject({ status: "completed" });
    const out = await fixture.text("/v1/turns/by-rule/artifacts/stdout");
    expect(out).toContain("touch proof: done");
    expect(out).toContain("rm everything: refused");
    await fixture.submit("asked", "work\nASK shutdown");
    await until("a question", async () => (await fixture.call("/v1/status")).body["awaiting_decision"]);
  });
});

async function launchWithPolicy(policy: object): Promise<HeadlessAgentFixture> {
  const path = join(agent.fixture.folder, "policy.json");
  writeFileSync(path, JSON.stringify(policy), { mode: 0o600 });
  return launchHeadless({ tool: "demo-acp", name: "ruled", flags: ["--permission-policy", path] });
}

test("a turn whose session folder is removed ends, and its agent and the bridge with it", async () => {
  await using own = await launchHeadless({ tool: "demo-acp", name: "removed" });
  await own.submit("lost", "wait\nSLOW 600000");
  const { child_pid, runner_pid } = await own.running("lost");
  // The bridge runs no turn after this one.
  process.kill(runner_pid, "SIGHUP");
  await until("a folder that is gone", () => {
    rmSync(own.sessionRoot, { recursive: true, force: true });
    return !existsSync(own.sessionRoot);
  });
  await until("the end of both", () => ![child_pid, runner_pid].some((pid) => own.fixture.alive(pid)));
}, 120_000);
