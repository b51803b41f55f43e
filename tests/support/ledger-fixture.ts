import { ledgerStoreOn } from "../../src/db/gateway/ledger-store.ts";
import { openGatewayDatabase, requestStoreOn } from "../../src/db/gateway/request-store.ts";
import type { PriceList } from "../../src/protocol/fleet-ledger.ts";
import type { TeamLaunch } from "../../src/protocol/team-file.ts";
import type { TokenUsage } from "../../src/protocol/usage.ts";
import { createLedger } from "../../src/services/extensions/observe/ledger/ledger.ts";
import type { ReadTurn, TurnSource } from "../../src/services/extensions/observe/transcript/turn-source.ts";
import { noTokens } from "../../src/services/headless/turn-usage.ts";
import { quietSteps, type Steps } from "../../src/system/steps.ts";
import { createFakeClock, settle } from "./fake-clock.ts";
import { fakeTurn, fakeTurns } from "./fake-transcript.ts";

/** How `up` launched a member of a team. */
export const sampleLaunch: TeamLaunch = {
  tool: "demo",
  workdir: "/",
  worktree: false,
  args: [],
  headless: false,
  unattended: false,
  mailbox: false,
  model: null,
  role_sha256: null,
  env_sha256: "",
};

/** A dollar for a million tokens read, two for a million written; `free` costs nothing. */
export const samplePrices: PriceList = {
  schema_version: 1,
  dated: "2026-11-25",
  prices: [
    { model: "m*", input: 1_000_000, cached_input: 100_000, cache_write: 1_250_000, output: 2_000_000 },
    { model: "free", input: 0, cached_input: 0, cache_write: 0, output: 0 },
  ],
};

/** Tokens of one model. */
export function tokensOf(input: number, output: number, more: Partial<TokenUsage> = {}): TokenUsage {
  return { model: "m", ...noTokens, input_tokens: input, output_tokens: output, ...more };
}

/** The ledger of one agent over a real database. `turns`: what its tool has recorded, oldest first. */
export function createLedgerFixture(
  options: {
    path?: string;
    clock?: ReturnType<typeof createFakeClock>;
    sources?: () => readonly TurnSource[];
    countedSinceMs?: number;
    steps?: Steps;
  } = {},
) {
  const { clock = createFakeClock(), steps = quietSteps } = options;
  const database = openGatewayDatabase({ path: options.path ?? ":memory:", clock, steps });
  const store = ledgerStoreOn(database);
  const requests = requestStoreOn(database);
  const turns: ReadTurn[] = [];
  const events: { kind: string; fields: Record<string, unknown> }[] = [];
  const problems: string[] = [];
  const changes = { count: 0 };
  const ledger = createLedger({
    store,
    requests,
    clock,
    tool: "fake",
    sources: options.sources ?? (() => [fakeTurns(turns)]),
    countedSinceMs: () => options.countedSinceMs ?? null,
    events: { append: (kind, fields = {}) => void events.push({ kind, fields }) },
    onChange: () => void changes.count++,
    onProblem: (what) => void problems.push(what),
  });
  const beganMs = clock.nowMs();
  return {
    clock,
    store,
    requests,
    ledger,
    turns,
    events,
    problems,
    changes,
    /** `afterMs`: when it began, counted from the opening. */
    turn(
      id: string,
      afterMs: number,
      input: number,
      output: number,
      facts: Partial<ReadTurn> = {},
    ): ReadTurn {
      const usage = input + output === 0 ? [] : [tokensOf(input, output)];
      const prompt = `prompt of ${id}`;
      return fakeTurn(id, {
        prompt,
        startedMs: beganMs + afterMs,
        endedMs: beganMs + afterMs + 5,
        usage,
        ...facts,
      });
    },
    async look() {
      ledger.countSoon();
      for (let times = 0; times < 2; times++) {
        await settle();
        await clock.advance(3_000);
      }
      await settle();
    },
    /** Turns and tokens in and out. */
    figures() {
      const sum = ledger.sum();
      return sum && [sum.turns, sum.input_tokens, sum.output_tokens];
    },
    entries: () => ledger.page({ limit: 1000 }).entries.toReversed(),
    async [Symbol.asyncDispose]() {
      await ledger.stop();
      database.close();
    },
  };
}
