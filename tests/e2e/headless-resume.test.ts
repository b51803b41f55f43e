import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Evidence } from "../../src/protocol/gateway.ts";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

let batch: HeadlessAgentFixture;
beforeAll(async () => {
  batch = await launchHeadless();
});
afterAll(() => batch[Symbol.asyncDispose]());

const wholeLadder: Evidence["step"][] = ["accepted", "typed", "submitted", "turn_started", "turn_ended"];

/** Begins a turn and takes its gateway away in the middle of it; resolves with the request. */
async function leave(turnId: string, prompt: string): Promise<string> {
  const request = await batch.submit(turnId, prompt);
  await batch.running(turnId);
  const gateway = batch.gatewayPid();
  batch.fixture.kill(gateway);
  await until("the end of the gateway", () => !batch.fixture.alive(gateway));
  await until("its first event", () => batch.file(turnId, "canonical-events.jsonl")?.includes("\n"));
  return request;
}

/** What the next gateway makes of a request. */
async function found(request: string) {
  await batch.revive();
  const { state, evidence } = await batch.settled(request);
  return { state, steps: evidence.map((one) => one.step), last: evidence.at(-1) };
}

const interrupt = () => batch.fixture.tmux("send-keys", "-t", `=${batch.tmuxSession}:0.0`, "C-c");

test.each([
  ["completed", "SLOW 5000", async () => {}],
  ["failed", "SLOW 5000\nERROR the model is away", async () => {}],
  ["interrupted", "SLOW 600000", interrupt],
] as const)(
  "a turn that was %s while no gateway served is reported as ended, when it ended",
  async (status, prompt, act) => {
    const request = await leave(status, prompt);
    await act();
    const turn = await batch.ended(status);
    expect(turn).toMatchObject({ status });
    expect(await found(request)).toEqual({
      state: status === "completed" ? "completed" : "failed",
      steps: wholeLadder,
      last: {
        step: "turn_ended",
        at_utc: turn.completed_at_utc ?? "",
        proof: `${status}, decided by ${turn.decided_by}`,
      },
    });
  },
  120_000,
);

test("a turn whose bridge was killed with its gateway is reported as ended", async () => {
  const request = await leave("bridgeless", "SLOW 600000");
  batch.fixture.kill((await batch.running("bridgeless")).runner_pid);
  expect(await found(request)).toMatchObject({
    state: "failed",
    steps: wholeLadder,
    last: { proof: "failed, decided by missing_evidence" },
  });
}, 120_000);
