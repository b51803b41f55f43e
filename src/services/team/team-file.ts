import { TeamFile } from "../../protocol/team-file.ts";
import { readCheckedYaml, type YamlFinding } from "../../system/checked-yaml.ts";

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
  return conflicts.length > 0 ? { ok: false, findings: conflicts } : { ok: true, team };
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
