import type { StoredRequest } from "../../../../db/gateway/request-store.ts";
import type { Evidence } from "../../../../protocol/gateway.ts";
import { parseTimestamp } from "../../../../system/clock.ts";
import { sha256 } from "../../../../system/digest.ts";

/**
 * A step of a request's life, as it is exported. Times are the recorded ones, milliseconds since the Unix
 * epoch.
 */
export interface TraceSpan {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** 16 hexadecimal digits. */
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: "internal" | "server" | "consumer";
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number>;
  events: { name: string; atMs: number; attributes?: Record<string, string> }[];
  /** Spans of the same trace that caused this one. */
  links: string[];
  /** `error.type`; null where nothing failed. */
  error: string | null;
}

/** Why a request waited, from when on. `reason`: a word of ours, never text of others. */
export interface NotedWait {
  reason: string;
  atMs: number;
}

/** Mail that woke the agent, without its text. */
interface WakingMail {
  message_ref: string;
  thread_ref: string | null;
  created_at_utc: string;
}

/** Of more mail the oldest are spans. */
const maxMailSpans = 16;

/** The trace of a request: what `printf %s ID | sha256sum | cut -c1-32` prints. Pure. */
export function traceIdOf(requestId: string): string {
  return sha256(requestId).slice(0, 32);
}

/** The same span has the same id whenever, and by whichever process, it is exported. Pure. */
function spanIdOf(requestId: string, name: string): string {
  return sha256(`${requestId} ${name}`).slice(0, 16);
}

/**
 * The spans of a request that has ended: `request` from its acceptance to its end, and below it `queue`,
 * `deliver`, `turn` as far as it got, and a `mail` for each message that caused it. Empty for one that has
 * not ended. No text of a prompt, a message, an error or a screen is in them. Pure. Source: decision 84.
 */
export function toRequestSpans(
  request: StoredRequest,
  about: { waits: readonly NotedWait[]; mail: readonly WakingMail[] },
): TraceSpan[] {
  const acceptedMs = parseTimestamp(request.acceptedAtUtc);
  const finishedMs = timeOf(request.finishedAtUtc);
  if (acceptedMs === null || finishedMs === null) return [];
  const mail = about.mail.slice(0, maxMailSpans).map((one) => toMailSpan(request, one, acceptedMs));
  const startedMs = timeOf(request.startedAtUtc);
  const root: TraceSpan = {
    ...spanOf(request, "request", acceptedMs, finishedMs),
    parentSpanId: null,
    kind: request.kind === "mail_notifier_prompt" ? "consumer" : "server",
    attributes: attributesOf(request, about.mail.length),
    links: mail.map(({ spanId }) => spanId),
    error: errorOf(request),
  };
  const queue: TraceSpan = {
    ...spanOf(request, "queue", acceptedMs, startedMs ?? finishedMs),
    events: about.waits.map(({ reason, atMs }) => ({
      name: "waiting",
      atMs,
      attributes: { "svc.reason": reason },
    })),
  };
  const turn = toTurnSpan(request);
  return [root, queue, ...toDelivery(request, startedMs, finishedMs), ...(turn ? [turn] : []), ...mail];
}

/** From the moment at which the agent began, else took it, until it had done it; null before that. Pure. */
export function toTurnSpan(request: StoredRequest): TraceSpan | null {
  const startMs = stepAt(request, "turn_started") ?? stepAt(request, "submitted");
  const ended = request.evidence.find(({ step }) => step === "turn_ended");
  const endMs = ended ? parseTimestamp(ended.at_utc) : null;
  if (startMs === null || endMs === null) return null;
  const turnId = turnIdOf(request);
  const outcome = request.result?.["turn_id"] === undefined ? null : errorOf(request);
  return {
    ...spanOf(request, "turn", startMs, endMs),
    attributes: { ...idOf(request), ...(turnId === null ? {} : { "svc.turn.id": turnId }) },
    error: ended?.agent_ended ? "agent_ended" : outcome,
  };
}

function toDelivery(request: StoredRequest, startedMs: number | null, finishedMs: number): TraceSpan[] {
  if (startedMs === null) return [];
  const submittedMs = stepAt(request, "submitted");
  const steps = request.evidence.filter(({ step }) => step === "typed" || step === "submitted");
  return [
    {
      ...spanOf(request, "deliver", startedMs, submittedMs ?? finishedMs),
      events: steps.flatMap(({ step, at_utc }) => {
        const atMs = parseTimestamp(at_utc);
        return atMs === null ? [] : [{ name: step, atMs }];
      }),
      error: submittedMs === null ? errorOf(request) : null,
    },
  ];
}

/** From when the message was sent until the wake-up that it caused was accepted. */
function toMailSpan(request: StoredRequest, mail: WakingMail, acceptedMs: number): TraceSpan {
  const sentMs = parseTimestamp(mail.created_at_utc) ?? acceptedMs;
  return {
    ...spanOf(request, "mail", Math.min(sentMs, acceptedMs), acceptedMs),
    spanId: spanIdOf(request.requestId, `mail ${mail.message_ref}`),
    attributes: {
      ...idOf(request),
      "messaging.message.id": mail.message_ref,
      ...(mail.thread_ref === null ? {} : { "messaging.message.conversation_id": mail.thread_ref }),
    },
  };
}

/** Clocks may be set back: no span ends before it starts. */
function spanOf(request: StoredRequest, name: string, startMs: number, endMs: number): TraceSpan {
  const { requestId } = request;
  return {
    traceId: traceIdOf(requestId),
    spanId: spanIdOf(requestId, name),
    parentSpanId: spanIdOf(requestId, "request"),
    name,
    kind: "internal",
    startMs,
    endMs: Math.max(startMs, endMs),
    attributes: idOf(request),
    events: [],
    links: [],
    error: null,
  };
}

const idOf = ({ requestId }: StoredRequest) => ({ "svc.request.id": requestId });

function attributesOf(request: StoredRequest, mailCount: number): Record<string, string | number> {
  const submitter = request.payload["submitted_by"];
  const turnId = turnIdOf(request);
  const into = request.result?.["coalesced_into_request_id"];
  return {
    ...idOf(request),
    "svc.request.kind": request.kind,
    "svc.request.state": request.state,
    "svc.request.lane": request.lane,
    "svc.instance.epoch": request.epoch,
    ...(turnId === null ? {} : { "svc.turn.id": turnId }),
    ...(isSubmitter(submitter) ? { "svc.submitter.agent_id": submitter.agent_id } : {}),
    ...(typeof into === "string" ? { "svc.request.coalesced_into": into } : {}),
    ...(mailCount === 0 ? {} : { "svc.mail.count": mailCount }),
  };
}

/** One word of ours: the text of an error may quote a screen. */
function errorOf({ state, result }: StoredRequest): string | null {
  if (state !== "failed") return null;
  const outcome = result?.["outcome"];
  return typeof outcome === "string" ? outcome : "failed";
}

function turnIdOf({ payload, result }: StoredRequest): string | null {
  const turnId = result?.["turn_id"] ?? payload["turn_id"];
  return typeof turnId === "string" ? turnId : null;
}

const isSubmitter = (value: unknown): value is { agent_id: string } =>
  typeof value === "object" && value !== null && "agent_id" in value && typeof value.agent_id === "string";

const timeOf = (text: string | null) => (text === null ? null : parseTimestamp(text));

function stepAt({ evidence }: StoredRequest, step: Evidence["step"]): number | null {
  return timeOf(evidence.find((one) => one.step === step)?.at_utc ?? null);
}
