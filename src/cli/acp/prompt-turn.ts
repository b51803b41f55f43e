import {
  type AgentContext,
  methods,
  type PermissionOption,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import { type RequestRecord, wasInterrupted, wasWithdrawn } from "../../protocol/gateway.ts";
import { type AwaitingDecision, agentQuestion } from "../../protocol/terminal.ts";
import type { TranscriptTurn } from "../../protocol/transcript.ts";
import type { TurnEvent } from "../../protocol/turns.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import { interruptThrough, isFarEnough } from "../agent/agent-requests.ts";
import { findAnswer, renderAnswer } from "../agent/agent-transcript.ts";
import { acceptanceOf, bodyOf } from "../agent/target.ts";

interface PromptRun {
  client: AgentContext;
  sessionId: string;
  clock: Clock;
  gateway: GatewayCalls;
  prompt: string;
  /** Throws where the process that serves this may not answer the question: it may be an agent's. */
  requireMayAnswer(decision: AwaitingDecision): Promise<void>;
  /** Aborts when the client cancels the prompt. */
  cancelled: AbortSignal;
  /** Aborts when the client disconnects; the turn goes on. */
  disconnected: AbortSignal;
}

const pollIntervalMs = 200;
const eventPage = 500;

const lostGateway = (why: string) =>
  new RequestError(
    -32603,
    `the prompt is accepted and its turn goes on, but its gateway does not answer: ${why}`,
  );

/**
 * Queues the prompt, streams the text and the tool calls of its turn, forwards questions, and returns the
 * stop reason. Throws RequestError with the reason when the turn failed.
 */
export async function runPrompt(run: PromptRun): Promise<PromptResponse> {
  const { gateway, clock, prompt } = run;
  const body = { schema_version: 1 as const, kind: "submit_prompt" as const, payload: { prompt } };
  const accepted = acceptanceOf(
    await gateway.call("submitRequest", { body }),
    "svc-mgr agents single requests list",
  );
  const params = { request_id: accepted.request_id };
  const progress = createProgress(run);
  const questions = createQuestions(run, progress.sendNote);
  let interrupted = false;
  try {
    for (;;) {
      const response = await gateway.call("readRequest", { params });
      if (run.disconnected.aborted) throw RequestError.requestCancelled();
      if (response.kind === "unreachable") throw lostGateway(response.detail);
      const record = bodyOf<GatewayEndpoints["readRequest"]>(response);
      const ended = isFarEnough(record, "turn_ended");
      if (record.turn_id !== undefined) await progress.followEvents(record.turn_id);
      if (ended) return await finish(run, record, progress, interrupted);
      if (run.cancelled.aborted && !interrupted && hasBegun(record)) {
        interrupted = true;
        await interruptThrough(clock, gateway);
        continue;
      }
      if (hasBegun(record)) await questions.poll();
      await sleep(clock, pollIntervalMs, run.disconnected);
      if (run.disconnected.aborted) throw RequestError.requestCancelled();
    }
  } finally {
    questions.close();
  }
}

/** Before that, an interrupt would stop the turn of another request. */
function hasBegun({ state, evidence }: RequestRecord): boolean {
  return state === "running" || evidence.some(({ step }) => step === "turn_started" || step === "submitted");
}

async function finish(
  { clock, gateway }: PromptRun,
  record: RequestRecord,
  progress: Progress,
  interrupted: boolean,
): Promise<PromptResponse> {
  if (record.state === "coalesced") return { stopReason: "cancelled" };
  if (record.state === "failed") {
    if (interrupted || wasInterrupted(record) || wasWithdrawn(record)) return { stopReason: "cancelled" };
    throw new RequestError(-32603, record.error_detail ?? "the request failed");
  }
  const { turn, why } = await findAnswer(clock, gateway, record.request_id);
  if (turn) await progress.finishWith(turn);
  else if (!interrupted) await progress.sendText(`(the answer is not known: ${why})`);
  return { stopReason: interrupted || turn?.status === "interrupted" ? "cancelled" : "end_turn" };
}

type Progress = ReturnType<typeof createProgress>;

/** Sends the turn to the client, each part once. */
function createProgress({ client, sessionId, gateway }: PromptRun) {
  let events = 0;
  let sentText = "";
  let sentCalls = 0;

  const update = (one: SessionUpdate) =>
    client.notify(methods.client.session.update, { sessionId, update: one });
  async function sendText(text: string): Promise<void> {
    if (text === "") return;
    sentText += text;
    await update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  /** Sends nothing when the answer was already sent in pieces. */
  async function sendAnswer(text: string): Promise<void> {
    if (sentText.endsWith(text)) return;
    await sendText(text);
  }

  async function sendEvent(event: TurnEvent): Promise<void> {
    const data = event.payload?.data ?? {};
    const text = typeof data["text"] === "string" ? data["text"] : event.message;
    const id = String(data["action_id"] ?? `event-${events}`);
    switch (event.kind) {
      case "progress":
        if (typeof data["text_delta"] === "string") await sendText(data["text_delta"]);
        return;
      case "assistant":
        return sendAnswer(text);
      case "reasoning":
        return update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text } });
      case "action_request": {
        const title = [data["name"], data["arguments_summary"]].filter((part) => part).join(" ");
        sentCalls += 1;
        return update({
          sessionUpdate: "tool_call",
          toolCallId: id,
          title: title || event.message,
          kind: "other",
          status: "in_progress",
        });
      }
      case "action_result": {
        const output = String(data["result_summary"] ?? event.message);
        return update({
          sessionUpdate: "tool_call_update",
          toolCallId: id,
          status: data["status"] === "error" ? "failed" : "completed",
          content: [{ type: "content", content: { type: "text", text: output } }],
        });
      }
      default:
        return;
    }
  }

  return {
    sendText,
    /** Text beside the answer of the agent. */
    sendNote: (text: string): Promise<void> =>
      update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: `${text}\n` } }),
    /** Sends the events of a headless turn that were not sent yet. */
    async followEvents(turnId: string): Promise<void> {
      for (;;) {
        const query = { after: events, limit: eventPage };
        const response = await gateway.call("turnEvents", { params: { turn_id: turnId }, query });
        if (response.kind !== "ok") return;
        for (const event of response.body.entries) {
          await sendEvent(event);
          events += 1;
        }
        if (response.body.next === null) return;
      }
    },
    /**
     * Sends the parts of the ended turn that were not sent: for a terminal, all of them from the transcript.
     */
    async finishWith(turn: TranscriptTurn): Promise<void> {
      if (events > 0) return;
      for (const [at, call] of turn.tool_calls.entries()) {
        if (at < sentCalls) continue;
        await update({
          sessionUpdate: "tool_call",
          toolCallId: `${turn.turn_id}-${at}`,
          title: `${call.name} ${call.input}`,
          kind: "other",
          status: call.status === "failed" ? "failed" : "completed",
        });
      }
      await sendText(renderAnswer(turn));
    },
  };
}

/** Forwards each question of the agent to the client once, and the client's answer to the agent. */
function createQuestions(
  { client, sessionId, gateway, requireMayAnswer, cancelled }: PromptRun,
  sendNote: (text: string) => Promise<void>,
) {
  let open: { id: string; withdraw: AbortController } | null = null;

  function withdraw(): void {
    open?.withdraw.abort();
    open = null;
  }

  async function current(): Promise<AwaitingDecision | null> {
    const terminal = await gateway.call("terminalState", {});
    // An agent without a terminal asks through its status.
    const response = terminal.kind === "refused" ? await gateway.call("status", {}) : terminal;
    return response.kind === "ok" ? agentQuestion(response.body.awaiting_decision) : null;
  }

  async function ask(decision: AwaitingDecision, id: string, signal: AbortSignal): Promise<void> {
    try {
      await requireMayAnswer(decision);
    } catch (error) {
      // The turn waits for an answer that this client is not asked for.
      return sendNote(`(the agent asks: ${visibleLine(decision.question)}: ${messageOf(error)})`);
    }
    const answer = await client.request(
      methods.client.session.requestPermission,
      {
        sessionId,
        toolCall: {
          toolCallId: id,
          title: decision.question || "a question that could not be read",
          kind: "other",
          status: "pending",
        },
        options: decision.options.map(toPermissionOption),
      },
      { cancellationSignal: signal, stopWaitingOnCancel: true },
    );
    if (answer.outcome.outcome !== "selected" || cancelled.aborted) return;
    const body = {
      schema_version: 1 as const,
      option: Number(answer.outcome.optionId),
      ...(decision.id === undefined ? {} : { id: decision.id }),
    };
    // Refused when the question was answered elsewhere meanwhile.
    await gateway.call("decide", { body, timeoutMs: 30_000 });
  }

  return {
    async poll(): Promise<void> {
      const decision = await current();
      const id = decision ? (decision.id ?? decision.question) : null;
      if (id === (open?.id ?? null)) return;
      withdraw();
      if (!decision || id === null || decision.options.length === 0) return;
      const withdrawn = new AbortController();
      open = { id, withdraw: withdrawn };
      ask(decision, id, withdrawn.signal).catch(() => {});
    },
    close: withdraw,
  };
}

/** The kind of an option is only in its text. Pure. */
function toPermissionOption({ index, text }: { index: number; text: string }): PermissionOption {
  const refuses = /^(?:no|don't|do not|reject|deny|cancel|abort|stop|exit)\b/i.test(text);
  const always = /\b(?:always|don't ask again|all edits|this session)\b/i.test(text);
  const kind = refuses ? (always ? "reject_always" : "reject_once") : always ? "allow_always" : "allow_once";
  return { optionId: String(index), name: text, kind };
}
