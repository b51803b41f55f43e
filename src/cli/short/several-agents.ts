import type { AgentSelector } from "../../services/sessions/find.ts";
import { visibleLine } from "../../system/visible.ts";
import type { AgentCaller } from "../agent/target.ts";
import { type Answer, type Caller, type Invocation, UsageError } from "../command-line/command.ts";
import { describeFailure, exitCodes } from "../command-line/dispatch.ts";
import { loadMembers } from "../extensions.ts";
import type { Members } from "../extension.ts";

/** An agent that a command is given for. */
interface ChosenAgent {
  /** As a person knows it. */
  name: string;
  /** Null where there is none. */
  whom: AgentSelector | null;
  /** Why there is none. */
  why: string;
}

/** Whom `@NAME` means. Throws UsageError for an unknown name, and where the program knows no groups. */
export async function findMembers(invocation: Invocation, name: string): Promise<Members> {
  const find = await loadMembers();
  if (find === null) throw new UsageError(`this program knows no groups: @${name}`, invocation.path);
  return find(invocation, name);
}

/** The agents that `word` means: a name, or `@NAME` for those of a group of svc.yaml. */
export async function chooseAgents(invocation: Invocation, word: string): Promise<ChosenAgent[]> {
  if (!word.startsWith("@")) return [{ name: word, whom: { agentName: word }, why: "" }];
  const { agents, path } = await findMembers(invocation, word.slice(1));
  if (agents.length === 0) throw new UsageError(`${word} has no agent`, invocation.path);
  const why = `${visibleLine(path)} launched no agent of this name that runs`;
  return agents.map(({ member, record }) => {
    const runs = record !== null && record.lifecycle.state === "active";
    return { name: member, whom: runs ? { agentId: record.agent_id } : null, why };
  });
}

interface AgentResult {
  agent_name: string;
  exit_code: number;
  /** The document of `--json`. */
  result: unknown;
  text: string;
}

/**
 * Does it to each agent and answers with a result for each; the exit code is the highest. `absence`: what a
 * missing agent does not get.
 */
export async function answerEach(
  { io, inherited }: Caller,
  chosen: readonly ChosenAgent[],
  { absence, act }: { absence: string; act: (caller: AgentCaller) => Promise<Answer> },
): Promise<Answer> {
  const results = await Promise.all(
    chosen.map(async ({ name, whom, why }): Promise<AgentResult> => {
      if (whom === null) {
        const detail = `"${name}" ${absence}: ${why}`;
        const result = { error: "not_found", detail };
        return { agent_name: name, exit_code: exitCodes.refused, result, text: detail };
      }
      try {
        const { json, text, exitCode = exitCodes.done } = await act({ io, inherited, whom });
        return { agent_name: name, exit_code: exitCode, result: json, text: `${name}: ${text}` };
      } catch (error) {
        const { exitCode, document, detail } = describeFailure(error, io.advise);
        return { agent_name: name, exit_code: exitCode, result: document, text: `${name}: ${detail}` };
      }
    }),
  );
  const isFailure = ({ exit_code: code }: AgentResult) => code !== exitCodes.done;
  const linesOf = (of: readonly AgentResult[]) => of.map(({ text }) => text.replaceAll("\n", "\n  ")).join("\n");
  const failures = results.filter(isFailure);
  if (failures.length > 0 && inherited["json"] !== true) await io.writeError(`${linesOf(failures)}\n`);
  return {
    json: { results: results.map(({ text: _, ...result }) => result) },
    text: linesOf(results.filter((one) => !isFailure(one))),
    exitCode: Math.max(...results.map(({ exit_code: code }) => code)),
  };
}
