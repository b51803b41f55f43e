import { dirname, isAbsolute } from "node:path";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import { suggest } from "../../system/similar-word.ts";
import { visibleLine } from "../../system/visible.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { sessionOfPane } from "../terminal/tmux/screen.ts";
import type { LaunchTool } from "./launch-tools.ts";
import { readManifest } from "./manifest.ts";
import { isFresh } from "./record.ts";
import type { Registry } from "./registry.ts";
import type { Environment } from "./roots.ts";
import { refuseExposed } from "./trust.ts";

/** An agent with everything needed to reach it. */
export interface FoundAgent {
  /** Null for an agent known only by its manifest. */
  record: RegistryRecord | null;
  manifest: Manifest;
  manifestPath: string;
  sessionRoot: string;
}

interface FindDeps {
  files: Files;
  registry: Registry;
}

const listAgents = { data: { remedy: { code: "list_agents" } satisfies Remedy } };

/**
 * The team in which a name is said: its file owns the agents that its short names mean, also where a prefix
 * makes their whole names others.
 */
export interface TeamScope {
  /** The `svc.yaml`, as in the records of its agents. */
  file: string;
  /** An agent of this team says the name: its own team goes before all others. */
  isMember: boolean;
  /** Names of the file whose agents run under others, because the project has a prefix. */
  prefixed: readonly string[];
}

/** `team`: the one in which the name is said; without it only whole names count. */
export type AgentSelector = { agentName: string; team?: TeamScope | null } | { agentId: string };

/** The agent of a name or an id. Throws as `findRecord` and `readManifest`. */
export function findAgent(deps: FindDeps, selector: AgentSelector): FoundAgent {
  return openRecord(deps.files, findRecord(deps, selector));
}

/**
 * The record of a name or an id, whatever became of its manifest. Running records win over stopped ones of
 * the same name; a name that is also the id of another agent means neither, nor does one that means two
 * agents by its team. Throws `not_found`, and `ambiguous` with the ids to choose from in `data.agent_ids`.
 */
export function findRecord(
  { registry }: Pick<FindDeps, "registry">,
  selector: AgentSelector,
): RegistryRecord {
  if ("agentId" in selector) {
    const id = selector.agentId.trim();
    const record = registry.read(id);
    if (record) return record;
    throw new ServiceError("not_found", `there is no agent with id ${id}`, listAgents);
  }
  const name = selector.agentName.trim();
  const { records, ignored } = registry.list();
  const decision = chooseInTeam(records, name, selector.team ?? null);
  if ("record" in decision) {
    refuseNameThatIsAnId(decision.record, records);
    return decision.record;
  }
  if (decision.agentIds.length === 0) {
    const unread = ignored.length > 0 ? "; some records cannot be used, and doctor names them" : "";
    const meant = suggest(name, [...new Set(records.map((record) => record.agent_name))]);
    const hint = meant === null ? "" : `; did you mean "${meant}"?`;
    throw new ServiceError("not_found", `there is no agent named "${name}"${hint}${unread}`, listAgents);
  }
  if ("foreign" in decision) throw foreignName(name, decision);
  throw new ServiceError(
    "ambiguous",
    `${decision.agentIds.length} agents are named "${name}"; choose one with --agent-id: ${decision.agentIds.join(", ")}`,
    { data: { agent_ids: decision.agentIds } },
  );
}

/** Throws `ambiguous` when the name of this agent is the id of another: a command could mean either. Pure. */
function refuseNameThatIsAnId(named: RegistryRecord, records: readonly RegistryRecord[]): void {
  const { agent_name: name, agent_id: id } = named;
  const other = records.find((record) => record.agent_id === name && record !== named);
  if (!other) return;
  throw new ServiceError(
    "ambiguous",
    `"${name}" is the name of one agent and the id of another. Say which: \`--agent-id ${id}\` is the agent named "${name}", \`--agent-id ${other.agent_id}\` is the agent named "${other.agent_name}"`,
    { data: { agent_ids: [id, other.agent_id].sort() } },
  );
}

type NameDecision = { record: RegistryRecord } | { agentIds: string[] };

/**
 * `own`: the agent of the team that the name may mean; null where the team has none now. `foreign`: of
 * another owner.
 */
interface ForeignName {
  own: RegistryRecord | null;
  foreign: RegistryRecord;
  agentIds: string[];
}

/**
 * As `chooseByName`, for a name that is said in a team. It means the team's own agent of this short name, to
 * an agent of the team always. To a person it is ambiguous when another running agent has it as its whole
 * name. A name of the team that runs under a prefix never means an agent of another owner. Pure. Source:
 * ruling 40.
 */
export function chooseInTeam(
  records: readonly RegistryRecord[],
  name: string,
  team: TeamScope | null,
): NameDecision | ForeignName {
  const whole = chooseByName(records, name);
  if (team === null) return whole;
  const ofTeam = records.filter(({ team: owner }) => owner?.file === team.file && owner.member === name);
  const own = ofTeam.find(isRunning) ?? ofTeam[0];
  if (!("record" in whole)) return own && whole.agentIds.length === 0 ? { record: own } : whole;
  if (whole.record.team?.file === team.file) return whole;
  if (own && (team.isMember || (isRunning(own) && !isRunning(whole.record)))) return { record: own };
  if (!own && !team.prefixed.includes(name)) return whole;
  const agentIds = [own, whole.record].flatMap((one) => (one ? [one.agent_id] : []));
  return { own: own ?? null, foreign: whole.record, agentIds };
}

function foreignName(name: string, { own, foreign, agentIds }: ForeignName): ServiceError {
  const other = `\`--agent-id ${foreign.agent_id}\` is the agent "${foreign.agent_name}" of ${ownerOf(foreign)}`;
  const message =
    own === null
      ? `"${name}" is an agent of this team, which has a prefix and no agent of this name now. Say the whole name, or which other agent: ${other}`
      : `"${name}" means two agents. Say which: \`--agent-name ${own.agent_name}\` is the one of this team, ${other}`;
  return new ServiceError("ambiguous", message, { data: { agent_ids: agentIds } });
}

/** Whose agent it is, for a message. Pure. */
function ownerOf({ team }: Pick<RegistryRecord, "team">): string {
  return team ? visibleLine(team.file) : "nobody's team: a person launched it";
}

/** The record says that its agent runs; whether it does is another question. Pure. */
export const isRunning = ({ lifecycle }: Pick<RegistryRecord, "lifecycle">): boolean =>
  lifecycle.state === "active" || lifecycle.state === "relaunching";

/** One record, or the ids of all candidates (none: unknown name). Pure. */
export function chooseByName(records: readonly RegistryRecord[], name: string): NameDecision {
  const named = records.filter((record) => record.agent_name === name);
  const running = named.filter(isRunning);
  const candidates = running.length > 0 ? running : named;
  const [only] = candidates;
  if (only && candidates.length === 1) return { record: only };
  return { agentIds: candidates.map((record) => record.agent_id) };
}

interface SelfDeps extends FindDeps {
  env: Environment;
  nowMs: number;
  /** The tmux server of the pane we run in. */
  tmux: Tmux;
}

/**
 * The agent inside whose session we run: by SVC_MANIFEST_PATH, else by SVC_AGENT_ID and exactly one fresh
 * record of the current tmux session (contract 4.4 rule 7). The session's own environment is asked before the
 * process's, which goes stale. Either way the manifest must name the current session; outside tmux only
 * SVC_MANIFEST_PATH can say who we are. Throws `not_found`, `ambiguous`, `precondition_failed`.
 */
export async function findSelf(deps: SelfDeps): Promise<FoundAgent> {
  const { env, files, registry, tmux } = deps;
  const pane = env["TMUX_PANE"];
  const session = pane ? await sessionOfPane(tmux, pane) : null;
  const place = session === null ? null : { session, socket: await tmux.socketPath(session) };
  const published = (session ? await tmux.environment(session) : null) ?? {};
  const lookup = (name: string) => published[name] || env[name] || null;

  const manifestPath = lookup("SVC_MANIFEST_PATH");
  if (manifestPath !== null) {
    const manifest = readManifest(files, manifestPath);
    requirePlace(manifest, place);
    return {
      record: matchingRecord(registry, manifest),
      manifest,
      manifestPath,
      sessionRoot: dirname(manifestPath),
    };
  }
  const agentId = lookup("SVC_AGENT_ID");
  if (agentId === null || session === null) {
    throw new ServiceError(
      "not_found",
      "this is not the session of an agent: neither SVC_MANIFEST_PATH nor SVC_AGENT_ID is set here",
      { data: { remedy: { code: "name_agent" } satisfies Remedy } },
    );
  }
  const fresh = registry
    .list()
    .records.filter((record) => record.agent_id === agentId)
    .filter((record) => isFresh(record, deps.nowMs) && record.terminal.current_session_name === session);
  const [only] = fresh;
  if (!only || fresh.length > 1) {
    throw new ServiceError(
      "not_found",
      `no running agent ${agentId} is recorded for tmux session ${session}`,
    );
  }
  const found = openRecord(files, only);
  requirePlace(found.manifest, place);
  return found;
}

/**
 * Whether we run in another pane of the session that this agent joined, and below no program of an agent: then
 * a person does, whose session it is. TMUX_PANE alone proves nothing, since a process sets it as it likes.
 */
export async function isBesideAgent(
  deps: { tmux: Tmux; processes: Processes; tools: readonly LaunchTool[]; env: Environment },
  { tmux: place, tmux_session_name: session, agent_launch_authority: authority }: Manifest,
): Promise<boolean> {
  const { tmux, processes, tools, env } = deps;
  const id = env["TMUX_PANE"];
  if (authority.session_origin !== "joined_tmux" || !place.primary_pane_id) return false;
  if (id === place.primary_pane_id) return false;
  const pane = (await tmux.panes(session)).find(({ paneId }) => paneId === id);
  const tree = pane ? await processes.tree(pane.panePid) : [];
  const byPid = new Map(tree.map((one) => [one.pid, one]));
  const self = byPid.get(processes.selfPid());
  for (let at = self; at; at = byPid.get(at.parentPid)) {
    const process = at;
    if (tools.some((tool) => tool.occupies(process))) return false;
  }
  return self !== undefined;
}

/** Earlier manifests may hold a name of the server, or nothing: then the session alone must fit. */
function requirePlace(manifest: Manifest, place: { session: string; socket: string } | null): void {
  if (place === null) return;
  const { agent_name: name, tmux_session_name: session, tmux } = manifest;
  const sameServer = !isAbsolute(tmux.socket ?? "") || tmux.socket === place.socket;
  if (session === place.session && sameServer) return;
  const [theirs, ours] = sameServer
    ? [session, place.session]
    : [`${session} at ${tmux.socket}`, `${place.session} at ${place.socket}`];
  throw new ServiceError(
    "precondition_failed",
    `the manifest of "${name}" belongs to tmux session ${theirs}, and this is ${ours}`,
  );
}

function matchingRecord(registry: Registry, manifest: Manifest): RegistryRecord | null {
  const record = registry.read(manifest.agent_id);
  return record?.generation_id === manifest.registry_generation_id ? record : null;
}

/** The agent of a record. Throws as `readManifest`, and when record and manifest are of different agents. */
export function openRecord(files: Files, record: RegistryRecord): FoundAgent {
  const { manifest_path: manifestPath, session_root: sessionRoot } = record.runtime;
  if (sessionRoot && sessionRoot !== dirname(manifestPath)) {
    refuseExposed(files, sessionRoot, "the session folder");
  }
  const manifest = readManifest(files, manifestPath);
  if (manifest.agent_id !== record.agent_id) {
    throw new ServiceError(
      "precondition_failed",
      `the manifest ${manifestPath} is of agent ${manifest.agent_id}, its record of ${record.agent_id}`,
    );
  }
  return {
    record,
    manifest,
    manifestPath,
    sessionRoot: sessionRoot ?? dirname(manifestPath),
  };
}

/** The same, or null for a record that cannot be opened. Never throws. */
export function openRecordOrNull(files: Files, record: RegistryRecord): FoundAgent | null {
  try {
    return openRecord(files, record);
  } catch {
    return null;
  }
}
