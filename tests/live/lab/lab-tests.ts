import { afterAll, describe, test } from "bun:test";
import type { LabTool } from "./cli-cache.ts";
import { type LabSession, openLabSession } from "./lab-session.ts";
import { stepsOf } from "./steps.ts";

const stepTimeoutMs = 90_000;

/**
 * The lab of one tool: one test per step. Steps share a session, as a day's work does; after a failure, which
 * tells what screen, gateway and model showed, the next step gets a fresh agent.
 */
export function describeLab(tool: LabTool): void {
  let current: LabSession | null = null;
  afterAll(async () => {
    await current?.end();
  });

  describe(`${tool} in the lab`, () => {
    test.each(stepsOf(tool))(
      "$id",
      async ({ run }) => {
        const session = current ?? (await openLabSession(tool));
        current = null;
        try {
          await run(session);
          current = session;
        } catch (error) {
          const account = await session.account();
          await session.end().catch((endError) => console.error(`at the end: ${endError}`));
          if (error instanceof Error) error.message = `${error.message}\n\n${account}`;
          throw error;
        }
      },
      stepTimeoutMs,
    );

    test(
      "nothing remains of gateway, agent and tmux",
      async () => {
        const session = current ?? (await openLabSession(tool));
        current = null;
        await session.end();
      },
      stepTimeoutMs,
    );
  });
}
