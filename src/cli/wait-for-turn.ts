import type { RequestRecord } from "../protocol/gateway.ts";
import { sleep } from "../system/clock.ts";
import { tellStorageFault } from "../system/storage-fault.ts";
import { type AgentTurnsOnDisk, chooseTurn, exitOf, isOpen, renderTurn } from "./agent-turns.ts";
import type { Answer } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";

/** What is waited for. A prompt's turn has no id before it begins: until then its request stands for it. */
interface Awaited {
  turnId?: string | undefined;
  requestId?: string | undefined;
}

const lookEveryMs = 100;
const mostSettlingMs = 2000;

/**
 * Answers with the turn's record once it has its final state; a turn that still waits in the queue is waited for too.
 * Without an id it is the turn of the prompt that was submitted last. Ends the command with exit 1 when
 * `timeoutSeconds` are over or the turn never began, with exit 3 when it has not begun and no gateway tells of it.
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
      const detail = `${nameOf(awaited)} has not ended after ${timeoutSeconds} s; it goes on without us`;
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
  const waiting =
    told.kind === "told"
      ? told.requests.find((one) => one.request_kind === "submit_prompt" && isOpen(one))
      : undefined;
  if (waiting) return { turnId: waiting.turn_id, requestId: waiting.request_id };
  return { turnId: (await chooseTurn(on, undefined)).turn_id };
}

/** What is now known of a turn that is not on disk; throws when it will not come there. */
async function requireComing(on: AgentTurnsOnDisk, awaited: Awaited): Promise<Awaited> {
  const told = await on.recentRequests();
  const request = told.kind === "told" ? told.requests.find((one) => isOf(one, awaited)) : undefined;
  if (request && (isOpen(request) || (!awaited.turnId && request.turn_id))) {
    return { turnId: request.turn_id, requestId: request.request_id };
  }
  // It may have been begun between the two looks.
  if (await lookAt(on, awaited)) return awaited;
  if (told.kind === "unreachable") {
    const detail = `${nameOf(awaited)} has not begun, and its gateway does not tell whether it will (${told.why}). Start one with: ${on.words} gateway attach`;
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
