import type { AgentIdentity, AgentState } from "../../../protocol/agents.ts";
import type { Advise } from "../../../protocol/remedy.ts";
import { type AgentReading, observeAgent } from "../../../services/fleet/fleet-reader.ts";
import { toIdentity } from "../../../services/fleet/projection.ts";
import { renderRequest } from "../../agent/agent-requests.ts";
import { renderAnswer, sourceNote } from "../../agent/agent-transcript.ts";
import { modelFlags, readExecution } from "../../agent/model-flags.ts";
import { openTarget, toCaller } from "../../agent/target.ts";
import { renderDecision } from "../../agent/terminal-text.ts";
import { command } from "../../command-line/command.ts";
import { CommandFailure, exitCodes } from "../../command-line/dispatch.ts";
import { readPrompt, readTimeout } from "../../command-line/flag-values.ts";
import { renderPairs } from "../../command-line/format.ts";
import { narrate, warn } from "../../command-line/narrate.ts";
import { toClause, toSentence } from "../../command-line/remedies.ts";
import { promptFlag } from "../../command-line/shared-flags.ts";
import { askAgent, interruptTurn, submitPrompt } from "../../operations/prompt.ts";

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
    if (!args.wait) {
      const { accepted, submission, commandPrefix } = await submitPrompt(caller, input);
      return {
        json: { ...accepted, ...submission },
        text: `accepted ${accepted.request_id} (${accepted.queue_depth} in the queue)\nSee: ${commandPrefix} requests show ${accepted.request_id}`,
      };
    }
    const isAwaited = !args["no-background"];
    const asked = await askAgent(
      caller,
      { ...input, timeoutSeconds, awaitsBackground: isAwaited },
      {
        question: ({ agent_name, advise }, text) =>
          warn(io, `"${agent_name}" ${text}: ${advise({ code: "choose_option", agent_name }).command}`),
        async turnEnded({ agent_name, advise }, { record, turn, why, badEnd }) {
          if (args.verbose) await io.writeError(`${renderRequest(record)}\n`);
          if (!turn) {
            const { command: line } = advise({ code: "view_terminal", agent_name });
            await warn(io, `the answer is not known: ${why}. See: ${line}`);
          }
          if (turn?.status === "running") return;
          const note = turn && sourceNote(turn);
          if (note !== null) await narrate(io, note);
          // A shell goes on behind exit 0 alone: an answer that was cut off is none.
          if (badEnd !== null) await warn(io, `the turn did not succeed: ${badEnd.detail}`);
        },
        async background({ agent_name }, work, waits) {
          const running = `"${agent_name}" has work in the background: ${work.join(", ")}`;
          await warn(io, waits ? `${running}. Waiting for it; --no-background does not` : running);
        },
      },
    );
    const { record, submission } = asked;
    const json = { ...submission, request: record };
    if (asked.outcome === "not_done")
      return { json: { ...json, answer: null, turn: null }, text: renderRequest(record), exitCode: 1 };
    const { turn, badEnd, agent } = asked;
    const { agent_name } = agent;
    const document = { ...json, answer: turn?.answer ?? null, turn };
    // A part of an answer, or a sentence of ours, is not printed as if the agent had said it.
    if (asked.outcome === "not_written") {
      const end = badEnd === null ? "has ended" : `has ended (${badEnd.detail})`;
      const detail = `the turn ${end}, and the record of its tool has no end of the answer yet. See: ${agent.advise({ code: "show_last_turn", agent_name }).command}`;
      throw new CommandFailure(exitCodes.refused, detail, {
        ...document,
        error: "answer_not_written",
        detail,
      });
    }
    const { ownTurns, background } = asked;
    const answers = turn ? [turn, ...ownTurns] : [];
    const goesOn = isAwaited && badEnd === null && background.length > 0;
    if (goesOn)
      await warn(
        io,
        `its work goes on: ${background.join(", ")}. ${toSentence(agent.advise({ code: "follow_log", agent_name }))}`,
      );
    const answer = answers.length > 1 ? answers.map(renderAnswer).join("\n\n") : document.answer;
    return {
      json: { ...document, answer, own_turns: ownTurns, background },
      text: turn ? answers.map(renderAnswer).join("\n\n") : renderRequest(record),
      exitCode: badEnd === null && !goesOn ? exitCodes.done : exitCodes.refused,
    };
  },
});

const interrupt = command({
  name: "interrupt",
  description: "stop the agent's turn; on an idle agent nothing is typed",
  examples: ["svc-mgr agents single --agent-name worker interrupt"],
  async run(invocation) {
    const { submission, record, detail, failed } = await interruptTurn(toCaller(invocation));
    return { json: { ...submission, request: record }, text: detail, exitCode: failed ? 1 : 0 };
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
