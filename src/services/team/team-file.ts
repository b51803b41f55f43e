import { type TeamAgent, TeamFile } from "../../protocol/team-file.ts";
import { readCheckedYaml, type YamlFinding } from "../../system/checked-yaml.ts";
import { cronProblem } from "../../system/cron.ts";

export type TeamReading = { ok: true; team: TeamFile } | { ok: false; findings: YamlFinding[] };

/** Reads the text of a `svc.yaml`. Aliases, anchors and keys that are given twice are refused. Pure. */
export function readTeamFile(text: string): TeamReading {
  const reading = readCheckedYaml(text, TeamFile);
  if (!reading.ok) return reading;
  const { value: team, lineOf } = reading;
  const conflicts = Object.entries(team.agents).flatMap(([name, agent]) =>
    conflictsOf(agent).map(({ field, message }) => ({
      line: lineOf(["agents", name, field]),
      message: `agents.${name}.${field}: ${message}`,
    })),
  );
  const findings = [...conflicts, ...unknownMembers(team, lineOf), ...unusableSchedules(team, lineOf)];
  return findings.length > 0 ? { ok: false, findings } : { ok: true, team };
}

type LineOf = (path: readonly string[]) => number;

function unknownMembers(team: TeamFile, lineOf: LineOf): YamlFinding[] {
  const known = [...Object.keys(team.agents), ...Object.keys(team.people ?? {})];
  return Object.entries(team.groups ?? {}).flatMap(([group, members]) => [
    ...(known.includes(group)
      ? [{ line: lineOf(["groups", group]), message: `groups.${group}: an agent or a person has this name` }]
      : []),
    ...members.flatMap((member, index) =>
      known.includes(member)
        ? []
        : [
            {
              line: lineOf(["groups", group, String(index)]),
              message: `groups.${group}: "${member}" is neither an agent nor a person of this file`,
            },
          ],
    ),
  ]);
}

/** What the pattern cannot know: whether such a day ever comes, and which time zones there are. */
function unusableSchedules(team: TeamFile, lineOf: LineOf): YamlFinding[] {
  return Object.entries(team.agents).flatMap(([agent, { schedules = {} }]) =>
    Object.entries(schedules).flatMap(([name, { cron, time_zone = "UTC" }]) => {
      const at = (field: string, message: string) => ({
        line: lineOf(["agents", agent, "schedules", name, field]),
        message: `agents.${agent}.schedules.${name}.${field}: ${message}`,
      });
      const problem = cronProblem(cron, time_zone);
      return problem ? [at(problem.field, problem.message)] : [];
    }),
  );
}

/** Who is behind a name of the file. */
interface Members {
  agents: string[];
  /** Of the agents and people that have a mailbox. */
  addresses: string[];
  /** Agents that mail does not reach. */
  withoutMailbox: string[];
}

/** The members of a group, or the one person or agent of this name. Null for another name. Pure. */
export function membersOf(team: TeamFile, name: string): Members | null {
  const people = team.people ?? {};
  const groups = team.groups ?? {};
  const names = (Object.hasOwn(groups, name) ? groups[name] : null) ?? [name];
  const known = names.filter((one) => Object.hasOwn(team.agents, one) || Object.hasOwn(people, one));
  if (known.length === 0) return null;
  const hasMailbox = (one: string) => Object.hasOwn(people, one) || team.agents[one]?.mailbox === true;
  return {
    agents: known.filter((one) => Object.hasOwn(team.agents, one)),
    addresses: known.filter(hasMailbox).map((one) => people[one]?.address ?? `${one}@svc.localhost`),
    withoutMailbox: known.filter((one) => !hasMailbox(one)),
  };
}

/** All names that `membersOf` knows. Pure. */
export function memberNames({ groups = {}, people = {}, agents }: TeamFile): string[] {
  return [groups, people, agents].flatMap(Object.keys);
}

/** What an agent is to be reminded of, by a name that is unique in the agent. `flags`: of `reminders create`. Pure. */
export function remindersOf({
  reminders = {},
  schedules = {},
}: TeamAgent): Record<string, { prompt: string; flags: string[] }> {
  const of = (name: string, prompt: string, times: readonly string[]) => {
    const common = [`--title=${name}`, `--prompt=${prompt}`, "--durable=yes", "--independent=yes"];
    return { prompt, flags: [...common, ...times] };
  };
  return {
    ...Object.fromEntries(
      Object.entries(reminders).map(([name, { prompt, every_seconds: seconds }]) => [
        `reminder ${name}`,
        of(name, prompt, [`--start-after-seconds=${seconds}`, `--interval-seconds=${seconds}`]),
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(schedules).map(([name, { prompt, cron, time_zone = "UTC" }]) => [
        `schedule ${name}`,
        of(name, prompt, [`--cron=${cron}`, `--time-zone=${time_zone}`]),
      ]),
    ),
  };
}

function conflictsOf(agent: TeamFile["agents"][string]): { field: string; message: string }[] {
  return [
    ...(agent.worktree && agent.workdir !== undefined
      ? [{ field: "worktree", message: "not together with workdir: a worktree is its working directory" }]
      : []),
    ...(agent.model !== undefined && agent.headless !== true
      ? [{ field: "model", message: "needs `headless: true`; give other agents their model with `args`" }]
      : []),
    ...(agent.notifier !== undefined && agent.mailbox !== true
      ? [{ field: "notifier", message: "needs `mailbox: true`" }]
      : []),
  ];
}

/** The variables of an env file: `NAME=VALUE` lines, `#` comments and blank lines. Returns the number of a bad line. Pure. */
export function readEnvFile(text: string): { env: Record<string, string> } | { badLine: number } {
  const env: Record<string, string> = {};
  for (const [index, line] of text.split("\n").entries()) {
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const match = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*?)\r?$/.exec(line);
    if (!match) return { badLine: index + 1 };
    env[match[1] ?? ""] = (match[2] ?? "").replace(/^(["'])(.*)\1$/, "$2");
  }
  return { env };
}

/** The command line of `svc-mgr` that launches an agent of the file. Pure. */
export function launchWords(
  name: string,
  agent: TeamAgent,
  {
    workdir,
    env,
    roleFile,
  }: { workdir: string; env: Readonly<Record<string, string>>; roleFile: string | null },
): string[] {
  return [
    ...["agents", "launch", `--agent-name=${name}`, `--tool=${agent.tool}`, `--workdir=${workdir}`],
    ...Object.entries(env).map(([variable, value]) => `--env=${variable}=${value}`),
    ...(roleFile === null ? [] : [`--role-file=${roleFile}`]),
    ...(agent.headless ? ["--headless"] : []),
    ...(agent.model === undefined ? [] : [`--model=${agent.model}`]),
    ...(agent.unattended ? ["--unattended"] : []),
    ...(agent.mailbox ? ["--mailbox"] : []),
  ];
}
