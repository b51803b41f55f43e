import { basename, dirname } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { BackupManifest, type BackupPlace } from "../../../protocol/backup.ts";
import type { Remedy } from "../../../protocol/remedy.ts";
import { childPath, PathRefused } from "../../../system/contained-path.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Overlays } from "../../sessions/overlays.ts";
import { parseRecord } from "../../sessions/record.ts";
import type { Registry } from "../../sessions/registry.ts";
import { overlayName, sessionRootOf } from "../../sessions/roots.ts";
import { explainExposure, refuseExposed } from "../../sessions/trust.ts";
import { breathe, manifestName } from "./create.ts";
import {
  agentOf,
  type BackupRoots,
  hiddenPart,
  isMail,
  isOwnName,
  isSessionManifest,
  sessionNames,
} from "./places.ts";
import { type FoundEntry, NotAnArchive, readEntries } from "./tar.ts";

export interface RestoreDeps {
  files: Files;
  registry: Registry;
  overlays: Overlays;
  /** Of the user who restores; sessions go below this runtime root wherever they lay before. */
  roots: BackupRoots;
  /** The user's configuration folder of svc, where nothing is restored. */
  configRoot: string;
  home: string;
}

export interface Destination {
  place: BackupPlace;
  root: string;
}

/** What a restore would do. Nothing in an archive proves who made it: its user decides by this. */
export interface RestorePlan {
  archive: Archive;
  destinations: ReadonlyMap<string, Destination>;
  /** The names of the agents whose records can be used. */
  agents: string[];
  /** Folders that mail is written into. */
  mail: { path: string; outsideHome: boolean }[];
  /** Project overlays that are made, and are adopted by that. */
  overlays: string[];
  /** What else decides about trust: one noun phrase each. */
  trust: string[];
  /** Mailboxes of the archive that are not restored, each with why. */
  problems: string[];
}

const pieceBytes = 256 * 1024;
/** Of a record or manifest, which is read whole. */
const maxTextBytes = 32 * 1024 * 1024;

/**
 * Checks the whole archive against what is here, and writes nothing. Throws `conflict` for an agent, a
 * session or a mailbox that exists, `invalid_request` for another file than an archive of ours and for what
 * no backup holds, and `precondition_failed` for a path that leaves its place or goes through a link, and
 * what another user could change. A mailbox in a folder where no mail belongs is left out.
 */
export function planRestore(deps: RestoreDeps, path: string): RestorePlan {
  const { files } = deps;
  const opened = openArchive(files, path);
  const { manifest } = opened;
  const all = manifest.places.map((place) => ({ place, root: rootOf(deps, manifest, place) }));
  if (new Set(all.map(({ place }) => place.name)).size < all.length)
    throw foreign("two of its places have the same name");
  const left = new Map<string, string>();
  for (const { place, root } of all) {
    const why = isMail(place) ? whyNoMail(deps, root) : null;
    if (why !== null) left.set(place.name, `the mailbox ${root}: ${why}; unpack it with tar if it is yours`);
  }
  const destinations = new Map(
    all.filter(({ place }) => !left.has(place.name)).map((one) => [one.place.name, one]),
  );
  const isLeft = ({ path: name }: FoundEntry) => left.has(name.split("/", 1)[0] ?? "");
  const archive = { ...opened, entries: opened.entries.filter((entry) => !isLeft(entry)) };
  const mail = [...destinations.values()].filter(({ place }) => isMail(place)).map(({ root }) => root);
  checkEntries(files, archive, destinations);
  refuseExisting(deps, archive, destinations);
  const overlays = mail.flatMap((root) => checkOverlay(deps, root) ?? []);
  const home = resolved(files, deps.home);
  return {
    archive,
    destinations,
    overlays: [...new Set(overlays)],
    mail: mail.map((root) => ({ path: root, outsideHome: !contains(home, resolved(files, root)) })),
    ...surveyTrust(archive, destinations),
    problems: [...left.values()],
  };
}

export type Archive = ReturnType<typeof openArchive>;

function openArchive(files: Files, path: string) {
  const facts = files.stat(path);
  if (!facts || facts.directory)
    throw new ServiceError("not_found", `there is no archive ${path}`, {
      data: { remedy: { code: "create_backup" } satisfies Remedy },
    });
  // It says which programs agents are started with.
  refuseExposed(files, path, "the archive");
  const read = (start: number, end: number) => files.readPart(path, start, end);
  const text = (entry: FoundEntry) => {
    if (entry.size > maxTextBytes) throw new NotAnArchive(`${entry.path} is larger than 32 MiB`);
    return new TextDecoder().decode(read(entry.contentAt, entry.contentAt + entry.size));
  };
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
        } catch (error) {
          // A part of a file would be taken for one that was here before, by the next restore too.
          files.removeFile("file:restore-file", to);
          throw error;
        } finally {
          file.close();
        }
      },
    };
  } catch (error) {
    if (!(error instanceof NotAnArchive || error instanceof SyntaxError)) throw error;
    throw new ServiceError("invalid_request", `${path} is no archive of svc: ${error.message}`);
  }
}

const foreign = (why: string) =>
  new ServiceError("invalid_request", `nothing was restored: the archive is not as svc makes it, ${why}`);

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

/**
 * Whether the two are the same, or `inner` lies below. Some file systems make no difference between letters.
 */
function contains(outer: string, inner: string): boolean {
  const [above, below] = [outer.toLowerCase(), inner.toLowerCase()];
  return above === below || below.startsWith(above === "/" ? above : `${above}/`);
}

/** The path without links, as far as it exists. */
function resolved(files: Files, path: string): string {
  const real = files.realPath(path);
  if (real !== null || dirname(path) === path) return real ?? path;
  return childPath(resolved(files, dirname(path)), basename(path));
}

/**
 * Why a restore writes no mailbox into a folder, null where it does. The manifest of an archive names the
 * folder, and an archive may be anybody's: no mail goes where a program looks for its configuration, its keys
 * or its code. Source: spec/security.md, rules 1 and 3.
 */
export function whyNoMail(
  { files, roots, configRoot, home }: Pick<RestoreDeps, "files" | "roots" | "configRoot" | "home">,
  root: string,
): string | null {
  const at = resolved(files, root);
  const atHome = resolved(files, home);
  const mailInState = resolved(files, childPath(roots.stateRoot, "mailbox"));
  const own = [configRoot, roots.stateRoot, roots.registryRoot, roots.runtimeRoot].map((path) =>
    resolved(files, path),
  );
  if (own.some((path) => contains(path, at)) && !contains(mailInState, at))
    return "a restore writes no mail into a folder of svc's own files";
  if ([...own, atHome].some((path) => contains(at, path)))
    return "it holds your home folder or svc's own files";
  const hidden = hiddenPart(atHome, at);
  return hidden === null
    ? null
    : `a restore writes no mail into ${hidden}, which may hold settings of programs`;
}

/** Names, kinds and sizes of all entries, before the first is written. */
function checkEntries(files: Files, archive: Archive, destinations: ReadonlyMap<string, Destination>): void {
  const kinds = new Map<string, FoundEntry["kind"]>();
  for (const entry of archive.entries) {
    const { destination, names } = locate(destinations, entry);
    const { place, root } = destination;
    const to = files.contained(root, names, entry.kind === "folder" ? "folder" : "entry");
    if (!isOwnName(place, names.join("/"), entry.kind))
      throw foreign(
        `${JSON.stringify(entry.path)} is no part of a ${place.kind}. If the archive is yours, take that out with: tar --delete`,
      );
    const isText = agentOf(place, names) !== null || isSessionManifest(place, names);
    if (isText && (entry.kind !== "file" || entry.size > maxTextBytes))
      throw foreign(`${JSON.stringify(entry.path)} is no file of at most 32 MiB`);
    const before = kinds.get(to);
    if (before !== undefined && before !== entry.kind)
      throw foreign(`${JSON.stringify(entry.path)} is in it as two kinds of file`);
    kinds.set(to, entry.kind);
  }
  const roots = [...destinations.values()].map(({ root }) => root);
  const isNoFolder = (path: string) => kinds.has(path) && kinds.get(path) !== "folder";
  for (const path of roots)
    if (isNoFolder(path)) throw new PathRefused(path, "the archive has no folder there");
  for (const path of [...roots, ...kinds.keys()]) {
    for (let above = dirname(path); above !== dirname(above); above = dirname(above))
      if (isNoFolder(above)) throw new PathRefused(path, `the archive has a link or a file at ${above}`);
  }
}

/** Where an entry goes. Throws `invalid_request` for one of no place. */
export function locate(destinations: ReadonlyMap<string, Destination>, { path }: FoundEntry) {
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
    `nothing was restored, since these are here already: ${[...there].slice(0, 10).join(", ")}. Move them away, or end and clean up the agents`,
    { data: { remedy: { code: "cleanup_agent", agent_name: "NAME" } satisfies Remedy } },
  );
}

/** The overlay of a mailbox when it is not there. One that is must have been adopted. */
function checkOverlay({ files, overlays }: RestoreDeps, root: string): string | null {
  const overlay = overlayOf(root);
  const isThere = overlay !== null && files.exists(overlay);
  const exposure = isThere ? overlays.exposure(overlay) : null;
  if (exposure) throw new ServiceError("precondition_failed", `the mailbox: ${explainExposure(exposure)}`);
  refuseExposed(files, root, "the mailbox root");
  return isThere ? null : overlay;
}

/** The innermost overlay that a mailbox root lies in. Pure. */
export function overlayOf(root: string): string | null {
  const parts = root.split("/");
  const at = parts.lastIndexOf(overlayName);
  return at > 0 ? parts.slice(0, at + 1).join("/") : null;
}

const trusted = [
  { place: "state", path: /^nats\//, what: "keys and users of NATS servers" },
  { place: "state", path: /^hosts\//, what: "mailbox roots that this host shares with a fleet" },
  { place: "state", path: /^deliveries\//, what: "deliveries that wait to be sent" },
  {
    place: "state",
    path: /^teams\/[^/]+\/worktrees\//,
    what: "working folders of the agents of teams, with the code in them",
  },
  { place: "state", path: /^teams\//, what: "records and budgets of teams" },
  { place: "runtime", path: /^coordinators\//, what: "settings of coordination servers" },
] as const;

function surveyTrust(archive: Archive, destinations: ReadonlyMap<string, Destination>) {
  const agents: string[] = [];
  const found = new Set<string>();
  for (const entry of archive.entries) {
    const { destination, names } = locate(destinations, entry);
    const { place } = destination;
    const agentId = agentOf(place, names);
    const parsed = agentId === null ? null : parseRecord(archive.text(entry), agentId);
    if (parsed?.ok) agents.push(parsed.record.agent_name);
    if (entry.kind === "folder") continue;
    const path = names.join("/");
    for (const one of trusted) if (one.place === place.kind && one.path.test(path)) found.add(one.what);
  }
  if (archive.manifest.with_secrets) found.add("tokens, logins and keys");
  return { agents: agents.sort(), trust: [...found] };
}
