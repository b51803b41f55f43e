import type { TerminalState } from "../../../protocol/terminal.ts";
import { followEvents } from "../../../services/fleet/follow-events.ts";
import type { GatewayClient } from "../../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../../services/fleet/gateway-link.ts";
import { gatewayIdentity } from "../../../services/sessions/gateway-folder.ts";
import { sleep, timestampNow } from "../../../system/clock.ts";
import { visibleLine } from "../../../system/visible.ts";
import { type CliIo, command, UsageError } from "../../command.ts";
import { exitCodes } from "../../dispatch.ts";
import { warn } from "../../narrate.ts";
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
      description: "changes are shown as they come; how often to look again while the picture still moves",
      valueHint: "SECONDS",
      default: "1",
    },
  },
  async run(invocation) {
    const { io, inherited, args } = invocation;
    const intervalMs = toMilliseconds(args["interval-seconds"]);
    const { world, agent } = await openLiveTarget(invocation);
    const { attachIdentity } = gatewayIdentity(agent.manifest);
    const live = io.stdoutIsTty && inherited["json"] !== true;
    const stopped = io.unheard();
    let client: GatewayClient | null = null;
    let lost = false;
    let shown = "";
    let settling: Promise<void> | null = null;

    /** Shows what the terminal shows now, if that is news. False while it still moves. */
    async function look(): Promise<boolean> {
      const reply = await client?.call("terminalState", {});
      // A gateway that does not answer is the follower's to tell of.
      if (reply?.kind !== "ok" || stopped.aborted) return true;
      const state = reply.body;
      const key = `${renderTerminalLine(state)} ${JSON.stringify(state.recent_transitions.at(-1) ?? null)}`;
      if (key !== shown) await show(io, live, state, timestampNow(world.clock));
      shown = key;
      return state.stability.stable;
    }

    /** Time alone makes a state stable, and no event tells of that. */
    async function settle(): Promise<void> {
      do await sleep(world.clock, intervalMs, stopped);
      while (!stopped.aborted && !lost && !(await look()));
    }

    async function lookAndSettle(): Promise<void> {
      const stable = await look();
      if (stable || settling) return;
      settling = settle().finally(() => {
        settling = null;
      });
      settling.catch(() => {});
    }

    await followEvents({
      clock: world.clock,
      link: () => linkGateway(world, { sessionRoot: agent.sessionRoot, attachIdentity }),
      afterSeq: null,
      signal: stopped,
      async onConnected(found) {
        if (lost) await warn(io, `${live ? "\n" : ""}the gateway answers again`);
        lost = false;
        client = found;
        await lookAndSettle();
      },
      async onLost(why) {
        lost = true;
        await warn(io, `${live ? "\n" : ""}the gateway does not answer (${why}); waiting for it`);
      },
      async onEvent(event) {
        if (event.kind === "terminal_state") await lookAndSettle();
      },
    });
    await settling;
    if (live) await io.writeOut("\n");
    return exitCodes.done;
  },
});

async function show(io: CliIo, live: boolean, state: TerminalState, atUtc: string): Promise<void> {
  // Back to the first column, and clear what a longer line left; a line that wraps could not be gone back over.
  if (live) {
    const line = visibleLine(renderTerminalLine(state)).slice(0, io.columns - 1);
    await io.writeScreen("stdout", `\r\x1b[K${line}`);
  } else await io.writeOut(`${JSON.stringify({ at_utc: atUtc, ...state })}\n`);
}

function toMilliseconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0.1 && seconds <= 3600) return seconds * 1000;
  throw new UsageError(`--interval-seconds must be a number from 0.1 to 3600, not "${text}"`);
}
