import { join } from "node:path";
import type { AgentIdentity } from "../../protocol/agents.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { backendFacts } from "../agent/backends.ts";
import { type FoundAgent, openRecord } from "../sessions/find.ts";
import type { Registry } from "../sessions/registry.ts";
import { judgingFoldersOnce } from "../sessions/trust.ts";
import type { ManifestProblem } from "./diagnose.ts";
import { leaseOf, toIdentity } from "./projection.ts";

/** An agent that the shared registry knows. */
export interface KnownAgent {
  record: RegistryRecord;
  /** Without what only a probe shows: whether it lives, and whether a gateway answers. */
  identity: AgentIdentity;
  /** Null when its manifest cannot be used; `problem` says why. */
  found: FoundAgent | null;
  problem: ManifestProblem | null;
}

/**
 * Who the agents are. A seam: today the shared registry of this machine, with every generation's record as it
 * is on disk; nothing is ever written there.
 */
export interface Directory {
  /** Sorted by transport, then tracked_agent_id; at most 100 ms behind the registry. */
  agents(): readonly KnownAgent[];
  /** The agent of an alias; a miss looks again. Throws `not_found` and `ambiguous`, see `chooseAgent`. */
  resolve(ref: string): KnownAgent;
  /** The next look is at the registry itself: something was changed there. */
  refresh(): void;
}

/** `agent.found`; throws `unavailable` when its manifest cannot be used. */
export function openedAgent(agent: KnownAgent): FoundAgent & { record: RegistryRecord } {
  if (agent.found) return { ...agent.found, record: agent.record };
  const { agent_name: name, agent_id: id } = agent.record;
  const remedy: Remedy =
    agent.problem?.state === "unreadable" ? { code: "run_doctor" } : { code: "stop_agent", agent_id: id };
  throw new ServiceError("unavailable", `"${name}" cannot be opened: ${agent.problem?.why}`, {
    data: { remedy },
  });
}

const staleMs = 100;

interface Kept {
  recordKey: string;
  manifestKey: string | null;
  agent: KnownAgent;
}

/**
 * Records and manifests stay in memory and are parsed again only when their files are others (by inode, time
 * and size): a look costs two `stat` calls for each agent and nothing while nobody asks. Change notices would
 * need one watch for each agent's folder and could be missed.
 */
export function createDirectory(deps: {
  files: Files;
  clock: Clock;
  registry: Pick<Registry, "read">;
  registryRoot: string;
}): Directory {
  const { files, clock, registry } = deps;
  const root = join(deps.registryRoot, "live_agents");
  /** As of the last look that found something else than the one before it. */
  let view = toView(new Map());
  let lookedMs = Number.NEGATIVE_INFINITY;

  function keyOf(path: string): string | null {
    const facts = files.stat(path);
    return facts && `${facts.identity} ${facts.modifiedMs} ${facts.size}`;
  }

  function lookAt(agentId: string, looking: Files): Kept | null {
    const recordKey = keyOf(`${root}/${agentId}/record.json`);
    if (recordKey === null) return null;
    const before = view.byId.get(agentId);
    // A right that is given back changes neither file.
    if (before?.recordKey === recordKey && before.agent.problem?.state !== "unreadable") {
      const { manifest_path: path } = before.agent.record.runtime;
      if (keyOf(path) === before.manifestKey) return before;
    }
    const record = readRecord(registry, agentId);
    if (!record) return null;
    const manifestKey = keyOf(record.runtime.manifest_path);
    return { recordKey, manifestKey, agent: toKnownAgent(looking, record) };
  }

  function look(): void {
    lookedMs = clock.monotonicMs();
    const looking = judgingFoldersOnce(files);
    const byId = new Map(
      files.list(root).flatMap((agentId): [string, Kept][] => {
        const entry = lookAt(agentId, looking);
        return entry ? [[agentId, entry]] : [];
      }),
    );
    const isSame =
      byId.size === view.byId.size && [...byId].every(([id, entry]) => view.byId.get(id) === entry);
    if (!isSame) view = toView(byId);
  }

  function lookUnlessFresh(): void {
    if (clock.monotonicMs() - lookedMs > staleMs) look();
  }

  return {
    agents() {
      lookUnlessFresh();
      return view.sorted;
    },
    resolve(ref) {
      const alias = ref.trim();
      lookUnlessFresh();
      if (!view.byAlias.has(alias)) look();
      return chooseAgent(view.byAlias.get(alias) ?? [], alias);
    },
    refresh() {
      lookedMs = Number.NEGATIVE_INFINITY;
    },
  };
}

/** What a look found, in the forms in which it is asked for. */
interface DirectoryView {
  byId: ReadonlyMap<string, Kept>;
  sorted: KnownAgent[];
  byAlias: ReadonlyMap<string, KnownAgent[]>;
}

function toView(byId: ReadonlyMap<string, Kept>): DirectoryView {
  const sorted = [...byId.values()].map(({ agent }) => agent).sort(byTransportAndId);
  const byAlias = new Map<string, KnownAgent[]>();
  for (const agent of sorted) {
    for (const alias of aliasesOf(agent.identity)) {
      byAlias.set(alias, [...(byAlias.get(alias) ?? []), agent]);
    }
  }
  return { byId, sorted, byAlias };
}

/** Null for anything but a record; we make no folder without an agent id as its name. */
function readRecord(registry: Pick<Registry, "read">, agentId: string): RegistryRecord | null {
  try {
    return registry.read(agentId);
  } catch {
    return null;
  }
}

/** The agent of a record, whatever became of its manifest. */
export function toKnownAgent(files: Files, record: RegistryRecord): KnownAgent {
  try {
    const found = openRecord(files, record);
    const identity = toIdentity({
      ...found,
      lifecycleState: record.lifecycle.state,
      hasGateway: false,
    });
    return { record, identity, found, problem: null };
  } catch (error) {
    const state = error instanceof ServiceError ? "refused" : "unreadable";
    const problem = { state, why: messageOf(error) } as const;
    return { record, identity: fromRecord(record), found: null, problem };
  }
}

/** The identity that the record alone gives of an agent whose manifest is lost. */
function fromRecord(record: RegistryRecord): AgentIdentity {
  const { headless } = backendFacts(record.identity.backend);
  return {
    tracked_agent_id: record.agent_id,
    transport: headless ? "headless" : "tui",
    tool: record.identity.tool,
    session_name: headless ? null : (record.terminal.current_session_name ?? null),
    terminal_id: null,
    runtime_session_id: null,
    tmux_session_name: record.terminal.current_session_name ?? null,
    tmux_window_name: null,
    manifest_path: record.runtime.manifest_path,
    session_root: record.runtime.session_root ?? null,
    agent_name: record.agent_name,
    agent_id: record.agent_id,
    lifecycle_state: record.lifecycle.state,
    backend: record.identity.backend,
    generation_id: record.generation_id,
    has_gateway: false,
    has_mailbox: record.mailbox != null,
    ...leaseOf(record),
  };
}

function byTransportAndId({ identity: left }: KnownAgent, { identity: right }: KnownAgent): number {
  const key = (one: AgentIdentity) => `${one.transport} ${one.tracked_agent_id}`;
  return key(left) < key(right) ? -1 : 1;
}

/** What an agent can be called by. */
export type Named = Pick<
  AgentIdentity,
  | "tracked_agent_id"
  | "transport"
  | "terminal_id"
  | "session_name"
  | "runtime_session_id"
  | "agent_name"
  | "agent_id"
  | "lifecycle_state"
>;

const ourPrefix = /^svc-/i;

/**
 * Every alias of an agent; a name is one with and without the `SVC-` before it. Pure. Source: contract 2.9.
 */
export function aliasesOf(agent: Named): string[] {
  const all = [
    agent.tracked_agent_id,
    agent.transport === "tui" ? agent.terminal_id : null,
    agent.transport === "tui" ? agent.session_name : null,
    agent.runtime_session_id,
    ...namesOf(agent),
    agent.agent_id,
  ];
  return [...new Set(all.filter((one) => one !== null && one !== ""))] as string[];
}

function namesOf({ agent_name: name }: Named): string[] {
  if (name === null) return [];
  const bare = name.replace(ourPrefix, "");
  return [name, bare, `SVC-${bare}`];
}

/**
 * The one agent that `ref` means among those that have it as an alias. Agents of one name: the only one that
 * runs, else the only one. An alias that is the id of one agent and the name of another names neither,
 * whatever runs: a caller that wrote it may mean either. Throws `not_found`, and `ambiguous` with the ids in
 * `data.agent_ids`. Pure. Source: contract 2.9.
 */
export function chooseAgent<A extends { identity: Named }>(candidates: readonly A[], ref: string): A {
  const named = candidates.filter(({ identity }) => namesOf(identity).includes(ref));
  const tracked = candidates.filter(({ identity }) => identity.tracked_agent_id === ref);
  const byId = candidates.filter(({ identity }) => isIdOf(identity, ref));
  const crossed = byId.some((one) => named.some((other) => other !== one));
  const running = candidates.filter(
    ({ identity: { lifecycle_state: state } }) => state === "active" || state === "relaunching",
  );
  const preferred = tracked.length > 0 ? tracked : running.length > 0 ? running : candidates;
  const left = crossed ? candidates : preferred;
  const [only] = left;
  if (only && left.length === 1) return only;
  if (!only) throw new ServiceError("not_found", `no agent is known as "${ref.slice(0, 200)}"`);
  const ids = left.map(({ identity }) => identity.agent_id ?? identity.tracked_agent_id).sort();
  throw new ServiceError(
    "ambiguous",
    `${left.length} agents are known as "${ref}": ${left.map(({ identity }) => introduce(identity)).join("; ")}`,
    { data: { agent_ids: ids } },
  );
}

/** Whether `ref` is an alias of this agent that is no name. */
function isIdOf(agent: Named, ref: string): boolean {
  return aliasesOf({ ...agent, agent_name: null }).includes(ref);
}

/** An agent by its id and by the alias that no other agent can have: its session's. */
function introduce({
  agent_id: id,
  agent_name: name,
  runtime_session_id: session,
  tracked_agent_id,
}: Named): string {
  return `"${name ?? id}" with the id ${id ?? tracked_agent_id}, reached as ${session ?? tracked_agent_id}`;
}
