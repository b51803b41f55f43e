import { sleep } from "../../../system/clock.ts";
import { tellStorageFault } from "../../../system/storage-fault.ts";
import { type AgentTurnsOnDisk, chooseTurn, exitOf, openTurns, renderTurn } from "../../agent-turns.ts";
import { type Answer, command } from "../../command.ts";
import { CommandFailure, exitCodes } from "../../dispatch.ts";
import { toWholeNumber } from "../../number-flag.ts";

const lookEveryMs = 100;

export default command({
  name: "wait",
  description: "wait until a turn has ended; exit code 1 when it failed or was interrupted",
  examples: ["svc-mgr agents single --agent-name batch turn wait turn-0123456789ab --timeout 3600"],
  args: {
    turn: { type: "positional", required: false, description: "the turn's id; default: the newest" },
    timeout: { type: "string", description: "how long to wait", valueHint: "SECONDS", default: "600" },
  },
  async run(invocation) {
    const { args } = invocation;
    const timeoutSeconds = toWholeNumber("timeout", args.timeout, 1, 7 * 86_400) ?? 600;
    return waitForTurn(await openTurns(invocation), args.turn, timeoutSeconds);
  },
});

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

/** A turn that still waits in the queue is waited for too. */
export async function waitForTurn(
  on: AgentTurnsOnDisk,
  wanted: string | undefined,
  timeoutSeconds: number,
): Promise<Answer> {
  const { clock } = on.world;
  const deadlineMs = clock.monotonicMs() + timeoutSeconds * 1000;
  const turnId = wanted ?? (await chooseTurn(on, undefined)).turn_id;
  for (;;) {
    const turn = await on.look(turnId);
    if (turn && turn.status !== "active") {
      return { json: turn, text: renderTurn(turn), exitCode: exitOf(turn) };
    }
    if (!turn) await requireWaiting(on, turnId);
    if (clock.monotonicMs() >= deadlineMs) {
      const detail = `turn ${turnId} has not ended after ${timeoutSeconds} s; it goes on without us`;
      throw new CommandFailure(exitCodes.refused, detail, { error: "timeout", detail, turn });
    }
    await sleep(clock, lookEveryMs);
  }
}

async function requireWaiting(on: AgentTurnsOnDisk, turnId: string): Promise<void> {
  const request = await on.waitingRequest(turnId);
  if (request?.state === "accepted" || request?.state === "running") return;
  // It may have been begun between the two looks.
  if (await on.look(turnId)) return;
  const detail = request?.error_detail ?? "there is no such turn and no request for it";
  throw new CommandFailure(exitCodes.refused, `turn ${turnId}: ${detail}`, { error: "not_found", detail });
}
