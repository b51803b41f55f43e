import type { RequestRecord } from "../../protocol/gateway.ts";
import { trackedAgentId } from "../../services/fleet/projection.ts";
import { cutText } from "../../system/text-columns.ts";
import { visibleLine } from "../../system/visible.ts";
import { renderRequest, stateForPeople } from "../agent/agent-requests.ts";
import { renderAnswer, sourceNote } from "../agent/agent-transcript.ts";
import { toLaunchAnswer } from "../agent/launch-answer.ts";
import type { AgentCaller } from "../agent/target.ts";
import { renderWait } from "../agent/terminal-text.ts";
import type { Answer, CliIo } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { narrate, warn } from "../command-line/narrate.ts";
import { toSentence, withRemedy } from "../command-line/remedies.ts";
import {
  type AskedAgent,
  askAgent,
  type Interruption,
  type QuestionInput,
  type SubmittedPrompt,
} from "../operations/prompt.ts";
import type { RelaunchedAgent } from "../operations/relaunch.ts";
import type { StateWait, StoppedAgent } from "../operations/session.ts";

/** Of a prompt that waits in the queue. Pure. */
export function answerAccepted({ accepted, submission, commandPrefix }: SubmittedPrompt): Answer {
  return {
    json: { ...accepted, ...submission },
    text: `accepted ${accepted.request_id} (${accepted.queue_depth} in the queue)\nSee: ${commandPrefix} requests show ${accepted.request_id}`,
  };
}

/** Pure. */
export function answerInterrupted({ submission, record, detail, failed }: Interruption): Answer {
  return {
    json: { ...submission, request: record },
    text: detail,
    exitCode: failed ? exitCodes.refused : exitCodes.done,
  };
}

/** Pure. */
export function answerStopped({ agent, record, stop, success, detail }: StoppedAgent): Answer {
  return {
    json: {
      success,
      tracked_agent_id: agent ? trackedAgentId(agent.manifest) : record.agent_id,
      detail,
      manifest_path: record.runtime.manifest_path,
      session_root: agent?.sessionRoot ?? record.runtime.session_root ?? null,
      gateway: stop.gateway.outcome,
      ended_processes: stop.endedProcesses,
      surviving_pids: stop.survivingPids,
      unwritten: stop.unwritten,
      ...(stop.interruptedTurns[0] === undefined ? {} : { turn_id: stop.interruptedTurns[0] }),
    },
    text: detail,
    exitCode: success ? exitCodes.done : exitCodes.refused,
  };
}

/** Exit 1 when time is over. Pure. */
export function answerWait({ result, answerLine }: StateWait): Answer {
  return {
    json: result,
    text: renderWait(result, answerLine),
    exitCode: result.satisfied ? exitCodes.done : exitCodes.refused,
  };
}

/**
 * Queues a prompt, waits for the end of its turn and prints the agent's answer. Progress and warnings go to
 * standard error. `isVerbose`: also what proved each step. `showsState`: also what the prompt comes to.
 */
export async function askForAnswer(
  caller: AgentCaller,
  input: QuestionInput,
  { isVerbose = false, showsState = false }: { isVerbose?: boolean; showsState?: boolean } = {},
): Promise<Answer> {
  const { io, inherited } = caller;
  const isJson = inherited["json"] === true;
  const isAwaited = input.awaitsBackground;
  const stateLine = createStateLine(io);
  const asked = await askAgent(caller, input, {
    question: ({ agent_name, advise }, text) =>
      stateLine.beside(() =>
        warn(io, `"${agent_name}" ${text}: ${advise({ code: "choose_option", agent_name }).command}`),
      ),
    async state({ agent_name }, text, seconds) {
      if (showsState && !isJson) await stateLine.show(`${agent_name} ${text}`, seconds);
    },
    turnEnded: ({ agent_name, advise }, { record, turn, why, badEnd }) =>
      stateLine.beside(async () => {
        if (isVerbose) await io.writeError(`${renderRequest(record)}\n`);
        if (!turn) {
          const { command: line } = advise({ code: "view_terminal", agent_name });
          await warn(io, `the answer is not known: ${why}. See: ${line}`);
        }
        if (turn?.status === "running") return;
        const note = turn && sourceNote(turn);
        if (note !== null) await narrate(io, note);
        // A shell goes on behind exit 0 alone: an answer that was cut off is none.
        if (badEnd !== null) await warn(io, `the turn did not succeed: ${badEnd.detail}`);
      }),
    background: ({ agent_name }, work, waits) =>
      stateLine.beside(async () => {
        const running = `"${agent_name}" has work in the background: ${work.join(", ")}`;
        await warn(io, waits ? `${running}. Waiting for it; --no-background does not` : running);
      }),
  }).finally(() => stateLine.clear());
  const { record, submission, agent } = asked;
  const { agent_name } = agent;
  const json = { ...submission, request: record };
  if (asked.outcome === "not_done") {
    const none = { ...json, answer: null, turn: null };
    if (isJson) return { json: none, text: "", exitCode: exitCodes.refused };
    throw new CommandFailure(exitCodes.refused, describeNotDone(record, agent), none);
  }
  const { turn, badEnd } = asked;
  const document = { ...json, answer: turn?.answer ?? null, turn };
  // A part of an answer, or a sentence of ours, is not printed as if the agent had said it.
  if (asked.outcome === "not_written") {
    const end = badEnd === null ? "has ended" : `has ended (${badEnd.detail})`;
    const detail = `the turn ${end}, and the record of its tool has no end of the answer yet. See: ${agent.advise({ code: "show_last_turn", agent_name }).command}`;
    throw new CommandFailure(exitCodes.refused, detail, {
      ...document,
      error: "answer_not_written",
      detail,
    });
  }
  const { ownTurns, background } = asked;
  const answers = turn ? [turn, ...ownTurns] : [];
  const goesOn = isAwaited && badEnd === null && background.length > 0;
  if (goesOn)
    await warn(
      io,
      `its work goes on: ${background.join(", ")}. ${toSentence(agent.advise({ code: "follow_log", agent_name }))}`,
    );
  const answer = answers.length > 1 ? answers.map(renderAnswer).join("\n\n") : document.answer;
  return {
    json: { ...document, answer, own_turns: ownTurns, background },
    text: answers.map(renderAnswer).join("\n\n"),
    exitCode: badEnd === null && !goesOn ? exitCodes.done : exitCodes.refused,
  };
}

/** Why a prompt has no answer, in one sentence. Pure. */
function describeNotDone(record: RequestRecord, { agent_name, advise }: AskedAgent): string {
  const exit = record.evidence.find((one) => one.agent_ended === true);
  if (exit === undefined) {
    const why = record.error_detail ?? stateForPeople(record);
    return `the prompt for "${agent_name}" failed: ${why}`;
  }
  const why = `"${agent_name}" exited before it had answered: ${exit.proof}`;
  return withRemedy(why, { code: "relaunch_agent", agent_name }, advise);
}

/**
 * What a wait comes to, on standard error: at a terminal one line that is written again, elsewhere a line for
 * each change.
 */
function createStateLine(io: CliIo) {
  let shown = "";
  let isPaused = false;
  async function clear(): Promise<void> {
    if (!io.stderrIsTty || shown === "") return;
    shown = "";
    await io.writeScreen("stderr", "\r\x1b[K");
  }
  return {
    clear,
    async show(text: string, seconds: number): Promise<void> {
      if (isPaused) return;
      if (!io.stderrIsTty) {
        const isNews = text !== shown;
        shown = text;
        if (isNews) await io.writeError(`${text}\n`);
        return;
      }
      // A line that wraps could not be written again.
      shown = cutText(visibleLine(`${text} ${spanText(seconds)}`), Math.max(1, io.columns - 1));
      await io.writeScreen("stderr", `\r\x1b[K${shown}`);
    },
    /** Writes other lines. */
    async beside(write: () => Promise<void>): Promise<void> {
      isPaused = true;
      await clear();
      await write();
      isPaused = false;
    },
  };
}

const spanText = (seconds: number) => (seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min`);

/** Of an agent whose program was started again. Pure. */
export function answerRelaunched(io: Pick<CliIo, "advise">, relaunched: RelaunchedAgent): Answer {
  const { context, conversation } = relaunched;
  if (relaunched.outcome === "handed_over") {
    const { agentName: agent_name, agentId: agent_id, logPath: log } = relaunched;
    return {
      json: { agent_name, agent_id, handed_over: true, log },
      text: `the relaunch goes on without this process; see ${log}`,
    };
  }
  const { session, attached, inPlace, missingVariables, waiting } = relaunched;
  const answer = toLaunchAnswer({ context, io }, session, attached, null);
  const count = waiting.requestIds.length;
  const fates = { keep: "kept", drop: "dropped" } as const;
  const prompts = count === 1 ? "1 prompt" : `${count} prompts`;
  return {
    ...answer,
    json: {
      ...(answer.json as object),
      in_place: inPlace,
      missing_variables: missingVariables,
      request_admission: attached?.link.status.request_admission ?? null,
      conversation,
      waiting: { request_ids: waiting.requestIds, fate: waiting.fate },
    },
    text: [
      answer.text,
      ...(conversation.mode === "continued" ? ["  it goes on with its conversation"] : []),
      ...(conversation.mode === "new" && conversation.why !== null
        ? [`  a new conversation: ${conversation.why}`]
        : []),
      ...(count > 0 && waiting.fate !== null ? [`  ${prompts} of before ${fates[waiting.fate]}`] : []),
    ].join("\n"),
  };
}
