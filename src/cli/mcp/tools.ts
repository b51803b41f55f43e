import { type Static, type TObject, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { AgentState } from "../../protocol/agents.ts";
import { AttentionAnswerRequest, type AttentionItem } from "../../protocol/attention.ts";
import { Delivery, PromptPayload, type RequestRecord } from "../../protocol/gateway.ts";
import {
  MailListRequest,
  type MailMessage,
  MailRefRequest,
  MailReplyRequest,
  MailSendRequest,
} from "../../protocol/mail.ts";
import type { TranscriptTurn } from "../../protocol/transcript.ts";
import { NonBlank, Strict, visiblePattern } from "../../protocol/wire.ts";
import { observeAgent } from "../../services/fleet/fleet-reader.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { type Clock, sleep, withinTime } from "../../system/clock.ts";
import { isFarEnough, stateForPeople, stillWaitsFor } from "../agent/agent-requests.ts";
import { findAnswer, readTranscript, renderAnswer, withWholeAnswer } from "../agent/agent-transcript.ts";
import { requireAnswerer } from "../agent/questions.ts";
import { openReconnecting } from "../agent/reconnecting-client.ts";
import { toSnapshotJson } from "../agent/snapshot-text.ts";
import { bodyOf, openLiveTarget, openTarget } from "../agent/target.ts";
import { findNamed } from "../agent/team-scope.ts";
import { badEndOf, readLimit } from "../agent/turn-end.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import type { Caller } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { performMail, performOrAsk } from "../mail/agent-mail.ts";
import { mailOf, refuseOtherRoot } from "../mail/agent-mailbox.ts";
import { answerQuestion, attentionFilter, listAttention } from "../operations/attention.ts";
import { listAgents } from "../operations/fleet.ts";
import { findOwnAgent, submitPrompt } from "../operations/prompt.ts";
import { withdrawPrompts } from "../operations/queue.ts";

/** The context of a call. The session that the server runs in identifies the caller; arguments never do. */
interface ToolSession extends Caller {
  /** Aborts when the client cancels the call or goes away. */
  cancelled: AbortSignal;
}

/** A tool of the server. Its arguments are fields of the protocol, its result is always an object. */
interface Tool {
  description: string;
  input: TObject;
  run(args: never, session: ToolSession): Promise<object>;
}

function tool<S extends TObject>(
  description: string,
  input: S,
  run: (args: Static<S>, session: ToolSession) => Promise<object>,
): Tool {
  return { description, input, run: run as Tool["run"] };
}

/** Below the time limit of every client that was measured. */
const maxWaitSeconds = 50;
const waitPollMs = 500;
/** How long the last look of a wait may take. */
const lastLookMs = 4000;
/** Most characters of an answer in one result. */
const maxAnswerCharacters = 20_000;

const agent = NonBlank("the agent's name", { maxLength: 200 });
const requestId = NonBlank("request_id that prompt_agent gave", { maxLength: 200 });

const mcpTools = {
  agents: tool(
    "List the agents here: what each is and does, and its mail address's unread count.",
    Strict({}),
    async (_args, session) => {
      const { snapshots } = await listAgents(session, "active");
      return { agents: snapshots.map((one) => shortAgent(toSnapshotJson(one, session.io.advise))) };
    },
  ),
  status: tool(
    "Show what an agent does now, and what it asks a person. Without a name: you.",
    Strict({ agent: Type.Optional(agent) }),
    async (args, session) => {
      const whom = args.agent === undefined ? "self" : { agentName: args.agent };
      const target = await openTarget({ ...session, whom });
      const { state } = await observeAgent(target.context, target.agent);
      return { ...shortState(state), asks: await openQuestions(session, state.identity.agent_name ?? "") };
    },
  ),
  prompt_agent: tool(
    "Give an agent a task; it is queued and kept. Then call wait.",
    Strict({ agent, prompt: PromptPayload.properties.prompt, delivery: Type.Optional(Delivery) }),
    async ({ agent: name, prompt, delivery }, session) => {
      const whom = { agentName: name };
      const { accepted } = await submitPrompt({ ...session, whom }, { prompt, delivery });
      return { request_id: accepted.request_id, next: `wait with agent ${name} and this request_id` };
    },
  ),
  wait: tool(
    "Wait for the end of a task and get its answer. Returns in time also when it goes on: then call it again.",
    Strict({
      agent,
      request_id: requestId,
      seconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: maxWaitSeconds, description: "default 45" }),
      ),
    }),
    async (args, session) => waitForEnd(args, session),
  ),
  withdraw: tool(
    "Take back a task that you gave and that has not begun.",
    Strict({ agent, request_id: requestId }),
    async ({ agent: name, request_id }, session) => {
      // Outside of a session nobody knows whose prompt it is.
      const own = await findOwnAgent(openCliContext(session.io, session.inherited), session.io.env);
      if (own === null) {
        const detail = "only the session of an agent that svc runs withdraws its prompts, and this is none";
        throw refusal("precondition_failed", detail);
      }
      const whom = { agentName: name };
      const { refused } = await withdrawPrompts({ ...session, whom }, [request_id]);
      const [why] = refused;
      if (why !== undefined) throw refusal("refused", why.detail);
      return { withdrawn: request_id };
    },
  ),
  read_answer: tool(
    "Read an agent's answer: its last one, or that of a task; from offset where it is long.",
    Strict({
      agent,
      request_id: Type.Optional(requestId),
      offset: Type.Optional(Type.Integer({ minimum: 0, description: "next_offset of the part before" })),
    }),
    async (args, session) => {
      const { client } = (await openLiveTarget({ ...session, whom: { agentName: args.agent } })).link;
      const asked = args.request_id === undefined ? { limit: 20 } : { limit: 1, request_id: args.request_id };
      const { turns } = await readTranscript(client, asked);
      const found = args.request_id === undefined ? turns.find(({ answer }) => answer !== null) : turns[0];
      if (found === undefined) return { answer: null, detail: "no turn has an answer yet" };
      return toAnswerPart(await withWholeAnswer(client, found), args.offset ?? 0);
    },
  ),
  answer: tool(
    "Answer a question of another agent, with the id that status or wait showed. Permissions are for people.",
    Strict({
      id: NonBlank("id of the question", { maxLength: 200 }),
      answer: AttentionAnswerRequest.properties.answer,
    }),
    async ({ id, answer }, session) => {
      // The operation knows whose question it is.
      await requireAnswerer(session, { agentId: null, isPermission: () => false }, { asTool: true });
      return answerQuestion(session, { id, answer });
    },
  ),
  send_mail: tool(
    "Send mail from your mailbox; with message_ref it is a reply.",
    Strict({
      to: Type.Optional(
        Type.Array(NonBlank("an agent's name or an address"), {
          maxItems: 100,
          description: "not of a reply",
        }),
      ),
      subject: Type.Optional({ ...MailSendRequest.properties.subject, description: "not of a reply" }),
      body: MailSendRequest.properties.body_content,
      message_ref: Type.Optional(MailReplyRequest.properties.message_ref),
    }),
    async ({ to = [], subject, body, message_ref: ref }, session) => {
      if (ref === undefined && to.length === 0)
        throw refusal("invalid_request", "to: name who gets it, or message_ref for a reply");
      const target = await ownMail(session);
      const content = { schema_version: 1 as const, body_content: body, attachments: [] };
      const outcome =
        ref === undefined
          ? await performOrAsk(
              target,
              "send",
              { ...content, to: await addressesOf(session, to), cc: [], subject: subject ?? "" },
              session.io,
            )
          : await performOrAsk(target, "reply", { ...content, message_ref: ref }, session.io);
      if ("done" in outcome) return { sent: shortMessage(outcome.done.message) };
      const { asked } = outcome;
      if (asked.status === "submitted") return { sent: null, ...asked };
      throw new CommandFailure(exitCodes.refused, asked.detail, asked);
    },
  ),
  read_mail: tool(
    "Read your mail: one message by its message_ref, which is read then, or the list of the unread.",
    Strict({
      message_ref: Type.Optional(MailRefRequest.properties.message_ref),
      query: Type.Optional(MailListRequest.properties.query),
    }),
    async ({ message_ref: ref, query }, session) => {
      const target = await ownMail(session);
      if (ref !== undefined) {
        const { done } = await performMail(target, "read", { schema_version: 1, message_ref: ref });
        return { ...shortMessage(done.message), body: done.message.body_text };
      }
      const { done } = await performMail(target, "list", {
        schema_version: 1,
        box: "inbox",
        answered_state: "any",
        limit: 20,
        ...(typeof query === "string" ? { read_state: "any", query } : { read_state: "unread" }),
      });
      return { unread: done.unread_count, messages: done.messages.map(shortMessage) };
    },
  ),
} satisfies Record<string, Tool>;

/**
 * The tools as a client lists them. Limits are left out, since a model pays for each word; calls are checked
 * with them.
 */
export function listTools() {
  return Object.entries(mcpTools).map(([name, { description, input }]) => ({
    name,
    description,
    inputSchema: JSON.parse(JSON.stringify(input, withoutChecks)) as { type: "object" },
  }));
}

const checks = ["pattern", "minLength", "maxLength", "maxItems", "enforced"];
const withoutChecks = (key: string, value: unknown) => (checks.includes(key) ? undefined : value);

/** Runs a tool. Throws `CommandFailure` with the document of the refusal. `args`: unchecked. */
export async function runTool(name: string, args: unknown, session: ToolSession): Promise<object> {
  const found: Tool | undefined = Object.hasOwn(mcpTools, name)
    ? mcpTools[name as keyof typeof mcpTools]
    : undefined;
  if (found === undefined)
    throw refusal("not_found", `there is no tool ${JSON.stringify(name.slice(0, 100))}`);
  const first = Value.Errors(found.input, args).First();
  if (first) {
    const where = first.path === "" ? "the arguments" : first.path.slice(1);
    const isBlank = first.schema["pattern"] === visiblePattern;
    throw refusal("invalid_request", `${where}: ${isBlank ? "it shows nothing" : first.message}`);
  }
  return found.run(args as never, session);
}

const refusal = (error: string, detail: string) =>
  new CommandFailure(exitCodes.usage, detail, { error, detail });

interface WaitedTask {
  agent: string;
  request_id: string;
  seconds?: number;
}

/** Returns within a moment of the deadline, whatever the gateway does, and goes on when it restarts. */
async function waitForEnd(args: WaitedTask, session: ToolSession): Promise<object> {
  const over = new AbortController();
  const opened = await openReconnecting(
    { ...session, whom: { agentName: args.agent } },
    {
      outageMs: maxWaitSeconds * 1000,
      over: AbortSignal.any([over.signal, session.cancelled]),
    },
  );
  const { clock } = opened.context;
  const deadlineMs = clock.monotonicMs() + (args.seconds ?? 45) * 1000;
  try {
    for (;;) {
      const leftMs = Math.max(deadlineMs - clock.monotonicMs(), 0);
      const look = lookAtTask(args, session, { clock, client: opened.client });
      const seen = await withinTime(clock, leftMs + lastLookMs, look);
      if (seen?.isOver) return seen.result;
      if (session.cancelled.aborted || clock.monotonicMs() >= deadlineMs) {
        const state = seen?.result ?? { detail: "the agent's gateway does not answer at this moment" };
        return { ...state, done: false, next: "wait again with the same arguments" };
      }
      await sleep(clock, Math.min(waitPollMs, leftMs), session.cancelled);
    }
  } finally {
    over.abort();
  }
}

/** `isOver`: there is nothing more to wait for. */
async function lookAtTask(
  { agent: name, request_id }: WaitedTask,
  session: ToolSession,
  { clock, client }: { clock: Clock; client: GatewayCalls },
): Promise<{ isOver: boolean; result: object }> {
  const record: RequestRecord = bodyOf(await client.call("readRequest", { params: { request_id } }));
  const state = stateForPeople(record);
  if (isFarEnough(record, "turn_ended")) {
    const done = { done: true, state };
    if (record.state !== "completed")
      return { isOver: true, result: { ...done, error: record.error_detail } };
    const limit = await readLimit(client);
    const { turn, why } = await findAnswer(clock, client, record.request_id);
    const answer = turn === null ? { answer: null, detail: why } : toAnswerPart(turn, 0);
    const badEnd = badEndOf(record, turn, limit);
    const end = badEnd === null ? {} : { state: badEnd.result, error: badEnd.detail };
    return { isOver: true, result: { ...done, ...answer, ...end } };
  }
  const { io, inherited } = session;
  const { agent_id: id } = await findNamed(openCliContext(io, inherited), io, name);
  const asks = await openQuestions(session, id);
  const result = { done: false, state, detail: stillWaitsFor(record) };
  const next = "answer the question if it is yours to answer";
  return asks.length > 0 ? { isOver: true, result: { ...result, asks, next } } : { isOver: false, result };
}

function toAnswerPart(turn: TranscriptTurn, offset: number): object {
  const whole = renderAnswer(turn);
  const part = whole.slice(offset, offset + maxAnswerCharacters);
  const end = offset + part.length;
  const more = end < whole.length ? { next_offset: end, next: "read_answer with offset next_offset" } : {};
  return { turn_id: turn.turn_id, status: turn.status, source: turn.source, answer: part, ...more };
}

/** The open questions of an agent with the answers that they allow. `who`: name or id. */
async function openQuestions(session: ToolSession, who: string): Promise<object[]> {
  const items = await listAttention(session, await attentionFilter(session, who));
  return items
    .filter(({ kind }) => kind === "question" || kind === "permission")
    .map(({ id, question, subject, answers }: AttentionItem) => ({ id, question, subject, answers }));
}

async function ownMail(session: ToolSession): Promise<ReturnType<typeof mailOf>> {
  return mailOf(await openTarget({ ...session, whom: "self" }), session.io);
}

async function addressesOf(session: ToolSession, names: readonly string[]): Promise<string[]> {
  return Promise.all(names.map((name) => addressOf(session, name)));
}

async function addressOf({ io, inherited }: ToolSession, who: string): Promise<string> {
  if (who.includes("@")) return who;
  const context = openCliContext(io, inherited);
  const binding = (await findNamed(context, io, who)).mailbox;
  if (!binding) throw refusal("precondition_failed", `"${who}" has no mailbox`);
  const { agent } = await openTarget({ io, inherited, whom: "self" });
  const own = agent.manifest.launch_plan.mailbox;
  refuseOtherRoot(
    context,
    { name: who, binding },
    { root: own?.filesystem_root, address: "", isAgent: true },
  );
  return binding.address;
}

function shortAgent(one: ReturnType<typeof toSnapshotJson>): object {
  const { agent_name: name, tool: program, turn_phase: turn, lifecycle_state: lifecycle } = one;
  const { problem, queue_depth: queue, unread_mail } = one;
  return {
    name,
    tool: program,
    turn: turn ?? lifecycle,
    queue,
    unread_mail,
    ...(problem ? { problem } : {}),
  };
}

function shortState({ identity, turn, last_turn, availability, gateway, mailbox }: AgentState): object {
  return {
    name: identity.agent_name,
    tool: identity.tool,
    availability,
    turn: turn.phase,
    last_turn: last_turn.result,
    queue: gateway?.queue_depth ?? null,
    address: mailbox?.address ?? null,
  };
}

function shortMessage({ message_ref, sender, to, subject, created_at_utc, read }: MailMessage): object {
  const from = sender.address;
  return { message_ref, from, to: to.map(({ address }) => address), subject, at: created_at_utc, read };
}
