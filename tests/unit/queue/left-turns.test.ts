import { expect, test } from "bun:test";
import type { TurnEnd } from "../../../src/services/agent/agent.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { settle } from "../../support/fake-clock.ts";
import { giveTurns } from "../../support/fake-turns.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { createScratch } from "../../support/scratch.ts";

/** A gateway of a headless agent over the database at `path`. */
function open(path: string) {
  const agent = createFakeAgent();
  const turns = giveTurns(agent);
  agent.onSubmit = ({ turnId }) => ({ outcome: "submitted", turn: turns.begin(turnId) });
  return { turns, gateway: createGatewayBundle({ agent, path }) };
}

/** A request whose turn runs while its gateway has stopped. */
async function leaveOne(path: string): Promise<string> {
  await using gateway = open(path).gateway;
  const { request_id } = await gateway.queue.accept({ kind: "submit_prompt", payload: { prompt: "x" } });
  await settle();
  return request_id;
}

const turn = (ended: Promise<TurnEnd>) => ({ turnId: "turn-2", turnIndex: 2, ended });

test("a gateway that stops leaves the turn and its request running", async () => {
  using scratch = createScratch();
  const requestId = await leaveOne(scratch.path("queue.sqlite"));
  await using later = createGatewayBundle({ path: scratch.path("queue.sqlite"), start: false });
  expect(later.queue.record(requestId)).toMatchObject({ state: "running" });
});

test("the next gateway follows the turn to its end and reports each step once", async () => {
  using scratch = createScratch();
  const requestId = await leaveOne(scratch.path("queue.sqlite"));
  const { gateway, turns } = open(scratch.path("queue.sqlite"));
  await using later = gateway;
  const ended = Promise.withResolvers<TurnEnd>();
  turns.left.set(requestId, turn(ended.promise));
  await settle();
  expect([later.queue.record(requestId)?.state, later.queue.running()]).toEqual(["running", true]);
  const [resumed] = turns.resumed;
  for (const step of ["submitted", "submitted", "turn_ended"] as const) {
    resumed?.onEvidence({ step, at_utc: "2026-01-01T00:00:01.000+00:00", proof: "seen" });
  }
  ended.resolve({ status: "completed", detail: null });
  await settle();
  const record = later.queue.record(requestId);
  expect(record).toMatchObject({ state: "completed", result_json: { turn_id: "turn-2" } });
  expect(record?.evidence.map((one) => one.step)).toEqual(["accepted", "submitted", "turn_ended"]);
  expect(later.queue.running()).toBe(false);
});

test("a request whose turn never began fails as unknown, and no turn is started for it", async () => {
  using scratch = createScratch();
  const requestId = await leaveOne(scratch.path("queue.sqlite"));
  const { gateway, turns } = open(scratch.path("queue.sqlite"));
  await using later = gateway;
  await settle();
  expect(later.queue.record(requestId)).toMatchObject({
    state: "failed",
    result_json: { outcome: "unknown" },
  });
  expect(turns.active()).toBeNull();
});

test("an interrupt reaches a turn that was found again", async () => {
  using scratch = createScratch();
  const requestId = await leaveOne(scratch.path("queue.sqlite"));
  const { gateway, turns } = open(scratch.path("queue.sqlite"));
  await using later = gateway;
  turns.left.set(requestId, turns.begin());
  later.agent.onInterrupt = () => {
    turns.end({ status: "interrupted", detail: null });
    return { outcome: "interrupted", detail: "stopped" };
  };
  // Ids are counted anew in each bundle, and told apart by their second.
  await later.clock.advance(1000);
  const { request_id } = await later.queue.accept({ kind: "interrupt" });
  await settle();
  expect(later.queue.record(request_id)).toMatchObject({ state: "completed" });
  expect(later.queue.record(requestId)).toMatchObject({
    state: "failed",
    result_json: { outcome: "interrupted" },
  });
});
