import { afterAll, describe, test } from "bun:test";
import { appendFileSync } from "node:fs";

/** What steps play on: agents, gateways and a model that live together. */
export interface Stage {
  /** All that helps to understand a failure, as text. */
  account(): Promise<string>;
  /** Stops everything and asserts that nothing of it remains. */
  end(): Promise<void>;
}

/** One thing that must hold, shown on a stage that is ready when it begins. */
export interface StageStep<S extends Stage, Settings> {
  id: string;
  /** A stage of its own, which ends with the step; the other steps share one. */
  own?: Settings;
  /** Nothing can follow on the stage. */
  last?: true;
  run(stage: S): Promise<void>;
}

/**
 * For hangs only: on a busy machine a tool may take half a minute to begin, and a long step has ten turns.
 */
const stepTimeoutMs = process.env["SVC_LAB_LONG"] === undefined ? 240_000 : 1_200_000;

/**
 * One test per step. Steps share a stage, as a day's work does; after a failure, which tells the stage's
 * account, the next step gets a fresh one. Where a stage ends, nothing may remain of it. `ended` hears how
 * many steps failed.
 */
export function describeSteps<S extends Stage, Settings>(play: {
  name: string;
  steps: readonly StageStep<S, Settings>[];
  shared: Settings;
  open: (settings: Settings) => Promise<S>;
  ended?: (failures: number) => void;
}): void {
  let current: S | null = null;
  let failures = 0;
  const endCurrent = async () => {
    const stage = current;
    current = null;
    await stage?.end();
  };

  describe(play.name, () => {
    afterAll(async () => {
      await endCurrent();
      play.ended?.(failures);
    });
    test.each([...play.steps])(
      "$id",
      async ({ id, run, own, last }) => {
        if (own) await endCurrent();
        const stage = current ?? (await play.open(own ?? play.shared));
        current = null;
        try {
          await run(stage);
        } catch (error) {
          failures += 1;
          const account = await stage.account();
          noteFailure({ group: play.name, step: id, error: errorText(error), account });
          await stage.end().catch((endError) => console.error(`at the end: ${endError}`));
          if (error instanceof Error) error.message = `${error.message}\n\n${account}`;
          throw error;
        }
        if (own || last) await stage.end();
        else current = stage;
      },
      stepTimeoutMs,
    );
  });
}

const errorText = (error: unknown) => Bun.stripANSI(error instanceof Error ? error.message : String(error));

/** A line for the report of `bun run live --report`, in the file that `SVC_LAB_ACCOUNTS` names. */
function noteFailure(failure: { group: string; step: string; error: string; account: string }): void {
  const path = process.env["SVC_LAB_ACCOUNTS"];
  if (path) appendFileSync(path, `${JSON.stringify(failure)}\n`);
}
