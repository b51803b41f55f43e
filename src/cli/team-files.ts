import { basename, dirname, join, resolve } from "node:path";
import type { TeamAgent, TeamFile } from "../protocol/team-file.ts";
import { refuseExposed } from "../services/sessions/trust.ts";
import { memberNames, membersOf, readEnvFile, readTeamFile } from "../services/team/team-file.ts";
import { suggest } from "../system/similar-word.ts";
import { type CliContext, openCliContext } from "./cli-context.ts";
import { type CliIo, type Invocation, UsageError } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";
import { readFileFlag } from "./flag-values.ts";

/** The agents and addresses that `@NAME` means in the team's file here or above. Throws UsageError for an unknown one. */
export async function findMembers(invocation: Invocation, name: string) {
  const context = openCliContext(invocation.io, invocation.inherited);
  const path = findTeamFile(context, invocation.io, undefined);
  const team = await readTeam(context, invocation.io, path);
  const members = membersOf(team, name);
  if (members) return members;
  const near = suggest(name, memberNames(team));
  const advice = near === null ? "" : `; did you mean "${near}"?`;
  throw new UsageError(`${path} has no group, person or agent "${name}"${advice}`);
}

export function findTeamFile({ files }: CliContext, io: CliIo, given: string | undefined): string {
  if (given !== undefined) return resolve(io.cwd, given);
  for (let folder = io.cwd; ; folder = dirname(folder)) {
    const path = join(folder, "svc.yaml");
    if (files.exists(path)) return path;
    if (folder === dirname(folder)) break;
  }
  throw new UsageError("there is no svc.yaml here or in a folder above; name one with --file FILE");
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

export async function readEnvironment(
  { files }: CliContext,
  folder: string,
  name: string,
  { env = {}, env_file: path }: TeamAgent,
): Promise<Record<string, string>> {
  if (path === undefined) return env;
  const text = await readFileFlag(`agents.${name}.env_file`, path, { files, cwd: folder });
  const read = readEnvFile(text);
  if ("env" in read) return { ...read.env, ...env };
  throw new UsageError(`agents.${name}.env_file: ${path}:${read.badLine}: not NAME=VALUE`);
}

export function readRole({ files }: CliContext, folder: string, name: string, path: string): Promise<string> {
  return readFileFlag(`agents.${name}.role_file`, path, { files, cwd: folder });
}
