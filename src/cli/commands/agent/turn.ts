import type { ChatSession } from "../../../protocol/gateway.ts";
import { trackedAgentId } from "../../../services/fleet/projection.ts";
import {
  type AgentTurnsOnDisk,
  chooseTurn,
  followAccepted,
  openTurns,
  renderTurn,
  waitForTurn,
} from "../../agent/agent-turns.ts";
import { modelFlags, readExecution } from "../../agent/model-flags.ts";
import { acceptanceOf, openLiveTarget } from "../../agent/target.ts";
import {
  type Answer,
  type CliIo,
  type Command,
  command,
  type Flags,
  UsageError,
} from "../../command-line/command.ts";
import { exitCodes } from "../../command-line/dispatch.ts";
import { readPrompt, readTimeout } from "../../command-line/flag-values.ts";
import { promptFlag } from "../../command-line/shared-flags.ts";

const turnFlag = {
  turn: {
    type: "positional",
    required: false,
    description: "the turn's id; default: the newest that was begun",
  },
} as const satisfies Flags;

const submit = command({
  name: "submit",
  description: "queue a turn of a headless agent",
  examples: [
    'svc-mgr agents single --agent-name batch turn submit --prompt "run the tests" --wait',
    "svc-mgr agents single --agent-name batch turn submit --chat-session-mode new < task.md",
  ],
  args: {
    ...promptFlag,
    ...modelFlags,
    "chat-session-mode": {
      type: "enum",
      options: ["auto", "new", "current", "tool_last_or_new", "exact"],
      description: "which of the tool's conversations it belongs to; default: auto",
    },
    "chat-session-id": { type: "string", description: "the conversation, for mode exact", valueHint: "ID" },
    "turn-id": { type: "string", description: "id of the turn; default: a new one", valueHint: "ID" },
    wait: { type: "boolean", description: "wait for the end of the turn" },
    timeout: { type: "string", description: "how long --wait waits", valueHint: "SECONDS", default: "600" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const timeoutSeconds = readTimeout(args.timeout);
    const execution = readExecution(args);
    const chatSession = toChatSession(args["chat-session-mode"], args["chat-session-id"]);
    const prompt = await readPrompt(args.prompt, io);
    const on = await openTurns(invocation);
    const { link, context, agent, commandPrefix } = await openLiveTarget(invocation);
    const turn_id = args["turn-id"] ?? `turn-${context.ids.hex(6)}`;
    const payload = { prompt, turn_id, ...execution, ...chatSession };
    const accepted = acceptanceOf(
      await link.client.call("submitRequest", {
        body: { schema_version: 1, kind: "submit_prompt", payload },
      }),
      `${commandPrefix} turn wait ${turn_id}`,
    );
    if (args.wait) {
      const status = `${commandPrefix} turn status ${turn_id}`;
      return followAccepted({ turn_id, status }, () => waitForTurn(on, turn_id, timeoutSeconds));
    }
    return {
      json: {
        success: true,
        tracked_agent_id: trackedAgentId(agent.manifest),
        turn_id,
        request_id: accepted.request_id,
        status: "active",
        detail: `accepted; ${accepted.queue_depth} in the queue`,
      },
      text: `accepted turn ${turn_id} (${accepted.queue_depth} in the queue)\nWait for it: ${commandPrefix} turn wait ${turn_id}`,
    };
  },
});

const status = command({
  name: "status",
  description: "show one turn of a headless agent: running, or how it ended",
  examples: ["svc-mgr agents single --agent-name batch turn status"],
  args: turnFlag,
  async run(invocation) {
    const turn = await chooseTurn(await openTurns(invocation), invocation.args.turn);
    return { json: turn, text: renderTurn(turn) };
  },
});

const events = command({
  name: "events",
  description: "list what a headless agent said and did in a turn, also while it runs",
  examples: [
    "svc-mgr agents single --agent-name batch turn events",
    "svc-mgr agents single --agent-name batch turn events --detail --json",
  ],
  args: {
    ...turnFlag,
    detail: { type: "boolean", description: "show the content of each event" },
  },
  async run(invocation) {
    const { args } = invocation;
    const on = await openTurns(invocation);
    const { turn_id, tracked_agent_id } = await chooseTurn(on, args.turn);
    const found = on.turns.events(turn_id, 0)?.toArray() ?? [];
    const entries = args.detail ? found : found.map((event) => ({ ...event, payload: null }));
    const lines = entries.map((event) => {
      const data = event.payload ? ` ${JSON.stringify(event.payload.data)}` : "";
      return `${event.timestamp_utc}  ${event.kind.padEnd(14)}  ${event.message}${data}`;
    });
    return {
      json: { tracked_agent_id, turn_id, entries },
      text: lines.length === 0 ? "no events yet" : lines.join("\n"),
    };
  },
});

const stdout = artifactCommand("stdout", "standard output");
const stderr = artifactCommand("stderr", "standard error");

const wait = command({
  name: "wait",
  description: "wait until a turn has ended; exit code 1 when it failed or was interrupted",
  examples: ["svc-mgr agents single --agent-name batch turn wait turn-0123456789ab --timeout 3600"],
  args: {
    turn: {
      type: "positional",
      required: false,
      description: "the turn's id; default: that of the prompt submitted last, begun or not",
    },
    timeout: { type: "string", description: "how long to wait", valueHint: "SECONDS", default: "600" },
  },
  async run(invocation) {
    const timeoutSeconds = readTimeout(invocation.args.timeout);
    return waitForTurn(await openTurns(invocation), invocation.args.turn, timeoutSeconds);
  },
});

export const turnCommands = { submit, status, events, stdout, stderr, wait };

function artifactCommand(name: "stdout" | "stderr", stream: string): Command {
  return command({
    name,
    description: `print what a turn's tool wrote to its ${stream}, as it wrote it`,
    examples: [`svc-mgr agents single --agent-name batch turn ${name} turn-0123456789ab`],
    args: turnFlag,
    run: async (invocation) => writeArtifact(await openTurns(invocation), invocation, name),
  });
}

/**
 * Writes an artifact of a turn byte for byte, piece by piece. With `--json` it is one string in which bytes
 * that are not UTF-8 become U+FFFD.
 */
async function writeArtifact(
  on: AgentTurnsOnDisk,
  invocation: {
    args: { turn: string | undefined };
    inherited: Readonly<Record<string, unknown>>;
    io: CliIo;
  },
  name: "stdout" | "stderr",
): Promise<Answer | number> {
  const { turn_id } = await chooseTurn(on, invocation.args.turn);
  const pieces = on.turns.artifact(turn_id, name, { offset: 0, maxBytes: null })?.pieces ?? [];
  if (invocation.inherited["json"] !== true) {
    for (const piece of pieces) await invocation.io.writeOut(piece);
    return exitCodes.done;
  }
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let text = "";
  for (const piece of pieces) text += decoder.decode(piece, { stream: true });
  text += decoder.decode();
  return { json: { turn_id, [name]: text }, text };
}

function toChatSession(mode: string | undefined, id: string | undefined): { chat_session?: ChatSession } {
  if (mode === undefined) {
    if (id !== undefined) throw new UsageError("--chat-session-id needs --chat-session-mode exact");
    return {};
  }
  return {
    chat_session: { mode: mode as ChatSession["mode"], ...(id === undefined ? {} : { id }) },
  };
}
