import type { AgentSubmission } from "../../protocol/agents.ts";
import {
  type AcceptedRequest,
  maxPromptHops,
  type PromptPayload,
  type RequestRecord,
  type Submitter,
} from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { TranscriptTurn } from "../../protocol/transcript.ts";
import { type GatewayCalls, isOpen } from "../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../services/fleet/gateway-link.ts";
import { trackedAgentId } from "../../services/fleet/projection.ts";
import { type FoundAgent, findSelf } from "../../services/sessions/find.ts";
import { gatewayIdentity } from "../../services/sessions/manifest.ts";
import { ServiceError } from "../../system/errors.ts";
import { awaitBackground, ownTurnsAfter } from "../agent/agent-background.ts";
import {
  describeProgress,
  interruptThrough,
  stateForPeople,
  waitForRequest,
} from "../agent/agent-requests.ts";
import { findAnswer } from "../agent/agent-transcript.ts";
import { reportQuestions } from "../agent/questions.ts";
import { openReconnecting } from "../agent/reconnecting-client.ts";
import { type AgentCaller, acceptanceOf, openLiveTarget, type Target } from "../agent/target.ts";
import { type BadEnd, badEndOf, readLimit } from "../agent/turn-end.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import { toSentence } from "../command-line/remedies.ts";

interface PromptInput extends Pick<PromptPayload, "prompt" | "execution" | "chat_session"> {
  delivery?: PromptPayload["delivery"] | undefined;
  /** The same one is not accepted twice. */
  idempotencyKey?: string;
}

/** A prompt that the gateway keeps. */
export interface SubmittedPrompt {
  accepted: AcceptedRequest;
  submission: AgentSubmission;
  /** How the agent is named on a command line. */
  commandPrefix: string;
}

/** Queues a prompt for an agent. Throws what keeps it from being accepted. */
export async function submitPrompt(caller: AgentCaller, input: PromptInput): Promise<SubmittedPrompt> {
  const { link, ...target } = await openLiveTarget(caller);
  return submitThrough(target, link.client, caller.io, input);
}

export async function submitThrough(
  { context, agent, commandPrefix }: Target,
  client: GatewayCalls,
  io: CliIo,
  { prompt, delivery, execution, chat_session, idempotencyKey }: PromptInput,
): Promise<SubmittedPrompt> {
  const submitter = await findSubmitter(context, io.env);
  const response = await client.call("submitRequest", {
    body: {
      schema_version: 1,
      kind: "submit_prompt",
      payload: {
        prompt,
        ...(delivery === undefined ? {} : { delivery }),
        ...(execution === undefined ? {} : { execution }),
        ...(chat_session === undefined ? {} : { chat_session }),
      },
      ...(submitter === null ? {} : { submitted_by: submitter }),
    },
    idempotencyKey,
  });
  const accepted = acceptanceOf(response, `${commandPrefix} requests list`);
  const submission: AgentSubmission = {
    success: true,
    tracked_agent_id: trackedAgentId(agent.manifest),
    request_id: accepted.request_id,
    request_kind: accepted.request_kind,
    disposition: "accepted",
    detail: `accepted; ${accepted.queue_depth} in the queue`,
  };
  return { accepted, submission, commandPrefix };
}

export interface QuestionInput extends PromptInput {
  /** Null waits without end. */
  timeoutSeconds: number | null;
  /** Also waits for the work that the turn leaves running in the background. */
  awaitsBackground: boolean;
}

/** How the turn of a prompt ended. `why`: without a turn, why nothing has its answer. */
interface EndedTurn {
  record: RequestRecord;
  turn: TranscriptTurn | null;
  why: string | null;
  badEnd: BadEnd | null;
}

export interface AskedAgent extends Pick<Target, "advise"> {
  agent_name: string;
}

/** Hears what a person wants to know before the end. */
interface AskProgress {
  question(agent: AskedAgent, text: string): Promise<void>;
  /** What the prompt comes to now, and since when; once a second until its turn has ended. */
  state(agent: AskedAgent, text: string, seconds: number): Promise<void>;
  turnEnded(agent: AskedAgent, end: EndedTurn): Promise<void>;
  background(agent: AskedAgent, work: readonly string[], isAwaited: boolean): Promise<void>;
}

type AskedTurn = { submission: AgentSubmission; agent: AskedAgent } & (
  | { outcome: "not_done"; record: RequestRecord }
  /** The record of the tool has no end of the answer yet. */
  | ({ outcome: "not_written" } & EndedTurn)
  /** `ownTurns`: that the tool began by itself when the work ended; `background`: what still runs. */
  | ({ outcome: "ended"; ownTurns: TranscriptTurn[]; background: string[] } & EndedTurn)
);

/** A gateway that restarts is waited for so long. */
const outageMs = 30_000;
/** After its reported end Claude Code 2.1.150 took more than 7 s to write 58 KB on a busy machine. */
const maxWritingMs = 60_000;

/**
 * Queues a prompt and waits for the end of its turn, also when the gateway restarts meanwhile. Throws what keeps
 * the prompt from being accepted or followed: exit 1 when the time is over, 130 on an interrupt.
 */
export async function askAgent(
  caller: AgentCaller,
  { timeoutSeconds, awaitsBackground, ...input }: QuestionInput,
  progress: AskProgress,
): Promise<AskedTurn> {
  const over = new AbortController();
  const { client, ...target } = await openReconnecting(caller, { outageMs, over: over.signal });
  const { clock } = target.context;
  const { accepted, submission } = await submitThrough(target, client, caller.io, input);
  // From now on Ctrl-C reports the progress.
  const interrupted = caller.io.interrupted();
  const end = () => over.abort();
  interrupted.addEventListener("abort", end);
  const timeoutMs = timeoutSeconds === null ? Number.POSITIVE_INFINITY : timeoutSeconds * 1000;
  const startedMs = clock.monotonicMs();
  const cancelDeadline = timeoutSeconds === null ? () => {} : clock.after(timeoutMs, end);
  const { agent_name } = target.agent.manifest;
  const agent: AskedAgent = { agent_name, advise: target.advise };
  const ways: Remedy[] = [
    { code: "follow_log", agent_name },
    { code: "interrupt_turn", agent_name },
  ];
  let last: RequestRecord | null = null;
  let hasEnded = false;
  let state = { text: "", sinceMs: startedMs };
  const reported = reportQuestions(clock, client, over.signal, {
    question: (text) => progress.question(agent, text),
    async look(seen) {
      if (hasEnded) return;
      const text = describeProgress(last, seen, clock.nowMs());
      if (text !== state.text) state = { text, sinceMs: clock.monotonicMs() };
      await progress.state(agent, text, Math.floor((clock.monotonicMs() - state.sinceMs) / 1000));
    },
  });
  try {
    const record = await waitForRequest(clock, client, accepted.request_id, {
      until: "turn_ended",
      timeoutSeconds,
      interrupted,
      howToFollow: ways.map((way) => toSentence(target.advise(way))).join(". "),
      onRead: (read) => {
        last = read;
      },
    });
    hasEnded = true;
    const asked = { submission: { ...submission, ...outcomeOf(record) }, agent, record };
    if (!isDone(record)) return { ...asked, outcome: "not_done" };
    // Of a turn that was interrupted some tools write no end.
    const patience = stateForPeople(record) === "interrupted" ? {} : { maxWritingMs };
    const limit = await readLimit(client);
    const { turn, why } = await findAnswer(clock, client, record.request_id, patience);
    const badEnd = badEndOf(record, turn, limit);
    const ended = { ...asked, submission: withBadEnd(asked.submission, badEnd), turn, why, badEnd };
    await progress.turnEnded(agent, ended);
    if (turn?.status === "running") return { ...ended, outcome: "not_written" };
    const waits = badEnd === null && awaitsBackground;
    const byTool = turn?.source === "tool" ? turn : null;
    const remainingMs = timeoutMs - (clock.monotonicMs() - startedMs);
    const { remaining } = await awaitBackground(
      { clock, client, turn: byTool, timeoutMs: waits ? remainingMs : 0, signal: interrupted },
      (work) => progress.background(agent, work, waits),
    );
    const ownTurns = waits && byTool !== null ? await ownTurnsAfter(clock, client, byTool) : [];
    return { ...ended, outcome: "ended", ownTurns, background: remaining };
  } finally {
    cancelDeadline();
    interrupted.removeEventListener("abort", end);
    over.abort();
    await reported;
  }
}

export interface Interruption {
  submission: AgentSubmission;
  record: RequestRecord;
  failed: boolean;
  /** For people. */
  detail: string;
}

/** Stops the agent's turn; on an idle agent nothing is typed. */
export async function interruptTurn(caller: AgentCaller): Promise<Interruption> {
  const { context, agent, link } = await openLiveTarget(caller);
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
  return { submission, record, failed, detail };
}

/** An interrupt overtakes prompts that were accepted before it; they still run. */
async function describeIdle(client: GatewayCalls): Promise<string> {
  const list = await client.call("listRequests", { query: { limit: 1000 } });
  const requests = list.kind === "ok" ? list.body.requests : [];
  const count = requests.filter((one) => isOpen(one) && one.request_kind !== "interrupt").length;
  const waiting = count === 1 ? "1 prompt waits in the queue" : `${count} prompts wait in the queue`;
  return count === 0 ? "nothing was running" : `nothing was running; ${waiting}`;
}

const withBadEnd = (submission: AgentSubmission, badEnd: BadEnd | null): AgentSubmission =>
  badEnd === null ? submission : { ...submission, success: false, detail: badEnd.detail };

function outcomeOf(record: RequestRecord): Pick<AgentSubmission, "success" | "detail"> {
  const ended = record.evidence.find((one) => one.agent_ended === true);
  return { success: isDone(record), detail: record.error_detail ?? ended?.proof ?? record.state };
}

/** Delivered, and the agent lived to the end of the turn. */
function isDone(record: RequestRecord): boolean {
  return record.state !== "failed" && !record.evidence.some((one) => one.agent_ended === true);
}

/** The agent in whose session this process runs; null in nobody's. */
export async function findOwnAgent(context: CliContext, env: CliIo["env"]): Promise<FoundAgent | null> {
  if (env["SVC_MANIFEST_PATH"] === undefined && env["SVC_AGENT_ID"] === undefined) return null;
  const { files, registry, paneTmux: tmux, clock } = context;
  return findSelf({ files, registry, tmux, env, nowMs: clock.nowMs() }).catch(() => null);
}

/** How far back the prompt is looked for that the agent works on. */
const looked = 20;

/**
 * Which agent this process runs in, with the length of the chain that its prompts continue; null in nobody's
 * session. Throws `precondition_failed` for a chain of more than `maxPromptHops` agents.
 */
async function findSubmitter(context: CliContext, env: CliIo["env"]): Promise<Submitter | null> {
  const self = await findOwnAgent(context, env);
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
