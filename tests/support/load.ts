import type { GatewayRequest } from "../../src/protocol/gateway.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import type { CoordServer } from "./coord-server.ts";

/** The same numbers from 0 to 1 for the same seed. */
export function randomFrom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a caller was answered; `unreachable`: no answer came, and what was asked for may have been done. */
export type LoadResponse =
  | { kind: "ok"; requestId?: string; queueDepth?: number; messageRef?: string }
  | { kind: "refused" | "unreachable"; status?: number; detail?: string };

/** One thing that a caller may do. `weight`: how often, beside the other actions of the same driver. */
export interface LoadAction {
  weight: number;
  /** `number`: how many actions came before, from 1. Null when there is nobody to ask. */
  run(number: number): Promise<LoadResponse | null>;
}

export interface LoadDriver {
  random: () => number;
  /** The load ends when it says no. */
  isOn: () => boolean;
  /** Longest pause between two actions. */
  maxPauseMs: number;
  /** More requests than this do not wait at once: the driver pauses for up to 2 s. */
  maxWaiting?: number;
}

/**
 * The load of chaos, crash and soak runs: one action after the other, as the dice fall, until `isOn` says no.
 */
export async function driveLoad(driver: LoadDriver, actions: readonly LoadAction[]): Promise<void> {
  const { random, isOn, maxPauseMs, maxWaiting = Number.POSITIVE_INFINITY } = driver;
  const total = actions.reduce((sum, { weight }) => sum + weight, 0);
  for (let number = 1; isOn(); number++) {
    await Bun.sleep(random() * maxPauseMs);
    const response = await chosen(actions, random() * total)?.run(number);
    if (response?.kind === "ok" && (response.queueDepth ?? 0) > maxWaiting) await Bun.sleep(random() * 2000);
  }
}

/** The action in whose share of the sum of weights `dice` falls. */
function chosen(actions: readonly LoadAction[], dice: number): LoadAction | undefined {
  let below = 0;
  return actions.find(({ weight }) => {
    below += weight;
    return dice < below;
  });
}

type Client = Pick<GatewayClient, "call"> | null;

/** `timeoutMs`: see `CallOptions`. */
interface Patience {
  timeoutMs?: number;
}

export async function submitToGateway(
  client: Client,
  body: GatewayRequest,
  patience: Patience = {},
): Promise<LoadResponse | null> {
  const reply = await client?.call("submitRequest", { body, ...patience });
  if (reply?.kind !== "ok") return reply ?? null;
  return { kind: "ok", requestId: reply.body.request_id, queueDepth: reply.body.queue_depth };
}

export async function submitToCoordinator(
  server: Pick<CoordServer, "ask">,
  agentName: string,
  body: GatewayRequest,
): Promise<LoadResponse> {
  const answer = await server
    .ask(`/svc/agents/${agentName}/gateway/requests`, body)
    .catch((error) => String(error));
  if (typeof answer === "string") return { kind: "unreachable", detail: answer };
  const { status, body: said } = answer;
  if (status !== 202) return { kind: "refused", status, detail: JSON.stringify(said) };
  return { kind: "ok", requestId: String(said["request_id"]), queueDepth: Number(said["queue_depth"]) };
}

export async function sendMail(
  client: Client,
  mail: { to: string; subject: string; text: string },
  patience: Patience = {},
): Promise<LoadResponse | null> {
  const { to, subject, text } = mail;
  const body = { schema_version: 1 as const, to: [to], subject, body_content: text };
  const reply = await client?.call("mailSend", { body, ...patience });
  if (reply?.kind !== "ok") return reply ?? null;
  return { kind: "ok", messageRef: reply.body.message.message_ref };
}

export async function archiveMail(
  client: Client,
  messageRefs: string[],
  patience: Patience = {},
): Promise<LoadResponse | null> {
  const body = { schema_version: 1 as const, message_refs: messageRefs };
  const reply = await client?.call("mailArchive", { body, ...patience });
  return reply?.kind === "ok" ? { kind: "ok" } : (reply ?? null);
}
