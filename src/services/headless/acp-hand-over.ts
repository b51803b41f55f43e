import { renderJson } from "../../protocol/json.ts";
import type { AwaitingDecision, DecisionAnswer } from "../../protocol/terminal.ts";
import { type Clock, pollUntil, timestampNow } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { type Chosen, chooseOption } from "../agent/decision.ts";
import { livingBridge, questionPaths, readBridge, readQuestion, saveNextTurn } from "./acp-files.ts";
import type { TurnDirectory } from "./turn-directory.ts";

interface HandOverDeps {
  files: Files;
  clock: Clock;
  processes: Processes;
  sessionRoot: string;
}

/** How long a living bridge may take to claim a turn before it is replaced. */
const claimMs = 5000;
const pollIntervalMs = 20;

/**
 * Gives a turn to the bridge that keeps the session's agent. Starts a new bridge when none runs, when it
 * serves an earlier instance of the agent, or when it does not take the turn. `start` replaces the program of
 * the pane.
 */
export async function handToBridge(
  deps: HandOverDeps,
  { turn, life }: { turn: TurnDirectory; life: string },
  start: () => Promise<unknown>,
): Promise<void> {
  const { files, clock, processes, sessionRoot } = deps;
  saveNextTurn(files, sessionRoot, turn.turnId);
  const isTaken = () => Boolean(turn.process() || turn.result());
  const record = readBridge(files, sessionRoot);
  if (record?.life === life) {
    await pollUntil(clock, { intervalMs: pollIntervalMs, limitMs: claimMs }, () =>
      isTaken() || !livingBridge(processes, record) ? true : null,
    );
  }
  if (!isTaken()) await start();
}

/** What a turn asks a person, or null. */
export function decisionOf(files: Pick<Files, "read">, turn: TurnDirectory): AwaitingDecision | null {
  return turn.result() ? null : readQuestion(files, turn.paths.folder);
}

const answerMs = 10_000;

/**
 * Answers the question of a turn; resolves once its bridge has taken the answer. Throws as `Agent.decide`.
 */
export async function answerQuestion(
  { files, clock }: Pick<HandOverDeps, "files" | "clock">,
  turn: TurnDirectory | null,
  answer: DecisionAnswer,
): Promise<Chosen> {
  const decision = turn && decisionOf(files, turn);
  const chosen = chooseOption(decision ?? undefined, answer);
  if (!turn || !decision?.id)
    throw new ServiceError("precondition_failed", "the agent does not ask anything now");
  const { id } = decision;
  const record = { schema_version: 1, id, index: chosen.index, answered_at_utc: timestampNow(clock) };
  files.write("file:acp-answer", questionPaths(turn.paths.folder).answer, renderJson(record));
  const isAnswered = await pollUntil(clock, { intervalMs: pollIntervalMs, limitMs: answerMs }, () =>
    decisionOf(files, turn)?.id === id ? null : true,
  );
  if (isAnswered) return chosen;
  throw new ServiceError("dispatch_failed", "the question is still asked after the answer");
}
