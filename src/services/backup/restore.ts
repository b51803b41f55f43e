import { dirname, normalize } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { moveLinkedMailbox } from "../../db/mailbox/linked.ts";
import { BackupManifest, type BackupPlace } from "../../protocol/backup.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { renderJson } from "../../protocol/json.ts";
import { childPath } from "../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { type Overlays, prepareOverlay } from "../sessions/overlays.ts";
import { parseRecord } from "../sessions/record.ts";
import type { Registry } from "../sessions/registry.ts";
import { overlayName, sessionRootOf } from "../sessions/roots.ts";
import { explainExposure, refuseExposed } from "../sessions/trust.ts";
import { breathe, manifestName } from "./create.ts";
import { agentOf, type BackupRoots, sessionNames } from "./places.ts";
import { type FoundEntry, NotAnArchive, readEntries } from "./tar.ts";

export interface RestoreDeps {
  files: Files;
  registry: Registry;
  overlays: Overlays;
  /** Of the user who restores; sessions go below this runtime root wherever they lay before. */
  roots: BackupRoots;
  home: string;
}

export interface RestoreDone {
  manifest: BackupManifest;
  agents: RegistryRecord[];
  places: { kind: BackupPlace["kind"]; from: string; to: string }[];
  files: number;
  /** Files of the state folder that were there already and stay as they are. */
  kept: string[];
  /** What the archive has and was not restored, each with why. */
  problems: string[];
}

interface Destination {
  place: BackupPlace;
  root: string;
}

const pieceBytes = 256 * 1024;

/**
 * Puts back what an archive holds. A session goes below the user's runtime root, a mailbox where it was, with the former
 * home folder replaced by the present one; records and manifests name the new places. Each name of an entry becomes a path
 * only below its place. Nothing that is there is overwritten: an agent, a session or a mailbox that is, is `conflict`
 * before anything is written. `problems` names each record that cannot be used and each link that leads elsewhere than to
 * a restored entry; they are left out. Throws `invalid_request` for another file than an archive of ours, and
 * `precondition_failed` for a file or a folder that another user could change.
 */
export async function restoreBackup(
  deps: RestoreDeps,
  options: { path: string; signal: AbortSignal; onProgress: (done: number, total: number) => void },
): Promise<RestoreDone> {
  const { files } = deps;
  const { path, signal, onProgress } = options;
  const archive = openArchive(files, path);
  const { manifest, entries } = archive;
  const destinations = new Map(
    manifest.places.map((place) => [place.name, { place, root: rootOf(deps, manifest, place) }]),
  );
  refuseExisting(deps, archive, destinations);
  for (const { place, root } of destinations.values()) if (isMail(place)) prepareMailbox(deps, root);

  const moved = movesOf(manifest, deps.home, [...destinations.values()]);
  const mailRoots = [...destinations.values()].filter(({ place }) => isMail(place)).map(({ root }) => root);
  const problems: string[] = [];
  const records: RegistryRecord[] = [];
  const kept: string[] = [];
  let count = 0;
  for (const [index, entry] of entries.entries()) {
    onProgress(index, entries.length);
    await breathe(signal);
    const { destination, names } = locate(destinations, entry);
    if (destination.place.kind === "registry" && names[0] === "live_agents") {
      const agentId = agentOf(destination.place, names);
      if (agentId === null) continue;
      const parsed = recordOf(archive, entry, { agentId, moved });
      if (parsed.ok) records.push(parsed.record);
      else problems.push(`the record of agent ${agentId}: ${parsed.problem}`);
      continue;
    }
    const to = files.contained(destination.root, names);
    if (entry.kind !== "folder" && (files.isLink(to) || files.exists(to))) {
      kept.push(to);
      continue;
    }
    files.ensureDirectory("file:restore-folder", entry.kind === "folder" ? to : dirname(to));
    if (entry.kind === "folder") continue;
    if (entry.kind === "link") {
      const target = targetOf(destination.place, names, { target: entry.target, moved, mailRoots });
      if (target === null) problems.push(`${to}: a link to ${entry.target}, which is not in the archive`);
      else files.symlink("file:restore-link", target, to);
      continue;
    }
    const manifestText = isSessionManifest(destination.place, names)
      ? movedJson(archive.text(entry), moved)
      : null;
    if (manifestText !== null) files.write("file:restore-manifest", to, manifestText);
    else await archive.extract(entry, to, signal);
    count += 1;
  }
  problems.push(...moveMailboxes(files, [...destinations.values()]));
  const agents: RegistryRecord[] = [];
  for (const record of records) agents.push(await deps.registry.publish(record));
  await deps.registry.cleanUp();
  return {
    ...{ manifest, kept, problems, files: count },
    agents: agents
      .map((one) => deps.registry.read(one.agent_id) ?? one)
      .sort((left, right) => (left.agent_name < right.agent_name ? -1 : 1)),
    places: [...destinations.values()].map(({ place, root }) => ({
      kind: place.kind,
      from: place.path,
      to: root,
    })),
  };
}

type Archive = ReturnType<typeof openArchive>;

function openArchive(files: Files, path: string) {
  const facts = files.stat(path);
  if (!facts || facts.directory)
    throw new ServiceError("not_found", `there is no archive ${path}. Make one with: svc-mgr backup create`);
  // It says which programs agents are started with.
  refuseExposed(files, path, "the archive");
  const read = (start: number, end: number) => files.readPart(path, start, end);
  const text = (entry: FoundEntry) =>
    new TextDecoder().decode(read(entry.contentAt, entry.contentAt + entry.size));
  try {
    const [first, ...entries] = [...readEntries(read, facts.size)];
    if (first?.path !== manifestName) throw new NotAnArchive(`it does not begin with ${manifestName}`);
    const manifest: unknown = JSON.parse(text(first));
    if (!Value.Check(BackupManifest, manifest)) throw new NotAnArchive(`${manifestName} has another form`);
    return {
      manifest,
      entries,
      text,
      async extract(entry: FoundEntry, to: string, signal: AbortSignal) {
        const file = files.openAppend("file:restore-file", to);
        try {
          for (let at = 0; at < entry.size; at += pieceBytes) {
            const end = Math.min(at + pieceBytes, entry.size);
            file.write(read(entry.contentAt + at, entry.contentAt + end));
            if (end < entry.size) await breathe(signal);
          }
        } finally {
          file.close();
        }
      },
    };
  } catch (error) {
    if (!(error instanceof NotAnArchive || error instanceof SyntaxError)) throw error;
    throw new ServiceError(
      "invalid_request",
      `${path} is no archive of svc-mgr backup create: ${error.message}`,
    );
  }
}

function rootOf(deps: RestoreDeps, manifest: BackupManifest, place: BackupPlace): string {
  const { files, roots, home } = deps;
  switch (place.kind) {
    case "registry":
      return roots.registryRoot;
    case "runtime":
      return roots.runtimeRoot;
    case "state":
      return roots.stateRoot;
    case "session":
      return sessionRootOf(roots.runtimeRoot, ...sessionNames(place.path));
    case "mailbox":
    case "linked_mailbox": {
      const inHome = relativeTo(manifest.home, place.path);
      return inHome === null
        ? files.contained("/", place.path.slice(1), "folder")
        : files.contained(home, inHome, "folder");
    }
  }
}

const relativeTo = (root: string, path: string): string | null =>
  path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;

/** Where an entry goes. Throws `invalid_request` for one of no place. */
function locate(destinations: ReadonlyMap<string, Destination>, { path }: FoundEntry) {
  const [name = "", ...names] = path.replace(/\/$/, "").split("/");
  const destination = destinations.get(name);
  if (!destination || names.length === 0) {
    throw new ServiceError("invalid_request", "the archive has an entry that belongs to none of its places");
  }
  return { destination, names };
}

function refuseExisting(
  { files, registry }: RestoreDeps,
  archive: Archive,
  destinations: ReadonlyMap<string, Destination>,
): void {
  const there = new Set<string>();
  for (const { place, root } of destinations.values()) {
    const own = place.kind === "session" || isMail(place);
    if (own && files.list(root).length > 0) there.add(root);
  }
  for (const entry of archive.entries) {
    const { destination, names } = locate(destinations, entry);
    const [first, second = "", third = ""] = names;
    const agentId = agentOf(destination.place, names);
    const known = agentId === null ? null : registry.read(agentId);
    if (known) there.add(`agent "${known.agent_name}"`);
    if (destination.place.kind !== "runtime" || first !== "sessions" || third === "") continue;
    const session = childPath(destination.root, "sessions", second, third);
    if (files.exists(session)) there.add(session);
  }
  if (there.size === 0) return;
  throw new ServiceError(
    "conflict",
    `nothing was restored, since these are here already: ${[...there].slice(0, 10).join(", ")}. Move them away, or end and clean up the agents with: svc-mgr agents single --agent-name NAME cleanup`,
  );
}

/** The overlay of a mailbox that is made here was made by our own command; one that was there must be adopted. */
function prepareMailbox({ files, overlays }: RestoreDeps, root: string): void {
  const parts = root.split("/");
  const at = parts.lastIndexOf(overlayName);
  const overlay = at > 0 ? parts.slice(0, at + 1).join("/") : null;
  const exposure = overlay !== null && files.exists(overlay) ? overlays.exposure(overlay) : null;
  if (exposure) throw new ServiceError("precondition_failed", `the mailbox: ${explainExposure(exposure)}`);
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

const isMail = ({ kind }: BackupPlace): boolean => kind === "mailbox" || kind === "linked_mailbox";

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

function isSessionManifest({ kind }: BackupPlace, names: readonly string[]): boolean {
  if (names.at(-1) !== "manifest.json") return false;
  return kind === "session" ? names.length === 1 : kind === "runtime" && names.length === 4;
}

/**
 * What a link says now: it may lead to another entry of its place, and in a mailbox to one of the mailboxes that are
 * restored. Null for any other link. Pure.
 */
function targetOf(
  place: BackupPlace,
  names: readonly string[],
  { target, moved, mailRoots }: { target: string; moved: readonly Move[]; mailRoots: readonly string[] },
): string | null {
  if (!target.startsWith("/")) {
    const end = normalize([...names.slice(0, -1), target].join("/"));
    return end === ".." || end.startsWith("../") || end.startsWith("/") ? null : target;
  }
  if (!isMail(place) || normalize(target) !== target) return null;
  const now = replaceIn(target, moved) as string;
  return mailRoots.some((root) => now === root || now.startsWith(`${root}/`)) ? now : null;
}
