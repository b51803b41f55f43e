import { expect, test } from "bun:test";
import { defaultTimings, type TerminalState } from "../../../src/protocol/terminal.ts";
import { judgeReadiness } from "../../../src/services/agent/readiness.ts";
import { detect } from "../../../src/services/terminal/detect/detect.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { toTerminalState } from "../../../src/services/terminal/state/record.ts";
import { reduce } from "../../../src/services/terminal/state/reduce.ts";
import { initialTrack, type TrackState } from "../../../src/services/terminal/state/reduce-state.ts";
import { nextDeadlineMs } from "../../../src/services/terminal/state/reduce-transition.ts";
import { createFakeAgent } from "../../support/fake-agent.ts";
import { settle } from "../../support/fake-clock.ts";
import { giveTerminal } from "../../support/fake-terminal.ts";
import { createGatewayBundle } from "../../support/gateway-bundle.ts";
import { compiled } from "../terminal/corpus.ts";
import { demoScreen } from "../terminal/screens.ts";

const working = demoScreen({ transcript: ["> hi"], busySeconds: 1 });
const limit = (shown: string) =>
  demoScreen({ transcript: ["> hi", `✗ usage limit reached${shown && ` · resets ${shown}`}`] });

/** A gateway whose agent is judged by tracked screens; time alone wakes it at the tracker's deadlines. */
function setup() {
  const agent = createFakeAgent();
  const { tracked_session } = giveTerminal(agent).state;
  const bundle = createGatewayBundle({ agent });
  const { clock } = bundle;
  const moment = () => ({ wallMs: clock.nowMs(), monotonicMs: clock.monotonicMs() });
  let track: TrackState = initialTrack(moment());
  const state = (): TerminalState => toTerminalState(track, tracked_session, moment());
  agent.readiness = (policy) => judgeReadiness(state(), policy, true);
  let cancel = () => {};

  function look(screen: Observation): void {
    const signals = detect(screen, compiled("demo"));
    track = reduce(track, { kind: "observed", at: moment(), observation: screen, signals }, defaultTimings);
    bundle.queue.wake();
    cancel();
    const dueMs = nextDeadlineMs(track, defaultTimings);
    if (dueMs !== null) cancel = clock.after(dueMs - clock.monotonicMs(), () => look(screen));
  }
  return { bundle, look };
}

test("a queued prompt waits for the end of a usage limit, with that reason, and is then delivered", async () => {
  const { bundle: at, look } = setup();
  await using bundle = at;
  const { agent, queue, board, clock } = bundle;
  look(working);
  look(limit("2am"));
  const { request_id } = await queue.accept({ kind: "submit_prompt", payload: { prompt: "later" } });
  await clock.advance(60_000);
  const waiting = {
    reason: "not_ready",
    detail: "usage_limit=until 2026-01-01T02:00:00.000+00:00 (✗ usage limit reached · resets 2am)",
  };
  expect(queue.record(request_id)).toMatchObject({ state: "accepted", waiting });
  expect(board.status()).toMatchObject({ queue_depth: 1, waiting });
  expect(bundle.events.findLast((event) => event.kind === "request_waiting")).toMatchObject({
    request_id,
    reason: "not_ready",
  });

  await clock.advance(2 * 3_600_000 - 60_000 - 1);
  expect(agent.prompts).toEqual([]);
  await clock.advance(1);
  expect(agent.prompts).toEqual(["later"]);
  expect(queue.record(request_id)?.state).toBe("completed");
});

test("a limit without a time holds the queue until a turn that a person began has run", async () => {
  const { bundle: at, look } = setup();
  await using bundle = at;
  look(working);
  look(limit(""));
  await bundle.queue.accept({ kind: "submit_prompt", payload: { prompt: "later" } });
  await bundle.clock.advance(48 * 3_600_000);
  expect(bundle.agent.prompts).toEqual([]);
  look(working);
  look(demoScreen({ transcript: ["> again", "* ok", "— done in 1s —"] }));
  await bundle.clock.advance(5000);
  await settle();
  expect(bundle.agent.prompts).toEqual(["later"]);
});
