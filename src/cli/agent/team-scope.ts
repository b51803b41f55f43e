import { dirname, join } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import { findRecord, findSelf, type TeamScope } from "../../services/sessions/find.ts";
import { stateRootOf } from "../../services/sessions/roots.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { type CliIo, UsageError } from "../command-line/command.ts";

type ScopeContext = Pick<CliContext, "files" | "registry" | "paneTmux" | "clock">;

/** The record that a name stands for in a command. Throws as `findRecord`. */
export async function findNamed(
  context: ScopeContext,
  io: CliIo,
  agentName: string,
): Promise<RegistryRecord> {
  return findRecord(context, { agentName, team: await teamScopeOf(context, io) });
}

/**
 * The whole name of the agent that a filter means here, by a name, a short name of its team or an id. What
 * this machine does not know may be of another host and stays as it is. Throws `ambiguous` as `findRecord`.
 */
export async function toWholeName(context: ScopeContext, io: CliIo, agent: string): Promise<string> {
  if (context.registry.list().records.some(({ agent_id: id }) => id === agent)) return agent;
  try {
    return (await findNamed(context, io, agent)).agent_name;
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "not_found") return agent;
    throw error;
  }
}

/**
 * The team in which a command is given: of the agent that gives it, else of the nearest `svc.yaml`. Null
 * without one.
 */
async function teamScopeOf(context: ScopeContext, io: CliIo): Promise<TeamScope | null> {
  const team = await teamOf(context, io);
  if (team === null) return null;
  const { file, isMember } = team;
  const { readPrefixed } = await import("../../services/sessions/team-record.ts");
  const prefixed = readPrefixed(context.files, join(stateRootOf(io.env, io.home), "teams"), file);
  return { file, isMember, prefixed };
}

/** The file of that team. `isMember`: an agent of it gives the command. */
export async function teamOf(
  context: ScopeContext,
  io: CliIo,
): Promise<Pick<TeamScope, "file" | "isMember"> | null> {
  const own = await ownTeamFile(context, io);
  const file = own ?? nearestTeamFile(context.files, io.cwd);
  return file === null ? null : { file, isMember: own !== null };
}

/**
 * The `svc.yaml` that owns the agent in whose session this runs, by the record of the agent: the file in its
 * working directory may be a copy in a worktree. Null for a person, and for an agent of no team.
 */
export async function ownTeamFile({ files, registry, paneTmux, clock }: ScopeContext, io: CliIo) {
  if (!io.env["SVC_MANIFEST_PATH"]) return null;
  const deps = { files, registry, tmux: paneTmux, env: io.env, nowMs: clock.nowMs() };
  const self = await findSelf(deps).catch(() => null);
  return self?.record?.team?.file ?? null;
}

/**
 * The `svc.yaml` of a folder or of the nearest one above, without links on the way; null without one. Throws
 * UsageError where that file is itself a link: a repository could otherwise name the team of another folder.
 */
export function nearestTeamFile(
  files: Pick<CliContext["files"], "exists" | "isLink" | "linkTarget" | "realPath">,
  from: string,
) {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, "svc.yaml");
    // Before `exists`: a link to nothing must not lead to the team of a folder above.
    if (files.isLink(path)) {
      const target = files.realPath(path) ?? files.linkTarget(path) ?? "";
      throw new UsageError(
        `${visibleLine(path)} is a link to ${visibleLine(target)}, which may be the team of another folder: work in that folder, or name the file with --file where the command has it`,
      );
    }
    if (files.exists(path)) return files.realPath(path) ?? path;
    if (folder === dirname(folder)) return null;
  }
}
