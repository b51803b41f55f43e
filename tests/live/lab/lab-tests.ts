import { afterAll, describe, test } from "bun:test";
import { cacheRoot, installCli, type LabTool } from "./cli-cache.ts";
import { type LabSession, openLabSession, type SessionSettings } from "./lab-session.ts";
import { createRecorder, type Recorder } from "./recorder.ts";
import { stepsOf } from "./steps.ts";

const stepTimeoutMs = 90_000;
const shared: SessionSettings = { trusted: true };

/**
 * The lab of one tool: one test per step. Steps share a session, as a day's work does; after a failure, which
 * tells what screen, gateway and model showed, the next step gets a fresh agent. Where a session ends, nothing may
 * remain of gateway, agent and tmux. The recorded screens are kept when a step failed.
 */
export function describeLab(tool: LabTool): void {
  let current: LabSession | null = null;
  let recorder: Recorder | null = null;
  let failures = 0;
  const open = async (settings: SessionSettings) => {
    const cli = await installCli(cacheRoot(process.env), tool, (line) => process.stderr.write(`${line}\n`));
    recorder ??= createRecorder(cli);
    return openLabSession(cli, recorder, settings);
  };
  const endCurrent = async () => {
    const session = current;
    current = null;
    await session?.end();
  };
  afterAll(async () => {
    await endCurrent();
    const kept = failures > 0 || process.env["SVC_LAB_RECORDINGS"] !== undefined;
    if (kept) console.log(`screens of ${tool}: ${recorder?.folder}`);
    else recorder?.discard();
  });

  describe(`${tool} in the lab`, () => {
    test.each(stepsOf(tool))(
      "$id",
      async ({ run, own, last }) => {
        if (own) await endCurrent();
        const session = current ?? (await open(own ?? shared));
        current = null;
        try {
          await run(session);
        } catch (error) {
          failures += 1;
          const account = await session.account();
          await session.end().catch((endError) => console.error(`at the end: ${endError}`));
          if (error instanceof Error) error.message = `${error.message}\n\n${account}`;
          throw error;
        }
        if (own || last) await session.end();
        else current = session;
      },
      stepTimeoutMs,
    );
  });
}
