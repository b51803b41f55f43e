import type { RequestRecord } from "../protocol/gateway.ts";
import type { TurnStatusRecord } from "../protocol/turns.ts";
import { isOpen } from "../services/fleet/request-state.ts";
import { sleep } from "../system/clock.ts";
import { tellStorageFault } from "../system/storage-fault.ts";
import { type AgentTurnsOnDisk, chooseTurn, exitOf, renderTurn } from "./agent-turns.ts";
import type { Answer } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";
import { findWayBack } from "./way-back.ts";

/** What is waited for. A prompt's turn has no id before it begins: until then its request stands for it. */
interface Awaited {
  turnId?: string | undefined;
  requestId?: string | undefined;
  /** Why it has not begun. */
  waiting?: string | undefined;
}

const lookEveryMs = 100;
const mostSettlingMs = 2000;
/** Of the newest turns on disk, to find one that was submitted. */
const mostTurns = 50;

/**
 * Answers with the turn's record once it has its final state; a turn that still waits in the queue is waited for too.
 * Without an id it is the turn of the prompt that was submitted last. Ends the command with exit 1 when
 * `timeoutSeconds` are over or the turn will not begin, with exit 3 when no gateway tells of one that has not begun.
 */
export async function waitForTurn(
  on: AgentTurnsOnDisk,
  wanted: string | undefined,
  timeoutSeconds: number,
): Promise<Answer> {
  const { clock } = on.world;
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
    await sleep(clock, lookEveryMs);
  }
}

/** `work` follows a turn that is accepted: where the disk fails us, that must not read as if the turn were lost. */
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
  const told = await on.recentRequests();
  const turns = on.turns.list(mostTurns);
  if (told.kind === "told") {
    return chooseNewest(told.requests, turns) ?? { turnId: (await chooseTurn(on, undefined)).turn_id };
  }
  const begun = turns[0]
    ? `. Name the turn, as the newest that was begun: ${on.words} turn wait ${turns[0].turn_id}`
    : "";
  const detail = `which prompt was submitted last is not known without the gateway (${told.why})${begun}`;
  throw new CommandFailure(exitCodes.unreachable, detail, { error: "unreachable", detail });
}

/**
 * The turn of the prompt submitted last, from the gateway's requests and the turns on disk, both newest first. A turn
 * without a request was asked for directly; those of the notifier are passed over, since nobody submitted them. Null
 * when there is none. Pure.
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
  const told = await on.recentRequests();
  const request = told.kind === "told" ? told.requests.find((one) => isOf(one, awaited)) : undefined;
  if (request?.state === "accepted" && told.kind === "told" && told.closed) {
    const detail = `${nameOf(awaited)} will not begin: the agent is a new instance and its queue is closed. Open it, which ends what was accepted before, with: ${on.words} gateway reconcile`;
    throw new CommandFailure(exitCodes.refused, detail, { error: "blocked_reconciliation", detail });
  }
  if (request && (isOpen(request) || (!awaited.turnId && request.turn_id))) {
    return { turnId: request.turn_id, requestId: request.request_id, waiting: request.waiting?.detail };
  }
  // It may have been begun between the two looks.
  if (await lookAt(on, awaited)) return awaited;
  if (told.kind === "unreachable") {
    const detail = `${nameOf(awaited)} has not begun, and its gateway does not tell whether it will (${told.why}). ${(await findWayBack(on)).advice}`;
    throw new CommandFailure(exitCodes.unreachable, detail, { error: "unreachable", detail });
  }
  const detail = request?.error_detail ?? "there is no such turn and no request for it";
  throw new CommandFailure(exitCodes.refused, `${nameOf(awaited)}: ${detail}`, {
    error: "not_found",
    detail,
  });
}

/** The gateway learns of an end a moment after the disk: until then it would still refuse whoever comes next. */
async function awaitSettled(on: AgentTurnsOnDisk, turnId: string): Promise<void> {
  const { clock } = on.world;
  const untilMs = clock.monotonicMs() + mostSettlingMs;
  while (clock.monotonicMs() < untilMs) {
    const told = await on.recentRequests();
    if (told.kind === "unreachable" || !told.requests.some((one) => one.turn_id === turnId && isOpen(one)))
      return;
    await sleep(clock, lookEveryMs);
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
