import { trackedAgentId } from "../../services/fleet/projection.ts";
import type { Answer } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { narrate, warn } from "../command-line/narrate.ts";
import { toSentence } from "../command-line/remedies.ts";
import { askAgent, type Interruption, type QuestionInput, type SubmittedPrompt } from "../operations/prompt.ts";
import type { StateWait, StoppedAgent } from "../operations/session.ts";
import { renderRequest } from "./agent-requests.ts";
import { renderAnswer, sourceNote } from "./agent-transcript.ts";
import type { AgentCaller } from "./target.ts";
import { renderWait } from "./terminal-text.ts";

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
 * Queues a prompt, waits for the end of its turn and answers with what the agent said. What a person must know
 * before goes to standard error. `isVerbose`: also what proved each step.
 */
export async function askForAnswer(
  caller: AgentCaller,
  input: QuestionInput,
  { isVerbose = false }: { isVerbose?: boolean } = {},
): Promise<Answer> {
  const { io } = caller;
  const isAwaited = input.awaitsBackground;
  const asked = await askAgent(caller, input, {
    question: ({ agent_name, advise }, text) =>
      warn(io, `"${agent_name}" ${text}: ${advise({ code: "choose_option", agent_name }).command}`),
    async turnEnded({ agent_name, advise }, { record, turn, why, badEnd }) {
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
    },
    async background({ agent_name }, work, waits) {
      const running = `"${agent_name}" has work in the background: ${work.join(", ")}`;
      await warn(io, waits ? `${running}. Waiting for it; --no-background does not` : running);
    },
  });
  const { record, submission } = asked;
  const json = { ...submission, request: record };
  if (asked.outcome === "not_done")
    return { json: { ...json, answer: null, turn: null }, text: renderRequest(record), exitCode: 1 };
  const { turn, badEnd, agent } = asked;
  const { agent_name } = agent;
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
    text: turn ? answers.map(renderAnswer).join("\n\n") : renderRequest(record),
    exitCode: badEnd === null && !goesOn ? exitCodes.done : exitCodes.refused,
  };
}
