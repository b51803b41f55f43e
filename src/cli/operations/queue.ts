import type { AcceptedRequest, PromptPayload, RequestRecord } from "../../protocol/gateway.ts";
import { wasInterrupted, wasWithdrawn } from "../../protocol/gateway.ts";
import { maxPage } from "../../protocol/wire.ts";
import { explainWait, type WaitExplanation } from "../../services/fleet/explain-wait.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { type AgentCaller, bodyOf, openLiveTarget, type Target } from "../agent/target.ts";
import { findOwnAgent, submitThrough } from "./prompt.ts";
import { openReadable } from "./read.ts";

interface WaitingQueue {
  target: Target;
  /** Oldest first, each with its prompt. */
  requests: RequestRecord[];
  /** What keeps the oldest one from being typed; null where no gateway serves the agent. */
  explanation: WaitExplanation | null;
}

/** What waits in the queue of an agent, also when no gateway serves it. */
export async function listWaiting(caller: AgentCaller): Promise<WaitingQueue> {
  const { client, stored, ...target } = await openReadable(caller);
  const requests = await readDetails(client, await readWaiting(client));
  const waiting = { target, requests: requests.filter(({ state }) => state === "accepted") };
  if (stored !== null) return { ...waiting, explanation: null };
  const { status, terminal } = bodyOf(await client.call("snapshot", { query: { limit: 1 } }));
  return { ...waiting, explanation: explainWait(target.agent, { status, terminal }) };
}

/** Oldest first. */
async function readWaiting(client: GatewayCalls): Promise<RequestRecord[]> {
  const query = { limit: maxPage, state: "accepted" };
  return bodyOf(await client.call("listRequests", { query })).requests.toReversed();
}

/** So many are read at once. */
const atOnce = 16;

/** The same requests as they are now, with their prompts. */
async function readDetails(
  client: GatewayCalls,
  requests: readonly RequestRecord[],
): Promise<RequestRecord[]> {
  const details: RequestRecord[] = [];
  for (let at = 0; at < requests.length; at += atOnce) {
    const page = requests.slice(at, at + atOnce);
    details.push(...(await Promise.all(page.map(({ request_id }) => readDetail(client, request_id)))));
  }
  return details;
}

async function readDetail(client: GatewayCalls, request_id: string): Promise<RequestRecord> {
  return bodyOf(await client.call("readRequest", { params: { request_id }, query: { include: "prompt" } }));
}

interface Withdrawals {
  agent_name: string;
  /** With their prompts, so that nothing is lost that was withdrawn by mistake. */
  withdrawn: RequestRecord[];
  refused: { request: string; detail: string }[];
}

/**
 * Takes back prompts that wait: those with these numbers or ids, or all that the caller may withdraw. An agent
 * withdraws only what it submitted. One that is refused keeps no other from being withdrawn.
 */
export async function withdrawPrompts(
  caller: AgentCaller,
  which: "all" | readonly string[],
): Promise<Withdrawals> {
  const { context, agent, link } = await openLiveTarget(caller);
  const { client } = link;
  const by = (await findOwnAgent(context, caller.io.env))?.manifest.agent_id ?? null;
  const result: Withdrawals = { agent_name: agent.manifest.agent_name, withdrawn: [], refused: [] };

  async function withdraw(request: string, request_id: string): Promise<void> {
    const params = { request_id };
    const before = await client.call("readRequest", { params, query: { include: "prompt" } });
    const query = by === null ? {} : { agent_id: by };
    const response = await client.call("withdrawRequest", { params, query });
    if (response.kind === "ok") {
      const detail = before.kind === "ok" ? before.body : {};
      result.withdrawn.push({ ...detail, ...response.body });
    } else {
      const doubt = response.kind === "unreachable" && response.sent ? "it may have been withdrawn: " : "";
      result.refused.push({ request, detail: `${doubt}${response.detail}` });
    }
  }

  const waiting = await readWaiting(client);
  if (which === "all") {
    const own = waiting.filter((one) => one.request_kind !== "interrupt" && isOf(one, by));
    for (const { request_id } of own) await withdraw(request_id, request_id);
    return result;
  }
  for (const word of which) {
    const id = isNumber(word) ? await findByNumber(client, waiting, Number(word)) : word;
    if (id === null) result.refused.push({ request: word, detail: `no request has the number ${word}` });
    else await withdraw(word, id);
  }
  return result;
}

const isOf = ({ submitted_by }: RequestRecord, by: string | null): boolean =>
  by === null || submitted_by?.agent_id === by;

/** The digits of a number; anything else is an id. Pure. */
const isNumber = (word: string): boolean => /^\d{1,15}$/.test(word);

/** Also one that waits no more: the gateway says what became of it. */
async function findByNumber(
  client: GatewayCalls,
  waiting: readonly RequestRecord[],
  number: number,
): Promise<string | null> {
  const isIt = (one: RequestRecord) => one.number === number;
  const found =
    waiting.find(isIt) ??
    bodyOf(await client.call("listRequests", { query: { limit: maxPage } })).requests.find(isIt);
  return found?.request_id ?? null;
}

/** So many of the newest requests are looked at. */
const lookedAt = 200;

interface FailedPrompts {
  target: Target;
  /** Oldest first, each with its prompt. */
  requests: RequestRecord[];
}

/**
 * Prompts that failed or have an unknown outcome, after which nobody gave new work, or those with these
 * numbers or ids; not what was withdrawn or interrupted, and not what was submitted again before.
 */
export async function listFailed(caller: AgentCaller, which: readonly string[] = []): Promise<FailedPrompts> {
  const { link, ...target } = await openLiveTarget(caller);
  const { requests } = bodyOf(await link.client.call("listRequests", { query: { limit: lookedAt } }));
  const failed = failedPrompts(requests).filter((one) =>
    which.length === 0
      ? !isFollowed(one, requests)
      : which.some((word) => word === one.request_id || word === String(one.number)),
  );
  return { target, requests: await readDetails(link.client, failed.toReversed()) };
}

/** The key under which a failed prompt is submitted again: once, however often it is asked for. Pure. */
const keyOfAgain = ({ request_id }: RequestRecord): string => `again-${request_id}`;

/** Newest first. Pure. */
export function failedPrompts(requests: readonly RequestRecord[]): RequestRecord[] {
  const keys = new Set(requests.map(({ idempotency_key: key }) => key));
  return requests.filter(
    (one) =>
      one.state === "failed" &&
      one.request_kind === "submit_prompt" &&
      !wasWithdrawn(one) &&
      !wasInterrupted(one) &&
      !keys.has(keyOfAgain(one)),
  );
}

/** Whether somebody gave other work after it had failed. `requests`: all that are known. Pure. */
export function isFollowed(failed: RequestRecord, requests: readonly RequestRecord[]): boolean {
  const ended = failed.finished_at_utc ?? failed.accepted_at_utc;
  return requests.some(
    ({ request_kind: kind, accepted_at_utc: at, idempotency_key: key }) =>
      kind === "submit_prompt" && at > ended && key?.startsWith("again-") !== true,
  );
}

interface Resubmission {
  /** The one that failed. */
  request: RequestRecord;
  accepted: AcceptedRequest;
}

/**
 * Submits each prompt as a new request. Nothing of the old one is repeated, so a turn that it may have begun
 * may run twice: a person has seen it before. Throws at the first that is refused.
 */
export async function resubmitPrompts(
  caller: AgentCaller,
  requests: readonly RequestRecord[],
): Promise<Resubmission[]> {
  const { link, ...target } = await openLiveTarget(caller);
  const done: Resubmission[] = [];
  for (const request of requests) {
    const { prompt, options = {} } = request;
    if (prompt === undefined) continue;
    // The gateway checks them as those of any request.
    const { delivery, execution, chat_session } = options as Partial<PromptPayload>;
    const { accepted } = await submitThrough(target, link.client, caller.io, {
      prompt,
      delivery,
      ...(execution === undefined ? {} : { execution }),
      ...(chat_session === undefined ? {} : { chat_session }),
      idempotencyKey: keyOfAgain(request),
    });
    done.push({ request, accepted });
  }
  return done;
}
