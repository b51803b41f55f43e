import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "../../src/protocol/files.ts";
import { instanceMarkOf } from "../../src/services/headless/turn-request.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { isWholeMatrix } from "../support/matrix.ts";
import { until } from "../support/until.ts";

/** The prompt behind a running turn is lost or run by a race: once proves nothing. */
const rounds = 6;

const failedByReconciling = {
  state: "failed",
  error_detail: expect.stringContaining("accepted for an earlier instance"),
};
const queueIsClosed = "its queue is closed";

const admissionOf = async (agent: HeadlessAgentFixture) =>
  (await agent.call("/v1/status")).body["request_admission"];

/** A turn that runs and a prompt that waits behind it: their requests. */
async function occupy(agent: HeadlessAgentFixture, round: number) {
  const running = await agent.submit(`runs-${round}`, "SLOW 600000");
  const waiting = await agent.submit(`waits-${round}`, `must wait ${round}`);
  await agent.running(`runs-${round}`);
  return { running, waiting };
}

/** What the tool was asked, after a turn behind which nothing can be under way any more. */
async function heardWithLast(agent: HeadlessAgentFixture, turnId: string): Promise<string[]> {
  await agent.submit(turnId, "FAST");
  expect(await agent.ended(turnId)).toMatchObject({ status: "completed" });
  return agent.runs().map((run) => run.prompt);
}

describe("a relaunch beside a turn that runs and a prompt that waits", () => {
  test("ends the turn and lets the prompt wait for the operator", async () => {
    await using agent = await launchHeadless();
    for (let round = 1; round <= rounds; round += 1) {
      const { running, waiting } = await occupy(agent, round);
      const relaunch = await agent.mgr("relaunch", "--json");
      expect([relaunch.exitCode, relaunch.stderr]).toEqual([0, ""]);
      expect(relaunch.json()).toMatchObject({
        in_place: true,
        request_admission: "blocked_reconciliation",
      });
      expect(await agent.settled(running)).toMatchObject({
        state: "failed",
        result_json: { outcome: "interrupted" },
      });
      expect(await agent.request(waiting)).toMatchObject({ state: "accepted" });
      expect((await agent.call("/v1/status")).body).toMatchObject({
        request_admission: "blocked_reconciliation",
        managed_agent_instance_epoch: round + 1,
        queue_depth: 1,
      });
      expect((await agent.mgr("gateway", "reconcile")).exitCode).toBe(0);
      expect(await agent.request(waiting)).toMatchObject(failedByReconciling);
    }
    const slow = Array.from({ length: rounds }, () => "SLOW 600000");
    expect(await heardWithLast(agent, "last")).toEqual([...slow, "FAST"]);
  }, 180_000);

  test("fails the prompt with --reconcile, and reports that the queue is open", async () => {
    await using agent = await launchHeadless();
    for (let round = 1; round <= rounds; round += 1) {
      const { running, waiting } = await occupy(agent, round);
      const relaunch = await agent.mgr("relaunch", "--reconcile", ...(round % 2 ? ["--json"] : []));
      expect([relaunch.exitCode, relaunch.stderr]).toEqual([0, ""]);
      if (round % 2) expect(relaunch.json()).toMatchObject({ request_admission: "open" });
      else expect(relaunch.stdout).not.toContain(queueIsClosed);
      expect(await admissionOf(agent)).toBe("open");
      expect(await agent.request(waiting)).toMatchObject(failedByReconciling);
      expect(await agent.settled(running)).toMatchObject({
        state: "failed",
        result_json: { outcome: "interrupted" },
      });
    }
    const slow = Array.from({ length: rounds }, () => "SLOW 600000");
    expect(await heardWithLast(agent, "last")).toEqual([...slow, "FAST"]);
  }, 180_000);
});

const lifeIn = (agent: HeadlessAgentFixture) =>
  instanceMarkOf(JSON.parse(readFileSync(join(agent.sessionRoot, "manifest.json"), "utf8")) as Manifest);

/**
 * Begins a relaunch and kills `victim` with its first change on disk. Resolves with the end of the relaunch.
 */
async function relaunchUnderFire(agent: HeadlessAgentFixture, victim: "relaunch" | "gateway") {
  const former = lifeIn(agent);
  const { command, env, workdir } = agent.fixture;
  const words = ["agents", "single", "--agent-name", agent.name, "relaunch"];
  const relaunch = Bun.spawn([...command("svc-mgr"), ...words], { env, cwd: workdir, stderr: "ignore" });
  await until("the new life", () => lifeIn(agent) !== former);
  agent.fixture.kill(victim === "relaunch" ? relaunch.pid : agent.gatewayPid());
  return relaunch.exited;
}

/** The prompt still waits, and a relaunch does what it would have done at first. */
async function expectWhole(agent: HeadlessAgentFixture, waiting: string): Promise<void> {
  await until(
    "the gateway to close its queue",
    async () => (await admissionOf(agent)) === "blocked_reconciliation",
  );
  expect(await agent.request(waiting)).toMatchObject({ state: "accepted" });
  const again = await agent.mgr("relaunch", "--reconcile", "--json");
  expect([again.exitCode, again.json()]).toMatchObject([0, { request_admission: "open" }]);
  expect(await agent.request(waiting)).toMatchObject(failedByReconciling);
}

if (isWholeMatrix) {
  describe("a relaunch that is cut short", () => {
    test("by its own end leaves the prompt waiting, and is repeated", async () => {
      await using agent = await launchHeadless();
      const ends: number[] = [];
      for (let round = 1; round <= 3; round += 1) {
        const { running, waiting } = await occupy(agent, round);
        ends.push(await relaunchUnderFire(agent, "relaunch"));
        await expectWhole(agent, waiting);
        expect(await agent.settled(running)).toMatchObject({ result_json: { outcome: "interrupted" } });
      }
      // On a busy machine one of them may be killed too late.
      expect(ends.some((code) => code !== 0)).toBe(true);
      expect(await heardWithLast(agent, "last")).not.toContainEqual(expect.stringContaining("must wait"));
    }, 180_000);

    test("by the end of the gateway goes on, and the next gateway lets the prompt wait", async () => {
      await using agent = await launchHeadless();
      const ends: number[] = [];
      for (let round = 1; round <= 3; round += 1) {
        const { running, waiting } = await occupy(agent, round);
        ends.push(await relaunchUnderFire(agent, "gateway"));
        await agent.revive();
        await expectWhole(agent, waiting);
        expect(await agent.settled(running)).toMatchObject({ result_json: { outcome: "interrupted" } });
      }
      expect(ends).toContain(0);
      expect(await heardWithLast(agent, "last")).not.toContainEqual(expect.stringContaining("must wait"));
    }, 180_000);
  });
}
