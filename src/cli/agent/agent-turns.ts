import type { RequestRecord } from "../../protocol/gateway.ts";
import type { TurnStatusRecord } from "../../protocol/turns.ts";
import { backendFacts } from "../../services/agent/backends.ts";
import type { Diagnosis } from "../../services/fleet/diagnose.ts";
import { diagnoseServed, diagnoseUnserved } from "../../services/fleet/diagnose-agent.ts";
import { isOpen } from "../../services/fleet/gateway-client.ts";
import { linkGateway } from "../../services/fleet/gateway-link.ts";
import { headlessProvider } from "../../services/headless/providers.ts";
import { settleTurn } from "../../services/headless/settle-turn.ts";
import { createTurnDirectories } from "../../services/headless/turn-directory.ts";
import { createTurnReader, type TurnReader } from "../../services/headless/turn-reader.ts";
import { gatewayIdentity } from "../../services/sessions/manifest.ts";
import { sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import { tellStorageFault } from "../../system/storage-fault.ts";
import type { Answer } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { renderPairs } from "../command-line/format.ts";
import { withRemedy } from "../command-line/remedies.ts";
import { adviseUnserved, type CallOf, openTarget, type Target } from "./target.ts";

/** The turns of the agent that a command names, read from its session folder without a gateway. */
export interface AgentTurnsOnDisk extends Target {
  turns: TurnReader;
  /** The turn as it is now, or null. A turn whose runner is gone is settled first. */
  look(turnId: string): Promise<TurnStatusRecord | null>;
  /** The newest 1000 requests of the gateway, newest first; `obstacle`: what keeps it from executing them. */
  recentRequests(): Promise<
    | { kind: "ok"; requests: RequestRecord[]; obstacle: Diagnosis | null }
    | { kind: "unreachable"; why: string }
  >;
}

export async function openTurns(call: CallOf): Promise<AgentTurnsOnDisk> {
  const target = await openTarget(call);
  const { context, agent } = target;
  const { manifest, sessionRoot } = agent;
  if (!backendFacts(manifest.backend).headless) {
    throw new ServiceError(
      "unsupported",
      `"${manifest.agent_name}" is a terminal agent; it has no stored turns`,
    );
  }
  const directories = createTurnDirectories({ files: context.files, sessionRoot });
  const turns = createTurnReader({ files: context.files, turns: directories });
  return {
    ...target,
    turns,
    async look(turnId) {
      const turn = directories.find(turnId);
      if (turn) await settleTurn({ ...context, providerOf: headlessProvider }, turn);
      return turns.read(turnId);
    },
    async recentRequests() {
      const { attachIdentity } = gatewayIdentity(manifest);
      const link = await linkGateway(context, { sessionRoot, attachIdentity });
      if (link.state !== "healthy") return { kind: "unreachable", why: link.why };
      const list = await link.client.call("listRequests", { query: { limit: 1000 } });
      if (list.kind !== "ok") return { kind: "unreachable", why: list.detail };
      const obstacle = diagnoseServed(target.agent, link.status);
      return { kind: "ok", requests: list.body.requests, obstacle };
    },
  };
}

/**
 * The turn of the id, or the newest that was begun. Throws `not_found`, and says so of one that waits in the
 * queue.
 */
export async function chooseTurn(
  on: AgentTurnsOnDisk,
  turnId: string | undefined,
): Promise<TurnStatusRecord> {
  const id = turnId ?? on.turns.list(1)[0]?.turn_id;
  const found = id === undefined ? null : await on.look(id);
  if (found) return found;
  if (id === undefined) throw new ServiceError("not_found", "no turn was begun yet");
  const recent = await on.recentRequests();
  const request = recent.kind === "ok" ? recent.requests.find((one) => one.turn_id === id) : undefined;
  throw new ServiceError("not_found", describeMissing(on, id, request));
}

function describeMissing(on: AgentTurnsOnDisk, id: string, request: RequestRecord | undefined): string {
  if (!request) return `there is no turn ${id}`;
  if (isOpen(request))
    return `turn ${id} has not begun yet. Wait for it: ${on.commandPrefix} turn wait ${id}`;
  if (request.state === "completed") {
    return `turn ${id} has ended and its record is missing or damaged: manifest.turn-artifacts/${id}/request.json`;
  }
  return `turn ${id} was not begun: ${request.error_detail ?? `its request is ${request.state}`}`;
}

/** Exit code 1 for a turn that did not come to a good end. Pure. */
function exitOf(turn: TurnStatusRecord): number {
  return turn.status === "failed" || turn.status === "interrupted" ? 1 : 0;
}

export function renderTurn(turn: TurnStatusRecord): string {
  return renderPairs([
    ["turn", `${turn.turn_id} (number ${turn.turn_index})`],
    ["status", turn.status],
    ["started", turn.started_at_utc],
    ["ended", turn.completed_at_utc],
    ["exit code", turn.returncode === null ? null : String(turn.returncode)],
    ["decided by", turn.decided_by],
    ["said", turn.history_summary],
    ["error", turn.error],
    ["output", turn.stdout_path],
  ]);
}

/** What is waited for. A prompt's turn has no id before it begins: until then its request is watched. */
interface Awaited {
  turnId?: string | undefined;
  requestId?: string | undefined;
  /** Why it has not begun. */
  waiting?: string | undefined;
}

const pollIntervalMs = 100;
const maxSettlingMs = 2000;
/** Of the newest turns on disk, to find one that was submitted. */
const maxTurns = 50;

/**
 * Answers with the turn's record once it has its final state; a turn that still waits in the queue is waited
 * for too. Without an id it is the turn of the prompt that was submitted last. Ends the command with exit 1
 * when `timeoutSeconds` have passed or the turn will not begin, with exit 3 when the turn has not begun and
 * no gateway answers.
 */
export async function waitForTurn(
  on: AgentTurnsOnDisk,
  wanted: string | undefined,
  timeoutSeconds: number,
): Promise<Answer> {
  const { clock } = on.context;
  const deadlineMs = clock.monotonicMs() + timeoutSeconds * 1000;
  let awaited = wanted === undefined ? await findNewest(on) : { turnId: wanted };
  for (;;) {
    const turn = await lookAt(on, awaited);
    if (turn && turn.status !== "active") {
      await awaitSettled(on, turn.turn_id);
      return { json: turn, text: renderTurn(turn), exitCode: exitOf(turn) };
    }
    if (!turn) awaited = await requireComing(on, awaited);
    if (clock.monotonicMs() >= deadlineMs) {
      const state = turn || !awaited.waiting ? "has not ended" : `has not begun (${awaited.waiting})`;
      const detail = `${nameOf(awaited)} ${state} after ${timeoutSeconds} s; it goes on without us`;
      throw new CommandFailure(exitCodes.refused, detail, { error: "timeout", detail, turn });
    }
    await sleep(clock, pollIntervalMs);
  }
}

/**
 * `work` follows a turn that is accepted: where the disk fails us, that must not read as if the turn were
 * lost.
 */
export async function followAccepted<T>(
  turn: { turn_id: string; status: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const why = tellStorageFault(error);
    if (why === null) throw error;
    const detail = `turn ${turn.turn_id} is accepted and goes on, but cannot be followed: ${why}. See: ${turn.status}`;
    throw new CommandFailure(exitCodes.refused, detail, { error: "storage", detail, turn_id: turn.turn_id });
  }
}

/** The queue first, then the disk: what leaves the one between the two looks has come to the other. */
async function findNewest(on: AgentTurnsOnDisk): Promise<Awaited> {
  const recent = await on.recentRequests();
  const turns = on.turns.list(maxTurns);
  if (recent.kind === "ok") {
    return chooseNewest(recent.requests, turns) ?? { turnId: (await chooseTurn(on, undefined)).turn_id };
  }
  const begun = turns[0]
    ? `. Name the turn, as the newest that was begun: ${on.commandPrefix} turn wait ${turns[0].turn_id}`
    : "";
  const detail = `which prompt was submitted last is not known without the gateway (${recent.why})${begun}`;
  throw new CommandFailure(exitCodes.unreachable, detail, { error: "unreachable", detail });
}

/**
 * The turn of the prompt submitted last, from the gateway's requests and the turns on disk, both newest
 * first. A turn without a request was asked for directly; those of the notifier are passed over, since nobody
 * submitted them. Null when there is none. Pure.
 */
export function chooseNewest(
  requests: readonly RequestRecord[],
  turns: readonly TurnStatusRecord[],
): Awaited | null {
  const [last] = requests.filter((one) => one.request_kind === "submit_prompt");
  const awaited = last && { turnId: last.turn_id, requestId: last.request_id };
  if (awaited && isOpen(last)) return awaited;
  const others = requests.filter((one) => one.request_kind === "mail_notifier_prompt");
  const running = others.some(isOpen);
  const isAnothers = ({ turn_id, status }: TurnStatusRecord) =>
    // A request knows its turn's id once it has ended.
    others.some((one) => one.turn_id === turn_id) || (running && status === "active");
  const newest = turns.find((turn) => !isAnothers(turn));
  const began = turns.some((turn) => turn.turn_id === last?.turn_id);
  if (awaited && !began && !(newest && newest.started_at_utc > last.accepted_at_utc)) return awaited;
  return newest ? { turnId: newest.turn_id } : null;
}

/** What is now known of a turn that is not on disk; throws when it will not come there. */
async function requireComing(on: AgentTurnsOnDisk, awaited: Awaited): Promise<Awaited> {
  const recent = await on.recentRequests();
  const request = recent.kind === "ok" ? recent.requests.find((one) => isOf(one, awaited)) : undefined;
  const obstacle = recent.kind === "ok" ? recent.obstacle : null;
  if (request?.state === "accepted" && obstacle?.problem === "queue_closed") {
    const why = `${nameOf(awaited)} will not begin: ${obstacle.detail}. To open the queue ends what was accepted before`;
    const detail = withRemedy(why, obstacle.remedy, on.advise);
    throw new CommandFailure(exitCodes.refused, detail, { error: "blocked_reconciliation", detail });
  }
  if (request && (isOpen(request) || (!awaited.turnId && request.turn_id))) {
    return { turnId: request.turn_id, requestId: request.request_id, waiting: request.waiting?.detail };
  }
  // It may have been begun between the two looks.
  if (await lookAt(on, awaited)) return awaited;
  if (recent.kind === "unreachable") {
    const detail = `${nameOf(awaited)} has not begun, and its gateway does not say whether it will (${recent.why}). ${adviseUnserved(on, await diagnoseUnserved(on.context, on.agent))}`;
    throw new CommandFailure(exitCodes.unreachable, detail, { error: "unreachable", detail });
  }
  const detail = request?.error_detail ?? "there is no such turn and no request for it";
  throw new CommandFailure(exitCodes.refused, `${nameOf(awaited)}: ${detail}`, {
    error: "not_found",
    detail,
  });
}

/** The gateway learns of an end a moment after the disk. Until then it refuses the next prompt. */
async function awaitSettled(on: AgentTurnsOnDisk, turnId: string): Promise<void> {
  const { clock } = on.context;
  const untilMs = clock.monotonicMs() + maxSettlingMs;
  while (clock.monotonicMs() < untilMs) {
    const recent = await on.recentRequests();
    if (
      recent.kind === "unreachable" ||
      !recent.requests.some((one) => one.turn_id === turnId && isOpen(one))
    )
      return;
    await sleep(clock, pollIntervalMs);
  }
}

async function lookAt(on: AgentTurnsOnDisk, { turnId }: Awaited) {
  return turnId === undefined ? null : on.look(turnId);
}

function isOf(request: RequestRecord, { turnId, requestId }: Awaited): boolean {
  return requestId === undefined ? request.turn_id === turnId : request.request_id === requestId;
}

function nameOf({ turnId, requestId }: Awaited): string {
  return turnId === undefined ? `the turn of request ${requestId}` : `turn ${turnId}`;
}
