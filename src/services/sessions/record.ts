import { Value } from "@sinclair/typebox/value";
import { type Manifest, RegistryRecord, type TeamOwner } from "../../protocol/files.ts";
import { parseTimestamp, toTimestamp } from "../../system/clock.ts";
import type { Tmux } from "../terminal/tmux/command.ts";

/** tmux proves that a terminal agent lives; its lease only has to outlast it (spec/coordination.md). */
const leaseMs = 100 * 365 * 24 * 3600 * 1000;
/** A lease that ended this long ago is no clock's disagreement any more. */
const leaseGraceMs = 5 * 60 * 1000;

/**
 * The record that makes a freshly launched session findable. Pure; holds no secret and no live port. `team`:
 * never from the manifest, which lies in the project where a project keeps its sessions.
 */
export function buildRecord(facts: {
  manifest: Manifest;
  manifestPath: string;
  sessionRoot: string;
  nowMs: number;
  team?: TeamOwner | undefined;
}): RegistryRecord {
  const { manifest, nowMs, team } = facts;
  const now = toTimestamp(nowMs);
  const { socket } = manifest.tmux;
  const binding = manifest.launch_plan.mailbox;
  return {
    schema_version: 3,
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    generation_id: manifest.registry_generation_id,
    lifecycle: { state: "active", relaunchable: isRelaunchable(manifest), state_updated_at: now },
    identity: { backend: manifest.backend, tool: manifest.tool },
    runtime: {
      manifest_path: facts.manifestPath,
      session_root: facts.sessionRoot,
      agent_def_dir: manifest.runtime.agent_def_dir,
    },
    terminal: {
      kind: "tmux",
      current_session_name: manifest.tmux_session_name,
      last_session_name: manifest.tmux_session_name,
      ...(socket === undefined ? {} : { socket }),
    },
    liveness: { published_at: now, lease_expires_at: toTimestamp(nowMs + leaseMs) },
    ...(binding ? { mailbox: binding } : {}),
    ...(team ? { team } : {}),
  };
}

/** Whether we know how the agent is started: not for one that was joined without its command. Pure. */
export function isRelaunchable(manifest: Manifest): boolean {
  return manifest.agent_launch_authority.posture_kind !== "unavailable";
}

/** The record of a session that ended and whose evidence is kept: no liveness, no gateway. Pure. */
export function toStopped(record: RegistryRecord, reason: string, nowMs: number): RegistryRecord {
  const now = toTimestamp(nowMs);
  const { liveness: _liveness, gateway: _gateway, ...rest } = record;
  const { current_session_name: _current, ...terminal } = record.terminal;
  return {
    ...rest,
    lifecycle: {
      ...record.lifecycle,
      state: "stopped",
      state_updated_at: now,
      stopped_at: now,
      stop_reason: reason,
    },
    terminal,
  };
}

/** Whether a person ended the agent. One whose machine ended it is stopped too once that was seen. Pure. */
export const isStoppedByPerson = ({ lifecycle }: Pick<RegistryRecord, "lifecycle">): boolean =>
  lifecycle.state === "stopped" && lifecycle.stop_reason === "operator_stop";

type ParsedRecord = { ok: true; record: RegistryRecord } | { ok: false; problem: string };

/**
 * Parses a record and checks what the schema cannot express: `active` and `relaunching` need a session, a
 * lease and no stop time, `stopped` and `retired` the reverse, and the folder is named for the id.
 */
export function parseRecord(text: string, agentId: string): ParsedRecord {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, problem: "not valid JSON" };
  }
  if (!Value.Check(RegistryRecord, value)) {
    const first = Value.Errors(RegistryRecord, value).First();
    return { ok: false, problem: `${first?.path || "/"}: ${first?.message ?? "does not fit the schema"}` };
  }
  const problem = contradiction(value, agentId);
  return problem === null ? { ok: true, record: value } : { ok: false, problem };
}

function contradiction(record: RegistryRecord, agentId: string): string | null {
  const { state, stopped_at: stoppedAt, relaunchable } = record.lifecycle;
  const session = record.terminal.current_session_name;
  if (record.agent_id !== agentId) return `agent_id is ${record.agent_id}, the folder is ${agentId}`;
  if (state === "active" || state === "relaunching") {
    if (!record.liveness) return `state ${state} without liveness`;
    if (!session) return `state ${state} without a current session`;
    return stoppedAt ? `state ${state} with a stop time` : null;
  }
  if (record.liveness) return `state ${state} with liveness`;
  if (session) return `state ${state} with a current session`;
  if (record.gateway) return `state ${state} with a gateway`;
  if (!stoppedAt) return `state ${state} without a stop time`;
  return state === "retired" && relaunchable ? "state retired but relaunchable" : null;
}

/** Published as running and its lease has not ended. Whether it lives is for tmux to say. */
export function isFresh(record: RegistryRecord, nowMs: number): boolean {
  if (record.lifecycle.state !== "active" && record.lifecycle.state !== "relaunching") return false;
  const ends = parseTimestamp(record.liveness?.lease_expires_at ?? "");
  return ends !== null && ends >= nowMs;
}

type Verdict = { keep: true } | { keep: false; why: string };

/**
 * Whether a record is still there for something: stopped and retired ones are kept for relaunch and history;
 * a running one whose lease ended more than 5 minutes ago or whose tmux session is gone is not. Pure.
 */
export function judgeRecord(
  record: RegistryRecord,
  facts: { sessionAlive: boolean; nowMs: number },
): Verdict {
  const { state } = record.lifecycle;
  if (state === "stopped" || state === "retired") return { keep: true };
  if (!facts.sessionAlive)
    return { keep: false, why: `tmux session ${record.terminal.current_session_name} is gone` };
  const ends = parseTimestamp(record.liveness?.lease_expires_at ?? "") ?? 0;
  if (ends + leaseGraceMs < facts.nowMs) return { keep: false, why: "its lease has ended" };
  return { keep: true };
}

/** Asks tmux, on the server the record names, whether its current session exists: the only proof of life. */
export type SessionAlive = (record: RegistryRecord) => Promise<boolean>;

/**
 * Rejects when tmux cannot be asked, also where it is not on this PATH: "cannot read" is not "gone", and a
 * session taken for gone would be marked as stopped while its agent works on.
 */
export function createSessionAlive(tmuxFor: (socket: string | undefined) => Tmux): SessionAlive {
  return async ({ terminal }) =>
    terminal.current_session_name
      ? tmuxFor(terminal.socket).hasSession(terminal.current_session_name)
      : false;
}

/** The sessions of a server by name; none where no server is. Rejects as above. */
export async function sessionNames(tmux: Pick<Tmux, "sessions">): Promise<ReadonlySet<string>> {
  return new Set((await tmux.sessions()).map(({ name }) => name));
}

/** The same as it was when each tmux server was first asked: one question for all of its sessions. */
export function createSessionsSeen(tmuxFor: (socket: string | undefined) => Tmux): SessionAlive {
  const seen = new Map<string | undefined, Promise<ReadonlySet<string>>>();
  return async ({ terminal: { socket, current_session_name: session } }) => {
    if (!session) return false;
    const names = seen.get(socket) ?? sessionNames(tmuxFor(socket));
    seen.set(socket, names);
    return (await names).has(session);
  };
}
