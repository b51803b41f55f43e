import { basename, dirname } from "node:path";
import type { BackupPlace } from "../../../protocol/backup.ts";
import type { RegistryRecord } from "../../../protocol/files.ts";
import type { Files } from "../../../system/files.ts";
import { overlayName } from "../../sessions/roots.ts";

export interface BackupRoots {
  registryRoot: string;
  /** Where sessions lie unless a project keeps its own. */
  runtimeRoot: string;
  stateRoot: string;
}

/**
 * Everything of a user's agents: what the roots hold, sessions that lie elsewhere, and the mailboxes that
 * agents or projects use. Places that are not there are left out. `mailboxRoots`: those that are known
 * besides the agents'.
 */
export function findPlaces(
  files: Pick<Files, "stat" | "realPath">,
  roots: BackupRoots,
  records: readonly RegistryRecord[],
  mailboxRoots: readonly string[],
): BackupPlace[] {
  const isFolder = (path: string) => files.stat(path)?.directory === true;
  const below = (root: string, path: string) => path.startsWith(`${root}/`);
  const sessions = records
    .map(({ runtime }) => runtime.session_root ?? dirname(runtime.manifest_path))
    .filter((path) => !below(roots.runtimeRoot, path));
  const mailboxes = [
    ...records.flatMap(({ mailbox }) => mailbox?.filesystem_root ?? []),
    ...mailboxRoots,
  ].map((path) => files.realPath(path) ?? path);
  const numbered = (kind: "session" | "mailbox", paths: readonly string[]) =>
    [...new Set(paths)]
      .filter(isFolder)
      .sort()
      .map((path, index): BackupPlace => ({ name: `${kind}-${index + 1}`, kind, path }));
  const single: BackupPlace[] = [
    { name: "registry", kind: "registry", path: roots.registryRoot },
    { name: "runtime", kind: "runtime", path: roots.runtimeRoot },
    { name: "state", kind: "state", path: roots.stateRoot },
  ];
  return [
    ...single.filter(({ path }) => isFolder(path)),
    ...numbered("session", sessions),
    ...numbered("mailbox", mailboxes),
  ];
}

/** Of the state folder: other places hold them, or they are true of this machine only. */
const notOfState = new Set(["registry", "runtime", "overlays"]);

/**
 * The files that svc itself makes in a place, as patterns of their paths. All others are content, whatever
 * their names.
 */
interface OwnFiles {
  /** Without `.sqlite`. */
  databases: readonly string[];
  /** What a process that runs holds or publishes: nothing of it means anything later. */
  ofProcess: readonly string[];
  secrets: readonly string[];
}

const inSession: OwnFiles = {
  databases: ["gateway/queue"],
  ofProcess: [
    "gateway/run/(current-instance\\.json|gateway\\.pid|challenge-key)",
    "gateway/run/gateway\\.lock",
    "gateway/attach\\.lock",
    "manifest\\.json\\.lock",
    "acp/host\\.lock",
    "manifest\\.turn-artifacts/[^/]+/turn\\.lock",
    "launch-[0-9a-f]+\\.sh",
  ],
  secrets: ["gateway/run/token", "launch-environment\\.json", "mailbox-secrets/[^/]+\\.json"],
};

const inFolder = (folder: string, { databases, ofProcess, secrets }: OwnFiles): OwnFiles => {
  const all = (patterns: readonly string[]) => patterns.map((pattern) => `${folder}/${pattern}`);
  return { databases: all(databases), ofProcess: all(ofProcess), secrets: all(secrets) };
};

/** Of a file that is not yet under its name. */
const temporary = "\\.[0-9]+-[0-9a-f]{12}\\.tmp";
const inMailbox: OwnFiles = {
  databases: ["mailbox"],
  ofProcess: [temporary],
  secrets: ["attestation\\.key"],
};
const inMailboxes = inFolder("mailboxes/[^/]+", inMailbox);
const inSessions = inFolder("sessions/[^/]+/[^/]+", inSession);

const ownFiles: Record<BackupPlace["kind"], OwnFiles> = {
  registry: {
    databases: [],
    ofProcess: ["locks/(names/)?[^/]+\\.lock", `(.+/)?${temporary}`],
    secrets: [],
  },
  runtime: {
    databases: inSessions.databases,
    ofProcess: [
      ...inSessions.ofProcess,
      "coordinators/[^/]+/run/(current-instance\\.json|challenge-key)",
      "coordinators/[^/]+/run/coordinator\\.lock",
      "ssh/.+",
      "console-sign-in\\.html",
      `(.+/)?${temporary}`,
    ],
    secrets: [...inSessions.secrets, "coordinators/[^/]+/run/token", "mailbox-credentials/jmap/[^/]+\\.json"],
  },
  state: {
    databases: ["deliveries/[^/]+/deliveries"],
    ofProcess: [
      "deliveries/[^/]+/deliveries\\.lock",
      "hosts/[^/]+/[^/]+/lock",
      // A server writes its configuration from the users again when it starts.
      "nats/[^/]+/(users\\.json\\.)?lock",
      "nats/[^/]+/(server\\.json|nats\\.conf)",
      `(.+/)?${temporary}`,
    ],
    secrets: ["nats/[^/]+/(operator\\.nk|server\\.key|hosts/[^/]+\\.nk)"],
  },
  session: { ...inSession, ofProcess: [...inSession.ofProcess, `(.+/)?${temporary}`] },
  mailbox: {
    // A repair works on an index in the staging folder; an attachment lies deeper there.
    databases: ["index", "staging/index-[^/]+", ...inMailboxes.databases],
    ofProcess: ["locks/(addresses/)?[^/]+\\.lock", temporary, ...inMailboxes.ofProcess],
    secrets: inMailboxes.secrets,
  },
  linked_mailbox: inMailbox,
};

const anyOf = (patterns: readonly string[], ending = "") =>
  new RegExp(`^(${patterns.length === 0 ? "(?!)" : patterns.join("|")})${ending}$`);
/** A lock is a database without content, and its journal is there while it is held. */
const ofLock = (pattern: string) => (pattern.endsWith("lock") ? `${pattern}(-(wal|shm|journal))?` : pattern);
const patternsOf = ({ databases, ofProcess, secrets }: OwnFiles) => ({
  database: anyOf(databases, "\\.sqlite"),
  log: anyOf(databases, "\\.sqlite-(wal|shm|journal)"),
  ofProcess: anyOf(ofProcess.map(ofLock)),
  secret: anyOf(secrets),
});
const patterns = Object.fromEntries(
  Object.entries(ownFiles).map(([kind, own]) => [kind, patternsOf(own)]),
) as Record<BackupPlace["kind"], ReturnType<typeof patternsOf>>;

/** Of a file that is no folder. `path`: relative to the place. Pure. */
export function judgeFile(
  { kind }: Pick<BackupPlace, "kind">,
  path: string,
): "take" | "database" | "leave" | "secret" {
  const { database, log, ofProcess, secret } = patterns[kind];
  if (ofProcess.test(path) || log.test(path)) return "leave";
  if (database.test(path)) return "database";
  return secret.test(path) ? "secret" : "take";
}

/** What svc itself makes in a place: the folders at its top, and its files. */
const ownNames: Record<BackupPlace["kind"], { folders: string; files: readonly string[] }> = {
  registry: { folders: "live_agents|locks", files: ["live_agents/.+"] },
  runtime: {
    folders: "sessions|coordinators|mailbox-credentials|demo-agent|system-skills|ssh",
    files: [
      "(sessions|coordinators|mailbox-credentials|demo-agent|system-skills)/.+",
      "coordinator-start\\.log",
    ],
  },
  state: {
    folders: "teams|deliveries|hosts|nats|demo-agent",
    files: [
      "(teams|demo-agent)/.+",
      "hosts/[^/]+/[^/]+/(epoch|roots)\\.json",
      "nats/[^/]+/(users\\.json|operator\\.nk|server\\.(crt|key)|hosts/[^/]+\\.nk|store/.+)",
    ],
  },
  session: { folders: ".+", files: [".+"] },
  mailbox: {
    folders: "messages|attachments|mailboxes|locks|staging|rules",
    files: [
      "protocol-version\\.txt",
      "index\\.sqlite[^/]*",
      "(messages|attachments|mailboxes|staging|rules)/.+",
    ],
  },
  // A box has any name that its user gives it, and holds only links to messages.
  linked_mailbox: {
    folders: "[^./][^/]*",
    files: ["mailbox\\.sqlite[^/]*", "attestation\\.key", "\\.svc-registration", "[^./][^/]*/[^/]+\\.md"],
  },
};

const ownPatterns = Object.fromEntries(
  Object.entries(ownNames).map(([kind, { folders, files }]) => [
    kind,
    { folder: anyOf([folders], kind === "linked_mailbox" ? "" : "(/.*)?"), file: anyOf(files) },
  ]),
) as Record<BackupPlace["kind"], Record<"folder" | "file", RegExp>>;

/**
 * Whether svc makes an entry of this name and kind. A backup takes only such, and a restore writes only such.
 * Pure.
 */
export function isOwnName(
  place: Pick<BackupPlace, "kind">,
  path: string,
  kind: "file" | "folder" | "link",
): boolean {
  const { folder, file } = ownPatterns[place.kind];
  if (kind === "folder") return folder.test(path);
  return file.test(path) || ["leave", "database"].includes(judgeFile(place, path));
}

/** Whether a folder is no part of the place. `path`: relative to the place. Pure. */
export const isLeftFolder = ({ kind }: Pick<BackupPlace, "kind">, path: string): boolean =>
  kind === "state" && notOfState.has(path);

/**
 * The part of a mailbox's way that keeps a restore from writing there, null when none does: what begins with
 * a dot may hold keys or settings of other programs. `.local/bin` and `.local/lib` hold code. Both paths are
 * without links. Pure.
 */
export function hiddenPart(home: string, root: string): string | null {
  const names = (root.startsWith(`${home}/`) ? root.slice(home.length + 1) : root.slice(1)).split("/");
  const isMailParent = (name: string, next: string | undefined) =>
    name === overlayName || (name === ".local" && (next === "state" || next === "share"));
  return names.find((name, at) => name.startsWith(".") && !isMailParent(name, names[at + 1])) ?? null;
}

/** The id of the agent whose record an entry is; null for another entry. Pure. */
export function agentOf(
  place: Pick<BackupPlace, "kind">,
  [top, agentId, file]: readonly string[],
): string | null {
  return place.kind === "registry" && top === "live_agents" && file === "record.json"
    ? (agentId ?? null)
    : null;
}

/** Where a session of this root belongs below a runtime root: its backend and id. Pure. */
export const sessionNames = (sessionRoot: string): [backend: string, id: string] => [
  basename(dirname(sessionRoot)),
  basename(sessionRoot),
];

/** Whether an entry is the manifest of a session, which names its paths. Pure. */
export function isSessionManifest({ kind }: Pick<BackupPlace, "kind">, names: readonly string[]): boolean {
  if (names.at(-1) !== "manifest.json") return false;
  return kind === "session" ? names.length === 1 : kind === "runtime" && names.length === 4;
}

export const isMail = ({ kind }: Pick<BackupPlace, "kind">): boolean =>
  kind === "mailbox" || kind === "linked_mailbox";
