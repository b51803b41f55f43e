import { join } from "node:path";
import type { MailboxBinding, RegistryRecord } from "../../protocol/files.ts";
import { renderJson } from "../../protocol/json.ts";
import type { Clock } from "../../system/clock.ts";
import { childPath } from "../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import { checkedAgentId, checkedName, refuseSimilarName, runsAlready } from "./names.ts";
import { isFresh, judgeRecord, parseRecord, type SessionAlive, toStopped } from "./record.ts";

/** Something in the registry that is not a usable record: shown to people, believed by nobody. */
interface IgnoredEntry {
  path: string;
  problem: string;
}

export type GatewayLocator = NonNullable<RegistryRecord["gateway"]>;

/**
 * The shared registry: one folder per agent id under `<root>/live_agents/`, through which anything finds an
 * agent. It locates and is never proof of life: tmux is. Changes of one record exclude each other, also
 * between processes, and touch only their generation.
 */
export interface Registry {
  /** Absolute. */
  root: string;
  /**
   * Writes `record` and returns it as read back. Throws `conflict` when another generation of this agent id
   * is published as running and its tmux session is alive; a dead or stopped one is replaced. Throws as
   * `refuseSimilarName`.
   */
  publish(record: RegistryRecord): Promise<RegistryRecord>;
  /** Null when there is no record or an unusable one. */
  read(agentId: string): RegistryRecord | null;
  /** Records sorted by name, then id; and what was passed over. */
  list(): { records: RegistryRecord[]; ignored: IgnoredEntry[] };
  /**
   * False when the record is absent or of another generation. Keeps the record, for relaunch and history. One
   * that is stopped keeps its moment and its reason, unless a person stops it now.
   */
  markStopped(agentId: string, generationId: string, reason: string): Promise<boolean>;
  /** Null clears the locator. False as for `markStopped`, and for a record that is not running. */
  setGateway(agentId: string, generationId: string, gateway: GatewayLocator | null): Promise<boolean>;
  /** Null takes it away. False as for `markStopped`. */
  setMailbox(agentId: string, generationId: string, mailbox: MailboxBinding | null): Promise<boolean>;
  /** False when the record is absent or of another generation. */
  remove(agentId: string, generationId: string): Promise<boolean>;
  /**
   * Records whose agent is gone are marked stopped (`session_gone`); unusable entries are removed.
   * Idempotent.
   */
  cleanUp(): Promise<IgnoredEntry[]>;
}

interface RegistryDeps {
  files: Files;
  locks: Locks;
  clock: Clock;
  /** Registry root, absolute. */
  root: string;
  sessionAlive: SessionAlive;
}

interface Inspected {
  record: RegistryRecord | null;
  ignored: IgnoredEntry | null;
  kept: boolean;
}

function toStoppedOnce(record: RegistryRecord, reason: string, nowMs: number): RegistryRecord {
  if (record.lifecycle.state !== "stopped") return toStopped(record, reason, nowMs);
  if (reason !== "operator_stop") return record;
  return { ...record, lifecycle: { ...record.lifecycle, stop_reason: reason } };
}

export function createRegistry(deps: RegistryDeps): Registry {
  const { files, locks, clock, sessionAlive } = deps;
  const agentsRoot = join(deps.root, "live_agents");
  const locksRoot = join(deps.root, "locks");
  const folderOf = (agentId: string) => childPath(agentsRoot, checkedAgentId(agentId));
  const pathOf = (agentId: string) => join(folderOf(agentId), "record.json");

  /**
   * The lock lives beside the folders, so that removing one never removes a held lock. Ids that differ only
   * in capital letters share it.
   */
  function exclusively<T>(agentId: string, work: () => T | Promise<T>): Promise<T> {
    files.ensureDirectory("file:registry-folder", locksRoot);
    return locks.hold(childPath(locksRoot, `${checkedAgentId(agentId).toLowerCase()}.lock`), work);
  }

  /** The same, and no other id gets this name meanwhile, in whatever letters. */
  function exclusivelyNamed<T>(record: RegistryRecord, work: () => Promise<T>): Promise<T> {
    const names = join(locksRoot, "names");
    files.ensureDirectory("file:registry-folder", names);
    const path = childPath(names, `${checkedName(record.agent_name).toLowerCase()}.lock`);
    return locks.hold(path, () => exclusively(record.agent_id, work));
  }

  /**
   * The record on disk. One that cannot be read now, for want of rights or handles, or that another user
   * could have written, is passed over and `kept`.
   */
  function inspect(agentId: string): Inspected {
    try {
      return look(agentId);
    } catch (error) {
      const problem = `cannot be read: ${messageOf(error)}`;
      return { record: null, ignored: { path: pathOf(agentId), problem }, kept: true };
    }
  }

  function look(agentId: string): Inspected {
    const folder = folderOf(agentId);
    const path = pathOf(agentId);
    const ignore = (at: string, problem: string) => ({
      record: null,
      ignored: { path: at, problem },
      kept: false,
    });
    if (files.isLink(folder)) return ignore(folder, "is a symbolic link");
    const text = files.read(path);
    // Nothing is read through a link; here is only said why.
    if (text === null && files.isLink(path)) return ignore(path, "is a symbolic link");
    // The root itself is judged where it is chosen.
    const exposure = files.exposure(path, { below: deps.root });
    if (exposure) return { ...ignore(exposure.path, exposure.reason), kept: true };
    const facts = text === null ? files.stat(path) : undefined;
    if (facts === null) return ignore(path, "is missing");
    if (facts?.directory) return ignore(path, "is no file");
    if (text === null) return ignore(path, "is no regular file of this user alone");
    const parsed = parseRecord(text, agentId);
    if (!parsed.ok) return ignore(path, parsed.problem);
    return { record: parsed.record, ignored: null, kept: false };
  }

  function replace(record: RegistryRecord): void {
    const folder = folderOf(record.agent_id);
    if (files.isLink(folder)) files.removeFile("file:registry-remove", folder);
    files.ensureDirectory("file:registry-folder", folder);
    files.write("file:registry-record", pathOf(record.agent_id), renderJson(record));
  }

  function removeFolder(agentId: string): void {
    files.remove("file:registry-remove", files.contained(agentsRoot, [checkedAgentId(agentId)]));
  }

  /** Applies `change` to the record of exactly this generation; null from `change` removes it. */
  function change(
    agentId: string,
    generationId: string,
    decide: (record: RegistryRecord) => RegistryRecord | "remove" | "leave",
  ): Promise<boolean> {
    return exclusively(agentId, () => {
      const { record } = inspect(agentId);
      if (record?.generation_id !== generationId) return false;
      const next = decide(record);
      if (next === "leave") return false;
      if (next === "remove") removeFolder(agentId);
      else replace(next);
      return true;
    });
  }

  function entries(): { agentId: string; problem: string | null }[] {
    return files.list(agentsRoot).map((name) => {
      try {
        return { agentId: checkedAgentId(name), problem: null };
      } catch {
        return { agentId: name, problem: "is not the folder of an agent id" };
      }
    });
  }

  function list(): ReturnType<Registry["list"]> {
    const records: RegistryRecord[] = [];
    const ignored: IgnoredEntry[] = [];
    for (const { agentId, problem } of entries()) {
      if (problem !== null) {
        ignored.push({ path: `${agentsRoot}/${agentId}`, problem });
        continue;
      }
      const found = inspect(agentId);
      if (found.record) records.push(found.record);
      if (found.ignored) ignored.push(found.ignored);
    }
    const key = (record: RegistryRecord) => `${record.agent_name}\n${record.agent_id}`;
    return { records: records.sort((left, right) => (key(left) < key(right) ? -1 : 1)), ignored };
  }

  return {
    root: deps.root,
    publish: (record) =>
      exclusivelyNamed(record, async () => {
        refuseSimilarName(list().records, record.agent_name, record.agent_id);
        const { record: other } = inspect(record.agent_id);
        if (
          other &&
          other.generation_id !== record.generation_id &&
          isFresh(other, clock.nowMs()) &&
          (await sessionAlive(other))
        ) {
          throw runsAlready(other);
        }
        replace(record);
        const { record: written, ignored } = inspect(record.agent_id);
        if (written?.generation_id === record.generation_id) return written;
        throw new ServiceError(
          "precondition_failed",
          `the registry record of ${record.agent_id} did not read back${ignored ? `: ${ignored.problem}` : ""}`,
        );
      }),
    read: (agentId) => inspect(agentId).record,
    list,
    markStopped: (agentId, generationId, reason) =>
      change(agentId, generationId, (record) => toStoppedOnce(record, reason, clock.nowMs())),
    setGateway: (agentId, generationId, gateway) =>
      change(agentId, generationId, (record) => {
        if (record.lifecycle.state !== "active") return "leave";
        const { gateway: _previous, ...rest } = record;
        return gateway === null ? rest : { ...rest, gateway };
      }),
    setMailbox: (agentId, generationId, mailbox) =>
      change(agentId, generationId, ({ mailbox: _previous, ...rest }) =>
        mailbox === null ? rest : { ...rest, mailbox },
      ),
    remove: (agentId, generationId) => change(agentId, generationId, () => "remove"),
    async cleanUp() {
      const cleaned: IgnoredEntry[] = [];
      for (const { agentId, problem } of entries()) {
        // A name that is no agent id was not written by us; it is reported by `list` and left alone.
        if (problem !== null) continue;
        const found = await exclusively(agentId, async () => {
          const { record, ignored, kept } = inspect(agentId);
          if (kept) return null;
          if (ignored) {
            removeFolder(agentId);
            return ignored;
          }
          if (!record) return null;
          const verdict = judgeRecord(record, {
            sessionAlive: await sessionAlive(record),
            nowMs: clock.nowMs(),
          });
          if (verdict.keep) return null;
          replace(toStopped(record, "session_gone", clock.nowMs()));
          return { path: pathOf(agentId), problem: verdict.why };
        });
        if (found) cleaned.push(found);
      }
      return cleaned;
    },
  };
}
