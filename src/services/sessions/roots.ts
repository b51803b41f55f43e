import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { type ContainedPath, childPath, PathRefused } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";

/** Where sessions, the shared registry and, when something names it, the mailbox live. Absolute paths. */
export interface Roots {
  runtimeRoot: string;
  registryRoot: string;
  /** Null when neither flag, environment nor overlay says where (contract 4.5 then bootstraps an overlay). */
  mailboxRoot: string | null;
}

/** What the command line said; each wins over everything else. */
interface RootFlags {
  runtimeRoot?: string | undefined;
  registryRoot?: string | undefined;
  mailboxRoot?: string | undefined;
}

/** The name by which a project overlay is found. */
export const overlayName = ".svc";

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The roots by precedence: flag, absolute environment variable, project overlay, the user's state folder. The
 * registry is shared by all projects, so it is never in an overlay. An overlay that a mailbox made holds no
 * sessions: the order of launches decides nothing. A relative or empty value is an error and not a guess.
 * `overlay`: from `findOverlay`; `overlayHoldsSessions`: from `holdsSessions`; `home`: the user's home
 * folder. Source: contract 4.5, spec/coordination.md "Roots", ruling 21.
 */
export function planRoots(facts: {
  flags: RootFlags;
  env: Environment;
  home: string;
  overlay: string | null;
  /** Default false. */
  overlayHoldsSessions?: boolean;
}): Roots {
  const { flags, env, overlay } = facts;
  const state = stateRootOf(env, facts.home);
  const inOverlay = (folder: string) => (overlay === null ? null : join(overlay, folder));
  return {
    runtimeRoot:
      fromFlag(flags.runtimeRoot, "--runtime-root") ??
      fromEnvironment(env, "SVC_GLOBAL_RUNTIME_DIR") ??
      (facts.overlayHoldsSessions ? inOverlay("runtime") : null) ??
      join(state, "runtime"),
    registryRoot:
      fromFlag(flags.registryRoot, "--registry-root") ??
      fromEnvironment(env, "SVC_GLOBAL_REGISTRY_DIR") ??
      join(state, "registry"),
    mailboxRoot:
      fromFlag(flags.mailboxRoot, "--mailbox-root") ??
      fromEnvironment(env, "SVC_GLOBAL_MAILBOX_DIR") ??
      inOverlay("mailbox"),
  };
}

/**
 * Whether its user wants the sessions of a project kept in its overlay: it was named, or given the folder for
 * them.
 */
export function holdsSessions(
  files: Pick<Files, "stat">,
  overlay: { path: string; named: boolean },
): boolean {
  return overlay.named || files.stat(join(overlay.path, "runtime"))?.directory === true;
}

/** The user's state folder of ours. Throws for a relative path. */
export function stateRootOf(env: Environment, home: string): string {
  const states =
    fromEnvironment(env, "XDG_STATE_HOME") ?? join(absolute(home, "home folder"), ".local", "state");
  return join(states, "svc");
}

/**
 * The folder of the git worktrees of teams. It is none of the state folder: worktrees hold work of people and
 * agents. Throws for a relative XDG_DATA_HOME.
 */
export function worktreesRootOf(env: Environment, home: string): string {
  const data =
    fromEnvironment(env, "XDG_DATA_HOME") ?? join(absolute(home, "home folder"), ".local", "share");
  return join(data, "svc", "worktrees");
}

/**
 * The rule file of deliveries, in the user's configuration folder, unless a flag names another one. Throws
 * for a relative XDG_CONFIG_HOME.
 */
export function defaultRulesFile(env: Environment, home: string): string {
  return join(configRootOf(env, home), "deliveries.yaml");
}

/** The user's configuration folder of ours. Throws for a relative XDG_CONFIG_HOME. */
export function configRootOf(env: Environment, home: string): string {
  const config = fromEnvironment(env, "XDG_CONFIG_HOME") ?? join(absolute(home, "home folder"), ".config");
  return join(config, "svc");
}

/**
 * The project overlay that exists: `SVC_PROJECT_OVERLAY_DIR`, else the nearest `.svc/` from `workdir` up to
 * the Git root (only `workdir` itself with `SVC_PROJECT_OVERLAY_DISCOVERY_MODE=cwd_only`). Null when there
 * is none: nothing is created here. Whether it may be used is for `judgeOverlay` to say.
 */
export function findOverlay(files: Files, env: Environment, workdir: string): string | null {
  const named = fromEnvironment(env, "SVC_PROJECT_OVERLAY_DIR");
  if (named !== null) return named;
  const mode = env["SVC_PROJECT_OVERLAY_DISCOVERY_MODE"] ?? "ancestor";
  if (mode !== "ancestor" && mode !== "cwd_only") {
    throw new ServiceError(
      "invalid_request",
      `SVC_PROJECT_OVERLAY_DISCOVERY_MODE is "${mode}"; it must be "ancestor" or "cwd_only"`,
    );
  }
  for (let folder = workdir; ; folder = dirname(folder)) {
    const candidate = join(folder, overlayName);
    if (files.stat(candidate)?.directory) return candidate;
    const last = mode === "cwd_only" || files.exists(join(folder, ".git")) || dirname(folder) === folder;
    if (last) return null;
  }
}

/** `<runtime-root>/sessions/<backend>/<session-id>`. */
export function sessionRootOf(runtimeRoot: string, backend: string, sessionId: string): string {
  return childPath(runtimeRoot, "sessions", backend, sessionId);
}

/** Removes the folder of a session that came to nothing. Throws as `removableSession`. */
export function removeSession(files: Files, runtimeRoot: string, sessionRoot: string): void {
  const folder = removableSession(files, runtimeRoot, sessionRoot);
  if (folder !== null) files.remove("file:session-remove", folder);
}

/**
 * The folder of a session, to be removed with all that it holds; null when it is gone. Throws `PathRefused`
 * unless it is `<runtime-root>/sessions/<backend>/<session-id>` with no link among these: a record may name
 * any folder.
 */
export function removableSession(
  files: Pick<Files, "realPath" | "contained">,
  runtimeRoot: string,
  sessionRoot: string,
): ContainedPath | null {
  const folder = files.realPath(dirname(sessionRoot));
  const root = files.realPath(runtimeRoot);
  if (folder === null || root === null) return null;
  const names = [...relative(root, folder).split(sep), basename(sessionRoot)];
  if (names.length !== 3 || names[0] !== "sessions") {
    throw new PathRefused(sessionRoot, "it is no session folder below the runtime root");
  }
  return files.contained(root, names, "folder");
}

/** Paths inside a session root that more than one part of the system opens (contract 2.7, 2.8). */
export function sessionPaths(sessionRoot: string) {
  // A list of 300 agents asks for these some 1500 times: 27 ms, when each was joined.
  const gatewayRoot = join(sessionRoot, "gateway");
  const runRoot = `${gatewayRoot}/run`;
  return {
    manifest: join(sessionRoot, "manifest.json"),
    gatewayRoot,
    attach: `${gatewayRoot}/attach.json`,
    gatewayManifest: `${gatewayRoot}/gateway_manifest.json`,
    desiredConfig: `${gatewayRoot}/desired-config.json`,
    protocolVersion: `${gatewayRoot}/protocol-version.txt`,
    state: `${gatewayRoot}/state.json`,
    queue: `${gatewayRoot}/queue.sqlite`,
    events: `${gatewayRoot}/events.jsonl`,
    logRoot: `${gatewayRoot}/logs`,
    gatewayLog: `${gatewayRoot}/logs/gateway.log`,
    runRoot,
    currentInstance: `${runRoot}/current-instance.json`,
    pidFile: `${runRoot}/gateway.pid`,
    token: `${runRoot}/token`,
    challengeKey: `${runRoot}/challenge-key`,
    lastPort: `${runRoot}/last-port`,
    gatewayLock: `${runRoot}/gateway.lock`,
  };
}

function fromFlag(value: string | undefined, name: string): string | null {
  return value === undefined ? null : absolute(value, name);
}

function fromEnvironment(env: Environment, name: string): string | null {
  const value = env[name];
  return value === undefined || value === "" ? null : absolute(value, name);
}

function absolute(path: string, what: string): string {
  if (isAbsolute(path)) return path;
  throw new ServiceError("invalid_request", `${what} must be an absolute path, not "${path}"`);
}

/** Where the scripted agent keeps its records. */
export function demoRecordRoot(env: Environment, home: string): string {
  return join(stateRootOf(env, home), "demo-agent");
}
