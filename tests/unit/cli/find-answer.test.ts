import { expect, test } from "bun:test";
import { findAnswer } from "../../../src/cli/agent/agent-transcript.ts";
import type { TranscriptPage, TranscriptTurn } from "../../../src/protocol/transcript.ts";
import type { GatewayClient } from "../../../src/services/fleet/gateway-client.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** What the transcript has of the request from these seconds on. */
async function find(
  changes: readonly (readonly [afterSeconds: number, turn: Partial<TranscriptTurn> | null])[],
  options?: Parameters<typeof findAnswer>[3],
) {
  const clock = createFakeClock();
  const client = {
    async call() {
      const now = changes.findLast(([seconds]) => clock.monotonicMs() >= seconds * 1000)?.[1] ?? null;
      const turns = now === null ? [] : [{ turn_id: "t1", answer: null, answer_next: null, ...now }];
      return { kind: "ok", status: 200, body: { turns, gaps: [] } as unknown as TranscriptPage };
    },
  } as unknown as GatewayClient;
  let over: { answer: string | null | undefined; status: string | undefined; seconds: number } | null = null;
  const found = findAnswer(clock, client, "r1", options).then(({ turn }) => {
    over = { answer: turn?.answer, status: turn?.status, seconds: Math.round(clock.monotonicMs() / 1000) };
  });
  for (let second = 0; over === null && second < 200; second++) await clock.advance(1000);
  await found;
  return over as unknown as { answer?: string | null; status?: string; seconds: number };
}

const running = { status: "running" } as const;
const ended = { status: "completed", answer: "done" } as const;

test.each([
  { id: "is returned when it is there", changes: [[0, ended]], want: { ...ended, seconds: 0 } },
  // Claude Code 2.1.150 on a busy machine: the record of 58 KB came more than 7 s after the reported end.
  {
    id: "is waited for while the tool's record says that the turn runs",
    changes: [
      [0, running],
      [40, ended],
    ],
    want: { ...ended, seconds: 40 },
  },
  {
    id: "is given up where the record never gets its end",
    changes: [[0, running]],
    want: { ...running, answer: null, seconds: 60 },
  },
  { id: "is given up soon where no record has the turn", changes: [[0, null]], want: { seconds: 7 } },
] as const)("the answer $id", async ({ changes, want }) => {
  const found = await find(changes as never, { maxWritingMs: 60_000 });
  expect({
    ...found,
    seconds: Math.abs(found.seconds - want.seconds) <= 1 ? want.seconds : found.seconds,
  }).toEqual({
    answer: undefined,
    status: undefined,
    ...want,
  } as never);
});

test("a caller with little time gives up a turn that still runs as early as any", async () => {
  const { status, seconds } = await find([[0, running]]);
  expect(status).toBe("running");
  expect(seconds).toBeLessThanOrEqual(8);
});
