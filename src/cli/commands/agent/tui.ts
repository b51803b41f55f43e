import { gatewayEndpoints } from "../../../protocol/endpoints.ts";
import type { TerminalState } from "../../../protocol/terminal.ts";
import { followEvents } from "../../../services/fleet/follow-events.ts";
import type { GatewayClient } from "../../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../../services/fleet/gateway-link.ts";
import { gatewayIdentity } from "../../../services/sessions/manifest.ts";
import { sleep, timestampNow } from "../../../system/clock.ts";
import { visibleLine } from "../../../system/visible.ts";
import { endpointCommand } from "../../agent/endpoint-command.ts";
import { openLiveTarget, toCaller } from "../../agent/target.ts";
import { renderExplanation, renderTerminal, renderTerminalLine } from "../../agent/terminal-text.ts";
import { type CliIo, command } from "../../command-line/command.ts";
import { exitCodes } from "../../command-line/dispatch.ts";
import { fieldFlags } from "../../command-line/field-flags.ts";
import { readPrompt, toSeconds } from "../../command-line/flag-values.ts";
import { renderTable } from "../../command-line/format.ts";
import { warn } from "../../command-line/narrate.ts";
import { promptFlag } from "../../command-line/shared-flags.ts";
import { chooseOption } from "../../operations/attention.ts";
import { waitForState } from "../../operations/session.ts";
import { answerWait } from "../work-answers.ts";

const state = endpointCommand("terminalState", {
  name: "state",
  description: "show what the agent's terminal shows",
  examples: ["svc-mgr agents single --agent-name worker gateway tui state"],
  render: renderTerminal,
});

const history = endpointCommand("terminalHistory", {
  name: "history",
  description: "show what the agent's terminal showed, newest last",
  examples: ["svc-mgr agents single --agent-name worker gateway tui history --limit 20"],
  render({ entries }) {
    const rows = entries.map((entry) => [entry.recorded_at_utc, renderTerminalLine(entry)]);
    return rows.length === 0 ? "nothing yet" : renderTable(["AT", "STATE"], rows);
  },
});

const notePrompt = endpointCommand("notePrompt", {
  name: "note-prompt",
  description: "report a prompt that was typed by other means to the tracker; nothing is typed",
  examples: ['svc-mgr agents single --agent-name worker gateway tui note-prompt --prompt "hello"'],
  fields: null,
  args: promptFlag,
  body: async ({ args, io }) => ({ prompt: await readPrompt(args.prompt, io) }),
  render: renderTerminal,
});

const explain = endpointCommand("explain", {
  name: "explain",
  description:
    "say which rules made the terminal's state what it is, and what keeps a prompt from being given",
  examples: ["svc-mgr agents single --agent-name worker gateway tui explain"],
  render: renderExplanation,
});

const waitFields = fieldFlags(gatewayEndpoints.wait.query, {
  for: { required: true },
  timeout_seconds: { flag: "timeout" },
});

const wait = command({
  name: "wait",
  description:
    "wait until the agent is ready for a prompt, busy, or asks a person; exits 1 when time is over",
  examples: [
    "svc-mgr agents single --agent-name worker gateway tui wait --for ready",
    "svc-mgr agents single --agent-name worker gateway tui wait --for decision --timeout 600 --json",
  ],
  args: waitFields.flags,
  async run(invocation) {
    const { args } = invocation;
    const { timeout_seconds } = gatewayEndpoints.wait.query.properties;
    const seconds = waitFields.read(args).timeout_seconds ?? Number(timeout_seconds.default);
    return answerWait(await waitForState(toCaller(invocation), { for: args.for, timeoutSeconds: seconds }));
  },
});

const decideFields = fieldFlags(gatewayEndpoints.decide.body, {
  option: {
    required: true,
    description: "the option's number as shown, or its text without regard to case",
    valueHint: "INDEX_OR_TEXT",
  },
  id: null,
});

const decide = command({
  name: "decide",
  description:
    "answer what the agent asks a person; the question is checked on the screen before a key is pressed",
  examples: [
    "svc-mgr agents single --agent-name worker gateway tui decide --option 1",
    'svc-mgr agents single --agent-name worker gateway tui decide --option "yes" --question "Go on with this?"',
  ],
  args: decideFields.flags,
  async run(invocation) {
    const decided = await chooseOption(toCaller(invocation), decideFields.read(invocation.args));
    return { json: decided, text: `answered ${decided.option.index}. ${decided.option.text}` };
  },
});

const watch = command({
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
    const intervalMs = 1000 * toSeconds("interval-seconds", args["interval-seconds"], 0.1, 3600);
    const { context, agent } = await openLiveTarget(invocation);
    const { attachIdentity } = gatewayIdentity(agent.manifest);
    const live = io.stdoutIsTty && inherited["json"] !== true;
    const stopped = io.unheard();
    let client: GatewayClient | null = null;
    let lost = false;
    let shown = "";
    let settling: Promise<void> | null = null;

    /** Prints the terminal state if it changed. False while the terminal is not stable. */
    async function look(): Promise<boolean> {
      const response = await client?.call("terminalState", {});
      // followEvents reports a gateway that does not answer.
      if (response?.kind !== "ok" || stopped.aborted) return true;
      const state = response.body;
      const key = `${renderTerminalLine(state)} ${JSON.stringify(state.recent_transitions.at(-1) ?? null)}`;
      if (key !== shown) await show(io, live, state, timestampNow(context.clock));
      shown = key;
      return state.stability.stable;
    }

    /** A state becomes stable by time alone, without an event. */
    async function settle(): Promise<void> {
      do await sleep(context.clock, intervalMs, stopped);
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
      clock: context.clock,
      link: () => linkGateway(context, { sessionRoot: agent.sessionRoot, attachIdentity }),
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

export const tuiCommands = { state, history, "note-prompt": notePrompt, watch, wait, decide, explain };

async function show(io: CliIo, live: boolean, state: TerminalState, atUtc: string): Promise<void> {
  // Return to column 0 and clear the rest. The line must not wrap, or it could not be overwritten.
  if (live) {
    const line = visibleLine(renderTerminalLine(state)).slice(0, io.columns - 1);
    await io.writeScreen("stdout", `\r\x1b[K${line}`);
  } else await io.writeOut(`${JSON.stringify({ at_utc: atUtc, ...state })}\n`);
}
