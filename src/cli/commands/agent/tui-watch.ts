import type { TerminalState } from "../../../protocol/terminal.ts";
import { sleep, timestampNow } from "../../../system/clock.ts";
import { type CliIo, command, UsageError } from "../../command.ts";
import { exitCodes } from "../../dispatch.ts";
import { bodyOf } from "../../gateway-reply.ts";
import { openLiveTarget } from "../../target.ts";
import { renderTerminalLine } from "../../terminal-text.ts";

export default command({
  name: "watch",
  description:
    "show the agent's terminal state as it changes, until interrupted: one live line, or JSON lines",
  examples: [
    "svc-mgr agents single --agent-name worker gateway tui watch",
    "svc-mgr agents single --agent-name worker gateway tui watch --interval-seconds 5 --json",
  ],
  args: {
    "interval-seconds": {
      type: "string",
      description: "how often to look",
      valueHint: "SECONDS",
      default: "1",
    },
  },
  async run(invocation) {
    const { io, inherited, args } = invocation;
    const intervalMs = toMilliseconds(args["interval-seconds"]);
    const { link, world } = await openLiveTarget(invocation);
    const live = io.stdoutIsTty && inherited["json"] !== true;
    const stopped = io.interrupted();
    while (!stopped.aborted) {
      const state = bodyOf(await link.client.call("terminalState", {}));
      await show(io, live, state, timestampNow(world.clock));
      await sleep(world.clock, intervalMs, stopped);
    }
    if (live) await io.writeOut("\n");
    return exitCodes.done;
  },
});

async function show(io: CliIo, live: boolean, state: TerminalState, atUtc: string): Promise<void> {
  // Back to the first column, and clear what a longer line left; a line that wraps could not be gone back over.
  if (live) await io.writeOut(`\r\x1b[K${renderTerminalLine(state).slice(0, io.columns - 1)}`);
  else await io.writeOut(`${JSON.stringify({ at_utc: atUtc, ...state })}\n`);
}

function toMilliseconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0.1 && seconds <= 3600) return seconds * 1000;
  throw new UsageError(`--interval-seconds must be a number from 0.1 to 3600, not "${text}"`);
}
