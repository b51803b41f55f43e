import type { ReminderDefinition } from "../../../protocol/reminders.ts";
import { type TeamAgent, TeamFile } from "../../../protocol/team-file.ts";
import { readCheckedYaml, type YamlFinding } from "../../../system/checked-yaml.ts";
import { cronProblem } from "../../../system/cron.ts";

type TeamReading = { ok: true; team: TeamFile } | { ok: false; findings: YamlFinding[] };

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
  const findings = [
    ...conflicts,
    ...sharedNames(team, lineOf),
    ...unknownMembers(team, lineOf),
    ...unusableSchedules(team, lineOf),
  ];
  return findings.length > 0 ? { ok: false, findings } : { ok: true, team };
}

type LineOf = (path: readonly string[]) => number;

/** An agent and a person of one name would share a mailbox, and a group could not say which it means. */
function sharedNames(team: TeamFile, lineOf: LineOf): YamlFinding[] {
  const agents = Object.keys(team.agents);
  return Object.keys(team.people ?? {}).flatMap((person) =>
    agents.some((agent) => agent.toLowerCase() === person.toLowerCase())
      ? [
          {
            line: lineOf(["people", person]),
            message: `people.${person}: an agent of this file has this name`,
          },
        ]
      : [],
  );
}

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
  /** Addresses of the people. */
  people: string[];
}

/** The members of a group, or the one person or agent of this name. Null for another name. Pure. */
export function membersOf(team: TeamFile, name: string): Members | null {
  const people = team.people ?? {};
  const groups = team.groups ?? {};
  const names = (Object.hasOwn(groups, name) ? groups[name] : null) ?? [name];
  const known = names.filter((one) => Object.hasOwn(team.agents, one) || Object.hasOwn(people, one));
  if (known.length === 0) return null;
  return {
    agents: known.filter((one) => Object.hasOwn(team.agents, one)),
    people: known
      .filter((one) => Object.hasOwn(people, one))
      .map((one) => people[one]?.address ?? `${one}@svc.localhost`),
  };
}

/** All names that `membersOf` knows. Pure. */
export function memberNames({ groups = {}, people = {}, agents }: TeamFile): string[] {
  return [groups, people, agents].flatMap(Object.keys);
}

/** What an agent is to be reminded of. */
interface TeamReminder {
  prompt: string;
  /** For people. */
  when: string;
  definition: ReminderDefinition;
  /** Records of earlier versions have its digest. */
  fingerprint: string[];
}

/** The reminders of an agent, by a name that is unique in the agent. Pure. */
export function remindersOf({ reminders = {}, schedules = {} }: TeamAgent): Record<string, TeamReminder> {
  const of = (
    title: string,
    { prompt, when, times }: { prompt: string; when: string; times: Partial<ReminderDefinition> },
  ): TeamReminder => {
    const flags = Object.entries(times).map(([name, value]) => `--${name.replaceAll("_", "-")}=${value}`);
    return {
      prompt,
      when,
      definition: {
        mode: "repeat",
        title,
        prompt,
        ranking: 0,
        paused: false,
        durable: true,
        independent: true,
        ...times,
      },
      fingerprint: [`--title=${title}`, `--prompt=${prompt}`, "--durable=yes", "--independent=yes", ...flags],
    };
  };
  return {
    ...Object.fromEntries(
      Object.entries(reminders).map(([name, { prompt, every_seconds: seconds }]) => {
        const times = { start_after_seconds: seconds, interval_seconds: seconds };
        return [`reminder ${name}`, of(name, { prompt, when: `every ${seconds} s`, times })];
      }),
    ),
    ...Object.fromEntries(
      Object.entries(schedules).map(([name, { prompt, cron, time_zone = "UTC" }]) => {
        const times = { cron, time_zone };
        return [`schedule ${name}`, of(name, { prompt, when: `${cron} (${time_zone})`, times })];
      }),
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

/**
 * The variables of an env file: `NAME=VALUE` lines, `#` comments and blank lines. Returns the number of a bad
 * line. Pure.
 */
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
