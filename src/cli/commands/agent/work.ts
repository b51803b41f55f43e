import type { AgentIdentity, AgentState } from "../../../protocol/agents.ts";
import type { Advise } from "../../../protocol/remedy.ts";
import { type AgentReading, observeAgent } from "../../../services/fleet/fleet-reader.ts";
import { toIdentity } from "../../../services/fleet/projection.ts";
import { modelFlags, readExecution } from "../../agent/model-flags.ts";
import { openTarget, toCaller } from "../../agent/target.ts";
import { renderDecision } from "../../agent/terminal-text.ts";
import { command } from "../../command-line/command.ts";
import { readPrompt, readTimeout } from "../../command-line/flag-values.ts";
import { renderPairs } from "../../command-line/format.ts";
import { toClause } from "../../command-line/remedies.ts";
import { promptFlag } from "../../command-line/shared-flags.ts";
import { interruptTurn, submitPrompt } from "../../operations/prompt.ts";
import { answerAccepted, answerInterrupted, askForAnswer } from "../work-answers.ts";

const state = command({
  name: "state",
  description: "show what the agent is doing",
  examples: ["svc-mgr agents single --agent-name worker state", "svc-mgr agents self state --json"],
  async run(invocation) {
    const { context, agent, advise } = await openTarget(invocation);
    const reading = await observeAgent(context, agent);
    return { json: reading.state, text: renderState(reading, advise) };
  },
});

const identity = command({
  name: "identity",
  description: "say which agent this is: its name, its ids, its session and where its files are",
  examples: ["svc-mgr agents self identity", "svc-mgr agents self identity --json"],
  async run(invocation) {
    const { agent } = await openTarget(invocation);
    const { record } = agent;
    const lifecycleState = record?.lifecycle.state ?? null;
    const identity = toIdentity({ ...agent, lifecycleState, hasGateway: record?.gateway != null });
    return {
      json: identity,
      text: renderPairs([
        ["agent", identity.agent_name],
        ["id", identity.agent_id],
        ["tracked as", identity.tracked_agent_id],
        ["tool", identity.tool],
        ["lifecycle", identity.lifecycle_state],
        ["tmux session", identity.tmux_session_name],
        ["session files", identity.session_root],
      ]),
    };
  },
});

const prompt = command({
  name: "prompt",
  description: "queue a prompt; it is typed when the agent can begin a turn",
  examples: [
    'svc-mgr agents single --agent-name worker prompt --prompt "run the tests" --wait',
    "svc-mgr agents single --agent-name worker prompt < task.md",
  ],
  args: {
    ...promptFlag,
    delivery: {
      type: "enum",
      options: ["turn_boundary", "immediate"],
      description: "when it may be typed; immediate also while the agent is busy",
    },
    ...modelFlags,
    wait: { type: "boolean", description: "wait for the end of the turn and print the answer" },
    timeout: { type: "string", description: "how long --wait waits", valueHint: "SECONDS", default: "600" },
    "no-background": {
      type: "boolean",
      description: "with --wait: do not wait for work that goes on in the background",
    },
    verbose: { type: "boolean", description: "with --wait: also what proved each step, on standard error" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const timeoutSeconds = readTimeout(args.timeout);
    const execution = readExecution(args);
    const prompt = await readPrompt(args.prompt, io);
    const input = { prompt, delivery: args.delivery, ...execution };
    const caller = toCaller(invocation);
    if (!args.wait) return answerAccepted(await submitPrompt(caller, input));
    const awaitsBackground = !args["no-background"];
    return askForAnswer(caller, { ...input, timeoutSeconds, awaitsBackground }, { isVerbose: args.verbose });
  },
});

const interrupt = command({
  name: "interrupt",
  description: "stop the agent's turn; on an idle agent nothing is typed",
  examples: ["svc-mgr agents single --agent-name worker interrupt"],
  async run(invocation) {
    return answerInterrupted(await interruptTurn(toCaller(invocation)));
  },
});

export const workCommands = { state, identity, prompt, interrupt };

function renderState({ state, gateway, status }: AgentReading, advise: Advise): string {
  const { identity, turn, last_turn: last } = state;
  const served = gateway.state === "live" ? status : null;
  const waiting = served?.waiting;
  return renderPairs([
    ["agent", `${identity.agent_name} (${identity.agent_id})`],
    ["tool", identity.tool],
    ["lifecycle", lifecycleOf(identity, advise)],
    ["availability", state.availability],
    ["turn", turn.phase],
    ["last turn", last.result === "unknown" ? null : last.result],
    ["waits for", decisionOf(state)],
    ["tmux session", identity.tmux_session_name],
    ["gateway", gateway.state === "live" ? gateway.client.baseUrl : `none: ${gateway.why}`],
    ["admission", served?.request_admission],
    ["queue", served?.queue_depth],
    ["queue waits", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ...state.diagnostics.map((one) => [one.kind, one.message] as const),
  ]);
}

/** The state of the record, unless tmux contradicts it: a session can end without an update of the record. */
function lifecycleOf(identity: AgentIdentity, advise: Advise): string | null {
  const { lifecycle_state, liveness, tracked_agent_id, agent_name } = identity;
  if (lifecycle_state !== "active" || liveness !== "gone") return lifecycle_state;
  return `gone: its tmux session has ended; ${toClause(advise({ code: "relaunch_agent", agent_name: agent_name ?? tracked_agent_id }))}`;
}

function decisionOf({ awaiting_decision: decision }: AgentState): string | null {
  return decision ? renderDecision(decision) : null;
}
