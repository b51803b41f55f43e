import { dirname, normalize } from "node:path";
import { moveLinkedMailbox } from "../../../db/mailbox/linked.ts";
import type { BackupManifest, BackupPlace } from "../../../protocol/backup.ts";
import type { RegistryRecord } from "../../../protocol/files.ts";
import { renderJson } from "../../../protocol/json.ts";
import { childPath } from "../../../system/contained-path.ts";
import { messageOf } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { prepareOverlay } from "../../sessions/overlays.ts";
import { parseRecord } from "../../sessions/record.ts";
import { refuseExposed } from "../../sessions/trust.ts";
import { breathe } from "./create.ts";
import { agentOf, isMail, isSessionManifest, judgeFile } from "./places.ts";
import {
  type Archive,
  type Destination,
  locate,
  overlayOf,
  type RestoreDeps,
  type RestorePlan,
} from "./plan-restore.ts";
import type { FoundEntry } from "./tar.ts";

interface RestoreDone {
  manifest: BackupManifest;
  agents: RegistryRecord[];
  places: { kind: BackupPlace["kind"]; from: string; to: string }[];
  files: number;
  /** Files of the state folder that were there already and stay as they are. */
  kept: string[];
  /** What the archive has and was not restored, each with why. */
  problems: string[];
}

/**
 * Puts back what the archive of `plan` holds. A session goes below the user's runtime root, a mailbox where
 * it was, with the former home folder replaced by the present one; records and manifests name the new places.
 * Nothing that is there is overwritten. `problems` names each record that cannot be used and each link that
 * leads elsewhere than to a restored entry; they are left out. Throws `precondition_failed` for a folder that
 * another user could change.
 */
export async function restoreBackup(
  deps: RestoreDeps,
  plan: RestorePlan,
  options: { signal: AbortSignal; onProgress: (done: number, total: number) => void },
): Promise<RestoreDone> {
  const { files } = deps;
  const { signal, onProgress } = options;
  const { archive, destinations } = plan;
  const { manifest, entries } = archive;
  for (const { path } of plan.mail) prepareMailbox(deps, path);

  const roots = [...destinations.values()];
  const moves: MovedPlaces = {
    moved: movesOf(manifest, deps.home, roots),
    mailRoots: roots.filter(({ place }) => isMail(place)).map(({ root }) => root),
  };
  const restored: Restored = { records: [], kept: [], problems: [...plan.problems], files: 0 };
  for (const [index, entry] of entries.entries()) {
    onProgress(index, entries.length);
    await breathe(signal);
    await restoreEntry(deps, plan, { entry, moves, restored, signal });
  }
  restored.problems.push(...moveMailboxes(files, roots));
  const agents = await publishRecords(deps, restored);
  return {
    manifest,
    kept: restored.kept,
    problems: restored.problems,
    files: restored.files,
    agents,
    places: roots.map(({ place, root }) => ({ kind: place.kind, from: place.path, to: root })),
  };
}

/** Where what the entries name lies now. */
interface MovedPlaces {
  moved: readonly Move[];
  mailRoots: readonly string[];
}

interface Restored extends Pick<RestoreDone, "kept" | "problems" | "files"> {
  /** They are published once all files are there. */
  records: RegistryRecord[];
}

/** Puts one entry in its place, and notes in `restored` what became of it. */
async function restoreEntry(
  { files }: RestoreDeps,
  { archive, destinations }: RestorePlan,
  step: { entry: FoundEntry; moves: MovedPlaces; restored: Restored; signal: AbortSignal },
): Promise<void> {
  const { entry, restored } = step;
  const { moved, mailRoots } = step.moves;
  const { destination, names } = locate(destinations, entry);
  if (destination.place.kind === "registry" && names[0] === "live_agents") {
    const agentId = agentOf(destination.place, names);
    if (agentId === null) return;
    const parsed = recordOf(archive, entry, { agentId, moved });
    if (parsed.ok) restored.records.push(parsed.record);
    else restored.problems.push(`the record of agent ${agentId}: ${parsed.problem}`);
    return;
  }
  // A file of a process that ran when the archive was made: an earlier version took more of them along.
  if (entry.kind !== "folder" && judgeFile(destination.place, names.join("/")) === "leave") return;
  const to = files.contained(destination.root, names);
  if (entry.kind !== "folder" && (files.isLink(to) || files.exists(to))) {
    restored.kept.push(to);
    return;
  }
  files.ensureDirectory("file:restore-folder", entry.kind === "folder" ? to : dirname(to));
  if (entry.kind === "folder") return;
  if (entry.kind === "link") {
    const target = targetOf(destination.place, names, { target: entry.target, moved, mailRoots });
    if (target === null)
      restored.problems.push(`${to}: a link to ${entry.target}, which is not in the archive`);
    else files.symlink("file:restore-link", target, to);
    return;
  }
  const isManifest = isSessionManifest(destination.place, names);
  const manifestText = isManifest ? movedJson(archive.text(entry), moved) : null;
  if (manifestText !== null) files.write("file:restore-manifest", to, manifestText);
  else await archive.extract(entry, to, step.signal);
  restored.files += 1;
}

/** By name. A record that cannot be published is noted as a problem. */
async function publishRecords({ registry }: RestoreDeps, restored: Restored): Promise<RegistryRecord[]> {
  const agents: RegistryRecord[] = [];
  for (const record of restored.records) {
    try {
      agents.push(await registry.publish(record));
    } catch (error) {
      // Its session and its mail are here by now: the others are not lost for it.
      restored.problems.push(`the record of agent "${record.agent_name}": ${messageOf(error)}`);
    }
  }
  await registry.cleanUp();
  return agents
    .map((one) => registry.read(one.agent_id) ?? one)
    .sort((left, right) => (left.agent_name < right.agent_name ? -1 : 1));
}

/** The overlay of a mailbox that is made here was made by our own command; one that was there was adopted. */
function prepareMailbox({ files, overlays }: RestoreDeps, root: string): void {
  const overlay = overlayOf(root);
  if (overlay !== null) prepareOverlay(files, overlays, { path: overlay, named: false });
  files.ensureDirectory("file:restore-folder", root);
  refuseExposed(files, root, "the mailbox root");
}

type Move = readonly [from: string, to: string];

/** The longest path first: a session in a project moves otherwise than its project. */
function movesOf(manifest: BackupManifest, home: string, destinations: readonly Destination[]): Move[] {
  const places = destinations
    .filter(({ place }) => place.kind !== "registry" && place.kind !== "state")
    .map(({ place, root }): Move => [place.path, root]);
  return [...places, [manifest.home, home] as const]
    .filter(([from, to]) => from !== to)
    .sort(([left], [right]) => right.length - left.length);
}

/** The same document with each text that is a path below one of `moves` as it is now. Pure. */
export function replaceIn(value: unknown, moves: readonly Move[]): unknown {
  if (typeof value === "string") {
    const move = moves.find(([from]) => value === from || value.startsWith(`${from}/`));
    return move ? `${move[1]}${value.slice(move[0].length)}` : value;
  }
  if (Array.isArray(value)) return value.map((one) => replaceIn(one, moves));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaceIn(one, moves)]));
}

function recordOf(
  archive: Archive,
  entry: FoundEntry,
  { agentId, moved }: { agentId: string; moved: readonly Move[] },
) {
  const parsed = parseRecord(archive.text(entry), agentId);
  if (!parsed.ok) return parsed;
  // A gateway of then serves nobody now.
  const { gateway: _gateway, ...record } = replaceIn(parsed.record, moved) as RegistryRecord;
  return { ok: true as const, record };
}

/** Null for a text that is no JSON: it is restored as it was. */
function movedJson(text: string, moved: readonly Move[]): string | null {
  try {
    return renderJson(replaceIn(JSON.parse(text), moved));
  } catch {
    return null;
  }
}

/** The indexes name the folders of linked mailboxes. Returns what could not be changed. */
function moveMailboxes(files: Files, destinations: readonly Destination[]): string[] {
  const linked = destinations.filter(
    ({ place, root }) => place.kind === "linked_mailbox" && place.path !== root,
  );
  return destinations.flatMap(({ place, root }) => {
    const index = childPath(root, "index.sqlite");
    if (place.kind !== "mailbox" || !files.exists(index)) return [];
    try {
      for (const one of linked) moveLinkedMailbox(index, one.place.path, one.root);
      return [];
    } catch (error) {
      return [`${index} names the former folders of its mailboxes: ${messageOf(error)}`];
    }
  });
}

/**
 * What a link says now: it may lead to another entry of its place, and in a mailbox to one of the mailboxes
 * that are restored. Null for any other link. Pure.
 */
function targetOf(
  place: BackupPlace,
  names: readonly string[],
  { target, moved, mailRoots }: { target: string; moved: readonly Move[]; mailRoots: readonly string[] },
): string | null {
  if (target === "") return null;
  if (!target.startsWith("/")) {
    const steps = target.split("/");
    const first = steps.findIndex((step) => !["", ".", ".."].includes(step));
    // After the name of another link, ".." leads to the folder above what that link leads to.
    if (first >= 0 && steps.slice(first).includes("..")) return null;
    const end = normalize([...names.slice(0, -1), target].join("/"));
    return end === ".." || end.startsWith("../") || end.startsWith("/") ? null : target;
  }
  if (!isMail(place) || normalize(target) !== target) return null;
  const now = replaceIn(target, moved) as string;
  return mailRoots.some((root) => now === root || now.startsWith(`${root}/`)) ? now : null;
}
