import { basename, relative, resolve } from "node:path";
import type { TeamAgent, TeamFile } from "../../protocol/team-file.ts";
import {
  memberNames,
  membersOf,
  readEnvFile,
  readTeamFile,
} from "../../services/extensions/team/team-file.ts";
import { refuseExposed } from "../../services/sessions/trust.ts";
import { PathRefused } from "../../system/contained-path.ts";
import { suggest } from "../../system/similar-word.ts";
import { visibleLine } from "../../system/visible.ts";
import { nearestTeamFile, ownTeamFile } from "../agent/team-scope.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type Caller, type CliIo, UsageError } from "../command-line/command.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { readFileFlag } from "../command-line/flag-values.ts";
import type { MemberNames, Members } from "../extension.ts";

/**
 * Whom `@NAME` means in the team of the agent that calls this, else in the nearest team's file: agents that
 * this file launched, never others of the same name. Throws UsageError for an unknown name. Source: ruling
 * 40.
 */
async function findMembers({ io, inherited }: Caller, name: string): Promise<Members> {
  const context = openCliContext(io, inherited);
  const noFile = `; @${name} is a name of such a file: call this below its folder`;
  const path = (await ownTeamFile(context, io)) ?? findTeamFile(context, io, undefined, noFile);
  const team = await readTeam(context, io, path);
  const members = membersOf(team, name);
  if (members) {
    const own = context.registry.list().records.filter((record) => record.team?.file === path);
    const recordOf = (member: string) => {
      const named = own.filter((record) => record.team?.member === member);
      return named.find(({ lifecycle }) => lifecycle.state === "active") ?? named[0] ?? null;
    };
    const agents = members.agents.map((member) => ({ member, record: recordOf(member) }));
    return { path, agents, people: members.people };
  }
  const near = suggest(name, memberNames(team));
  const advice = near === null ? "" : `; did you mean "${near}"?`;
  throw new UsageError(`${visibleLine(path)} has no group, person or agent "${name}"${advice}`);
}

export const teamMembers: MemberNames = {
  find: findMembers,
  async groups({ io, inherited }) {
    const context = openCliContext(io, inherited);
    const path = (await ownTeamFile(context, io)) ?? findTeamFile(context, io, undefined);
    return Object.keys((await readTeam(context, io, path)).groups ?? {});
  },
};

/** The path of the team's file, without links on the way: two ways to one file are one team. */
export function findTeamFile(
  { files }: CliContext,
  io: CliIo,
  given: string | undefined,
  noFile = "; name one with --file FILE",
): string {
  if (given !== undefined) {
    const path = resolve(io.cwd, given);
    return files.realPath(path) ?? path;
  }
  const path = nearestTeamFile(files, io.cwd);
  if (path !== null) return path;
  throw new UsageError(`there is no svc.yaml here or in a folder above${noFile}`);
}

/** It names programs and their arguments: the file must be for this user alone to change. */
export async function readTeam(context: CliContext, io: CliIo, path: string): Promise<TeamFile> {
  refuseExposed(context.files, path, path);
  const text = await readFileFlag("file", path, { files: context.files, cwd: io.cwd });
  const reading = readTeamFile(text);
  if (reading.ok) return reading.team;
  const lines = reading.findings.map(({ line, message }) => `${basename(path)}:${line}: ${message}`);
  throw new CommandFailure(exitCodes.usage, lines.join("\n"), {
    error: "invalid_team_file",
    detail: lines[0],
    findings: reading.findings,
  });
}

/** The variables of an agent: those of its `env_file`, then its `env`. Throws UsageError as `locateBelow`. */
export async function readEnvironment(
  { files }: Pick<CliContext, "files">,
  folder: string,
  name: string,
  { env = {}, env_file: path }: TeamAgent,
): Promise<Record<string, string>> {
  if (path === undefined) return env;
  const field = `agents.${name}.env_file`;
  const text = await readFileFlag(field, locateBelow(files, folder, field, path), { files, cwd: folder });
  const read = readEnvFile(text);
  if ("env" in read) return { ...read.env, ...env };
  throw new UsageError(`${field}: ${visibleLine(path)}:${read.badLine}: not NAME=VALUE`);
}

/** Its path and its text; null without a `role_file`. Throws UsageError as `locateBelow`. */
export async function readRole(
  { files }: Pick<CliContext, "files">,
  folder: string,
  name: string,
  { role_file: given }: TeamAgent,
): Promise<{ path: string; text: string } | null> {
  if (given === undefined) return null;
  const field = `agents.${name}.role_file`;
  const path = locateBelow(files, folder, field, given);
  return { path, text: await readFileFlag(field, path, { files, cwd: folder }) };
}

/**
 * The absolute path of a file that a team's file names. Throws UsageError for one outside of `folder`, behind
 * a link, and of another kind: the author of a repository could otherwise have an agent read a private file
 * of the user. Source: spec/security.md, rule 1.
 */
function locateBelow(files: CliContext["files"], folder: string, field: string, given: string): string {
  const way = relative(folder, resolve(folder, given));
  const refused = (why: string) => new UsageError(`${field}: ${visibleLine(given)} ${why}`);
  if (way === ".." || way.startsWith("../")) {
    throw refused("lies outside of the folder of the team's file: put a copy below that folder");
  }
  try {
    return files.contained(folder, way, "file");
  } catch (error) {
    if (!(error instanceof PathRefused)) throw error;
    throw refused(`is refused: ${error.why}`);
  }
}
