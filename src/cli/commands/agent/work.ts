import type { AgentIdentity, AgentState, AgentSubmission } from "../../../protocol/agents.ts";
import {
  maxPromptHops,
  type PromptPayload,
  type RequestRecord,
  type Submitter,
} from "../../../protocol/gateway.ts";
import { type Observed, observeAgent } from "../../../services/fleet/agent-reader.ts";
import { type GatewayClient, isOpen } from "../../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../../services/fleet/gateway-link.ts";
import { toIdentity, trackedAgentId } from "../../../services/fleet/projection.ts";
import { findSelf } from "../../../services/sessions/find.ts";
import { gatewayIdentity } from "../../../services/sessions/gateway-folder.ts";
import { ServiceError } from "../../../system/errors.ts";
import { awaitBackground, ownTurnsAfter } from "../../agent-background.ts";
import { interruptThrough, renderRequest, stateForPeople, waitForRequest } from "../../agent-requests.ts";
import { findAnswer, renderAnswer, sourceNote } from "../../agent-transcript.ts";
import type { CliContext } from "../../cli-context.ts";
import { type CliIo, command } from "../../command.ts";
import { CommandFailure, exitCodes } from "../../dispatch.ts";
import { readPrompt, readTimeout } from "../../flag-values.ts";
import { renderPairs } from "../../format.ts";
import { narrate, warn } from "../../narrate.ts";
import { reportQuestions } from "../../questions.ts";
import { modelFlags, promptFlag, readExecution } from "../../shared-flags.ts";
import { acceptanceOf, openLiveTarget, openTarget } from "../../target.ts";
import { renderDecision } from "../../terminal-text.ts";
import { badEndOf, readLimit } from "../../turn-end.ts";

const state = command({
  name: "state",
  description: "show what the agent is doing",
  examples: ["svc-mgr agents single --agent-name worker state", "svc-mgr agents self state --json"],
  async run(invocation) {
    const { context, agent, commandPrefix } = await openTarget(invocation);
    const observed = await observeAgent(context, agent);
    return { json: observed.state, text: renderState(observed, commandPrefix) };
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
    const text = await readPrompt(args.prompt, io);
    const { context, agent, link, commandPrefix } = await openLiveTarget(invocation);
    const payload: PromptPayload = {
      prompt: text,
      ...(args.delivery === undefined ? {} : { delivery: args.delivery }),
      ...execution,
    };
    const submitter = await findSubmitter(context, io.env);
    // From now on Ctrl-C reports the progress.
    const interrupted = args.wait ? io.interrupted() : undefined;
    const accepted = acceptanceOf(
      await link.client.call("submitRequest", {
        body: {
          schema_version: 1,
          kind: "submit_prompt",
          payload,
          ...(submitter === null ? {} : { submitted_by: submitter }),
        },
      }),
      `${commandPrefix} requests list`,
    );
    const submission: AgentSubmission = {
      success: true,
      tracked_agent_id: trackedAgentId(agent.manifest),
      request_id: accepted.request_id,
      request_kind: accepted.request_kind,
      disposition: "accepted",
      detail: `accepted; ${accepted.queue_depth} in the queue`,
    };
    if (!args.wait) {
      return {
        json: { ...accepted, ...submission },
        text: `accepted ${accepted.request_id} (${accepted.queue_depth} in the queue)\nSee: ${commandPrefix} requests show ${accepted.request_id}`,
      };
    }
    const name = `"${agent.manifest.agent_name}"`;
    const { clock } = context;
    const withQuestions = async <T>(work: Promise<T>): Promise<T> => {
      const waited = new AbortController();
      const reported = reportQuestions(clock, link.client, waited.signal, (asked) =>
        warn(io, `${name} ${asked}: ${commandPrefix} gateway tui decide --option ANSWER`),
      );
      const done = await work.finally(() => waited.abort());
      await reported;
      return done;
    };
    const startedMs = clock.monotonicMs();
    const record = await withQuestions(
      waitForRequest(clock, link.client, accepted.request_id, {
        until: "turn_ended",
        timeoutSeconds,
        ...(interrupted ? { interrupted } : {}),
        howToFollow: `Follow it with: ${commandPrefix} log --follow. End its turn with: ${commandPrefix} interrupt`,
      }),
    );
    const json = { ...submission, ...outcome(record), request: record };
    if (!isDone(record))
      return { json: { ...json, answer: null, turn: null }, text: renderRequest(record), exitCode: 1 };
    // Of a turn that was interrupted some tools write no end.
    const patience = stateForPeople(record) === "interrupted" ? {} : { maxWritingMs };
    const limit = await readLimit(link.client);
    const { turn, why } = await findAnswer(context.clock, link.client, record.request_id, patience);
    const badEnd = badEndOf(record, turn, limit);
    if (args.verbose) await io.writeError(`${renderRequest(record)}\n`);
    if (!turn) await warn(io, `the answer is not known: ${why}. See: ${commandPrefix} screen`);
    const ended = badEnd === null ? json : { ...json, success: false, detail: badEnd.detail };
    const document = { ...ended, answer: turn?.answer ?? null, turn };
    // A part of an answer, or a sentence of ours, is not printed as if the agent had said it.
    if (turn?.status === "running") {
      const end = badEnd === null ? "has ended" : `has ended (${badEnd.detail})`;
      const detail = `the turn ${end}, and the record of its tool has no end of the answer yet. See: ${commandPrefix} log --turn 1`;
      throw new CommandFailure(exitCodes.refused, detail, {
        ...document,
        error: "answer_not_written",
        detail,
      });
    }
    const note = turn && sourceNote(turn);
    if (note !== null) await narrate(io, note);
    // A shell goes on behind exit 0 alone: an answer that was cut off is none.
    if (badEnd !== null) await warn(io, `the turn did not succeed: ${badEnd.detail}`);
    const waits = badEnd === null && !args["no-background"];
    const leftMs = timeoutSeconds * 1000 - (clock.monotonicMs() - startedMs);
    const { left } = await withQuestions(
      awaitBackground(
        { clock, client: link.client, timeoutMs: waits ? leftMs : 0, signal: interrupted },
        async (work) => {
          const running = `${name} has work in the background: ${work.join(", ")}`;
          await warn(io, waits ? `${running}. Waiting for it; --no-background does not` : running);
        },
      ),
    );
    const own = waits && turn?.source === "tool" ? await ownTurnsAfter(clock, link.client, turn) : [];
    const answers = turn ? [turn, ...own] : [];
    const isLeft = waits && left.length > 0;
    if (isLeft)
      await warn(io, `its work goes on: ${left.join(", ")}. Follow it with: ${commandPrefix} log --follow`);
    const answer = answers.length > 1 ? answers.map(renderAnswer).join("\n\n") : document.answer;
    return {
      json: { ...document, answer, own_turns: own, background: left },
      text: turn ? answers.map(renderAnswer).join("\n\n") : renderRequest(record),
      exitCode: badEnd === null && !isLeft ? exitCodes.done : exitCodes.refused,
    };
  },
});

/** After its reported end Claude Code 2.1.150 took more than 7 s to write 58 KB on a busy machine. */
const maxWritingMs = 60_000;
const interrupt = command({
  name: "interrupt",
  description: "stop the agent's turn; on an idle agent nothing is typed",
  examples: ["svc-mgr agents single --agent-name worker interrupt"],
  async run(invocation) {
    const { context, agent, link } = await openLiveTarget(invocation);
    const { record, outcome } = await interruptThrough(context.clock, link.client);
    const noOp = outcome.result_json?.["outcome"] === "no_op";
    const failed = outcome.state === "failed";
    const detail = outcome.error_detail ?? (noOp ? await describeIdle(link.client) : "interrupted");
    const submission: AgentSubmission = {
      success: !failed,
      tracked_agent_id: trackedAgentId(agent.manifest),
      request_id: record.request_id,
      request_kind: "interrupt",
      disposition: noOp ? "no_op" : "accepted",
      detail,
    };
    return { json: { ...submission, request: record }, text: detail, exitCode: failed ? 1 : 0 };
  },
});

export const workCommands = { state, identity, prompt, interrupt };

function renderState({ state, link }: Observed, commandPrefix: string): string {
  const { identity, gateway, turn, last_turn: last } = state;
  const waiting = link.state === "healthy" ? link.status.waiting : undefined;
  return renderPairs([
    ["agent", `${identity.agent_name} (${identity.agent_id})`],
    ["tool", identity.tool],
    ["lifecycle", lifecycleOf(identity, commandPrefix)],
    ["availability", state.availability],
    ["turn", turn.phase],
    ["last turn", last.result === "unknown" ? null : last.result],
    ["waits for", decisionOf(state)],
    ["tmux session", identity.tmux_session_name],
    ["gateway", link.state === "healthy" ? link.client.baseUrl : `none: ${link.why}`],
    ["admission", gateway?.request_admission],
    ["queue", gateway?.queue_depth],
    ["queue waits", waiting && `${waiting.reason} since ${waiting.since_utc}: ${waiting.detail}`],
    ...state.diagnostics.map((one) => [one.kind, one.message] as const),
  ]);
}

/** The state of the record, unless tmux contradicts it: a session can end without an update of the record. */
function lifecycleOf({ lifecycle_state, liveness }: AgentIdentity, commandPrefix: string): string | null {
  if (lifecycle_state !== "active" || liveness !== "gone") return lifecycle_state;
  return `gone: its tmux session has ended; start it again with: ${commandPrefix} relaunch`;
}

function decisionOf({ awaiting_decision: decision }: AgentState): string | null {
  return decision ? renderDecision(decision) : null;
}

function outcome(record: RequestRecord): Pick<AgentSubmission, "success" | "detail"> {
  const ended = record.evidence.find((one) => one.agent_ended === true);
  return { success: isDone(record), detail: record.error_detail ?? ended?.proof ?? record.state };
}

/** Delivered, and the agent lived to the end of the turn. */
function isDone(record: RequestRecord): boolean {
  return record.state !== "failed" && !record.evidence.some((one) => one.agent_ended === true);
}

/** An interrupt overtakes prompts that were accepted before it; they still run. */
async function describeIdle(client: GatewayClient): Promise<string> {
  const list = await client.call("listRequests", { query: { limit: 1000 } });
  const requests = list.kind === "ok" ? list.body.requests : [];
  const count = requests.filter((one) => isOpen(one) && one.request_kind !== "interrupt").length;
  const waiting = count === 1 ? "1 prompt waits in the queue" : `${count} prompts wait in the queue`;
  return count === 0 ? "nothing was running" : `nothing was running; ${waiting}`;
}

/** How far back the prompt is looked for that the agent works on. */
const looked = 20;

/**
 * Which agent this process runs in, with the length of the chain that its prompts continue; null in nobody's
 * session. Throws `precondition_failed` for a chain of more than `maxPromptHops` agents.
 */
async function findSubmitter(context: CliContext, env: CliIo["env"]): Promise<Submitter | null> {
  if (env["SVC_MANIFEST_PATH"] === undefined && env["SVC_AGENT_ID"] === undefined) return null;
  const { files, registry, paneTmux: tmux, clock } = context;
  const self = await findSelf({ files, registry, tmux, env, nowMs: clock.nowMs() }).catch(() => null);
  if (self === null) return null;
  const { manifest, sessionRoot } = self;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(context, { sessionRoot, attachIdentity });
  const response =
    link.state === "healthy" ? await link.client.call("listRequests", { query: { limit: looked } }) : null;
  const hops = (response?.kind === "ok" ? hopsOf(response.body.requests) : 0) + 1;
  if (hops > maxPromptHops) {
    throw new ServiceError(
      "precondition_failed",
      `not submitted: ${maxPromptHops} agents have handed this task on, one to the next, which looks like a loop. Finish it here, or ask a person`,
    );
  }
  return { agent_id: manifest.agent_id, agent_name: manifest.agent_name, hops };
}

/**
 * Hops of the prompt whose turn runs; 0 when a person gave it or none runs. `requests`: newest first. Pure.
 */
export function hopsOf(requests: readonly RequestRecord[]): number {
  const working = requests.find(
    ({ request_kind: kind, state, evidence }) =>
      kind !== "interrupt" &&
      (state === "running" || state === "completed") &&
      !evidence.some(({ step }) => step === "turn_ended"),
  );
  return working?.submitted_by?.hops ?? 0;
}
