import type { AgentSelector } from "../../services/sessions/find.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import type { AgentCaller } from "../agent/target.ts";
import {
  type Answer,
  type Caller,
  type CommandCaller,
  type Flags,
  type Invocation,
  UsageError,
} from "../command-line/command.ts";
import { describeFailure, exitCodes } from "../command-line/dispatch.ts";
import { wordsOf } from "../command-line/flag-values.ts";
import type { Members } from "../extension.ts";
import { loadMembers } from "../extensions.ts";

/** Flags of a command that takes several agents. */
export const severalAgents = {
  name: {
    type: "positional",
    many: true,
    required: false,
    description: "names of agents, or @NAME for those of a group of svc.yaml",
    offers: "running-agents-and-groups",
  },
  all: {
    type: "boolean",
    description: "all that run: below a svc.yaml those that it launched, elsewhere those of this user",
  },
} as const satisfies Flags;

/** What is done to each agent. */
interface EachAgent {
  /** What a missing agent does not get. */
  absence: string;
  act: (caller: AgentCaller) => Promise<Answer>;
}

/**
 * Does it to the agents that the command line names. One that is named alone has its whole answer; several have
 * a result each. Source: ruling 40.
 */
export async function answerSeveral(invocation: SeveralCall, each: EachAgent): Promise<Answer> {
  const chosen = await chooseSeveral(invocation, each.absence);
  return answerChosen(invocation, chosen, each.act);
}

/** A command line with these flags, and perhaps others. */
type SeveralCall = CommandCaller & Pick<Invocation<typeof severalAgents>, "args">;

/** `isNamedAlone`: by one name, whose answer is then the whole one. `none`: why there are none. */
export interface ChosenAgents {
  agents: ChosenAgent[];
  isNamedAlone: boolean;
  none: string;
}

/** As `answerSeveral`, of agents that were chosen before. */
export async function answerChosen(
  { io, inherited }: Caller,
  { agents, isNamedAlone, none }: ChosenAgents,
  act: EachAgent["act"],
): Promise<Answer> {
  const [first] = agents;
  if (first === undefined) return { json: { results: [] }, text: none };
  if (isNamedAlone) return act({ io, inherited, whom: { agentName: first.name } });
  return answerEach({ io, inherited }, agents, act);
}

/** `isStoppedToo`: a group means its stopped agents too. */
export async function chooseSeveral(
  invocation: SeveralCall,
  absence: string,
  { isStoppedToo = false }: { isStoppedToo?: boolean } = {},
): Promise<ChosenAgents> {
  const { io, inherited, path, args } = invocation;
  const words = wordsOf(args.name);
  const [first] = words;
  if (args.all) {
    if (first !== undefined) throw new UsageError(`give names or --all, not both`, path);
    return chooseAll({ io, inherited });
  }
  if (first === undefined) throw new UsageError(`<name> is missing: ${severalAgents.name.description}`, path);
  if (words.length === 1 && !first.startsWith("@")) {
    const agents = [{ name: first, id: null, whom: { agentName: first } }];
    return { agents, isNamedAlone: true, none: "" };
  }
  const chosen = await Promise.all(
    words.map((word) => chooseAgents(invocation, word, absence, { isStoppedToo })),
  );
  const ids = new Set<string>();
  const agents = chosen.flat().filter(({ id }) => {
    const isNew = id === null || !ids.has(id);
    if (id !== null) ids.add(id);
    return isNew;
  });
  return { agents, isNamedAlone: false, none: "" };
}

async function chooseAll({ io, inherited }: Caller): Promise<ChosenAgents> {
  const { openCliContext } = await import("../command-line/cli-context.ts");
  const { teamOf } = await import("../agent/team-scope.ts");
  const { isRunning } = await import("../../services/sessions/find.ts");
  const context = openCliContext(io, inherited);
  const team = await teamOf(context, io);
  const agents = context.registry
    .list()
    .records.filter((record) => isRunning(record) && (team === null || record.team?.file === team.file))
    .map(({ agent_name: name, agent_id: id }) => ({ name, id, whom: { agentId: id } }));
  const which = team === null ? "" : ` that ${visibleLine(team.file)} launched`;
  return { agents, isNamedAlone: false, none: `no agents run${which}` };
}

/** Whom `@NAME` means. Throws UsageError for an unknown name, and where the program knows no groups. */
export async function findMembers(caller: CommandCaller, name: string): Promise<Members> {
  const members = await loadMembers();
  if (members === null) throw new UsageError(`this program knows no groups: @${name}`, caller.path);
  return members.find(caller, name);
}

/** The groups of the team's file here; none where the program knows none. */
export const findGroups = async (caller: Caller): Promise<string[]> =>
  (await (await loadMembers())?.groups(caller)) ?? [];

/** An agent that a command is given for. */
interface ChosenAgent {
  /** As a person knows it. */
  name: string;
  /** Null where there is none. */
  id: string | null;
  /** Else why there is none. */
  whom: AgentSelector | Error;
}

/** The agents that `word` means: a name, or `@NAME` for those of a group of svc.yaml. */
export async function chooseAgents(
  caller: CommandCaller,
  word: string,
  absence: string,
  { isStoppedToo = false }: { isStoppedToo?: boolean } = {},
): Promise<ChosenAgent[]> {
  if (!word.startsWith("@")) return [await chooseNamed(caller, word)];
  const { agents, path } = await findMembers(caller, word.slice(1));
  if (agents.length === 0) throw new UsageError(`${word} has no agent`, caller.path);
  const { isRunning } = await import("../../services/sessions/find.ts");
  return agents.map(({ member: name, record }) => {
    if (record !== null && (isStoppedToo || isRunning(record))) {
      return { name, id: record.agent_id, whom: { agentId: record.agent_id } };
    }
    const why = `"${name}" ${absence}: ${visibleLine(path)} launched no agent of this name that runs`;
    return { name, id: null, whom: new ServiceError("not_found", why) };
  });
}

async function chooseNamed({ io, inherited }: Caller, name: string): Promise<ChosenAgent> {
  const { openCliContext } = await import("../command-line/cli-context.ts");
  const { findNamed } = await import("../agent/team-scope.ts");
  try {
    const { agent_id: id } = await findNamed(openCliContext(io, inherited), io, name);
    return { name, id, whom: { agentName: name } };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { name, id: null, whom: error };
  }
}

interface AgentResult {
  agent_name: string;
  exit_code: number;
  /** The document of `--json`. */
  result: unknown;
  text: string;
}

/** So many at once: each may take several processes. */
const maxAtOnce = 8;

/**
 * Does it to each agent and answers with a result for each, what failed on standard error; the exit code is the
 * highest.
 */
export async function answerEach(
  { io, inherited }: Caller,
  chosen: readonly ChosenAgent[],
  act: EachAgent["act"],
): Promise<Answer> {
  const results: AgentResult[] = [];
  async function resultOf({ name, whom }: ChosenAgent): Promise<AgentResult> {
    const lead = (text: string) => (text.includes(`"${name}"`) ? text : `${name}: ${text}`);
    try {
      if (whom instanceof Error) throw whom;
      const { json, text, exitCode = exitCodes.done } = await act({ io, inherited, whom });
      return { agent_name: name, exit_code: exitCode, result: json, text: lead(text) };
    } catch (error) {
      const { exitCode, document, detail } = describeFailure(error, io.advise);
      return { agent_name: name, exit_code: exitCode, result: document, text: lead(detail) };
    }
  }
  const rest = chosen.entries();
  async function work(): Promise<void> {
    for (const [index, one] of rest) results[index] = await resultOf(one);
  }
  await Promise.all(Array.from({ length: Math.min(maxAtOnce, chosen.length) }, work));
  const linesOf = (some: readonly AgentResult[]) =>
    some.map(({ text }) => text.replaceAll("\n", "\n  ")).join("\n");
  const isDone = ({ exit_code: code }: AgentResult) => code === exitCodes.done;
  const failures = results.filter((one) => !isDone(one));
  if (failures.length > 0 && inherited["json"] !== true) await io.writeError(`${linesOf(failures)}\n`);
  return {
    json: { results: results.map(({ text: _, ...result }) => result) },
    text: linesOf(results.filter(isDone)),
    exitCode: Math.max(...results.map(({ exit_code: code }) => code)),
  };
}
