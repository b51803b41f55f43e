import { expect, test } from "bun:test";
import { awaitBackground, ownTurnsAfter } from "../../../src/cli/agent/agent-background.ts";
import type { TranscriptTurn } from "../../../src/protocol/transcript.ts";
import type { GatewayCalls } from "../../../src/services/fleet/gateway-client.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

type Phase = "ready" | "active";
/** What the terminal shows from these seconds on. */
type Shown = readonly (readonly [
  fromSeconds: number,
  background: string[],
  phase: Phase,
  /** The turns of its record after the asked one, oldest first; default: one of its own. */
  later?: readonly Partial<TranscriptTurn>[],
])[];

const turn = (turn_id: string, rest: Partial<TranscriptTurn> = {}) =>
  ({ turn_id, status: "completed", answer: turn_id, answer_next: null, ...rest }) as TranscriptTurn;

/** How the wait for the background ends, and after how many seconds. */
async function wait(shown: Shown, timeoutMs = 600_000) {
  const clock = createFakeClock();
  const heard: string[][] = [];
  const client = {
    async call(name: string) {
      const now = shown.findLast(([seconds]) => clock.monotonicMs() >= seconds * 1000);
      const [, background = [], phase = "ready", later = [{ own: true }]] = now ?? [];
      if (name === "transcript") {
        const turns = [turn("asked"), ...later.map((one, at) => turn(`later-${at}`, one))].reverse();
        return { kind: "ok", status: 200, body: { turns } };
      }
      const some = background.length > 0 ? { background } : {};
      return { kind: "ok", status: 200, body: { ...some, turn: { phase } } };
    },
  } as unknown as GatewayCalls;
  let end: object | null = null;
  void awaitBackground({ clock, client, timeoutMs, turn: turn("asked") }, async (work) => {
    heard.push(work);
  }).then((done) => {
    end = { ...done, seconds: Math.round(clock.monotonicMs() / 1000) };
  });
  for (let step = 0; end === null && step < 1000; step++) await clock.advance(200);
  return { ...(end as object | null), heard };
}

const shell = ["1 shell"];
const none: string[] = [];

test.each<{ id: string; shown: Shown; timeoutMs?: number; want: object }>([
  {
    id: "nothing is waited for where nothing runs",
    shown: [[0, none, "ready"]],
    want: { hadWork: false, remaining: [], seconds: 0, heard: [] },
  },
  {
    id: "a turn of somebody else is none of it",
    shown: [[0, none, "active"]],
    want: { hadWork: false, remaining: [], seconds: 0, heard: [] },
  },
  {
    id: "a shell and the turn that the tool begins after it are waited for",
    shown: [
      [0, shell, "ready"],
      [6, none, "ready"],
      [7, none, "active"],
      [9, none, "ready"],
    ],
    want: { hadWork: true, remaining: [], seconds: 11, heard: [shell] },
  },
  {
    id: "work that the own turn begins is waited for too",
    shown: [
      [0, shell, "ready"],
      [3, none, "active"],
      [5, ["1 background agent"], "ready"],
      [8, none, "ready"],
    ],
    want: { hadWork: true, remaining: [], seconds: 10, heard: [shell] },
  },
  {
    id: "a turn of another caller ends the wait, and what it leaves running is that caller's",
    shown: [
      [0, shell, "ready"],
      [3, none, "ready"],
      [4, none, "active", [{}]],
      [5, ["1 background agent"], "ready", [{}]],
    ],
    want: { hadWork: true, remaining: [], seconds: 4, heard: [shell] },
  },
  {
    id: "a turn of another caller beside the work ends the wait, and the work is named",
    shown: [
      [0, shell, "ready"],
      [4, ["1 shell", "1 background agent"], "active", [{ own: true }, {}]],
    ],
    want: { hadWork: true, remaining: shell, seconds: 4, heard: [shell] },
  },
  {
    id: "what never ends is left when the time is over, and named",
    shown: [[0, shell, "ready"]],
    timeoutMs: 30_000,
    want: { hadWork: true, remaining: shell, seconds: 30, heard: [shell] },
  },
  {
    id: "without a wait it is named all the same",
    shown: [[0, shell, "ready"]],
    timeoutMs: 0,
    want: { hadWork: true, remaining: shell, seconds: 0, heard: [shell] },
  },
])("$id", async ({ shown, timeoutMs, want }) => {
  expect(await wait(shown, timeoutMs)).toEqual(want as never);
});

test("the own turns after a prompt's turn are those up to the next prompt, with their ends", async () => {
  const clock = createFakeClock();
  let looks = 0;
  const client = {
    async call() {
      looks += 1;
      const newest =
        looks < 3 ? turn("own-2", { own: true, status: "running" }) : turn("own-2", { own: true });
      const turns = [turn("other"), newest, turn("own-1", { own: true }), turn("asked"), turn("before")];
      return { kind: "ok", status: 200, body: { turns } };
    },
  } as unknown as GatewayCalls;
  const found = ownTurnsAfter(clock, client, turn("asked"));
  await clock.advance(5000);
  expect((await found).map(({ answer }) => answer)).toEqual(["own-1", "own-2"]);
});
