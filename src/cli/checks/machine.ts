import { dirname } from "node:path";
import { coordinatorFolders, runningCoordinators } from "../../services/fleet/coordinator-files.ts";
import { coordinatorFault } from "../../services/fleet/fleet-watch.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { listen } from "../../system/http-server.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { type Check, damaged, ok, warning } from "./check.ts";

/** Oldest tmux whose commands and formats we rely on. */
const oldest = { major: 3, minor: 2 };

interface TmuxAdvice {
  verdict: "ok" | "missing";
  detail: string;
  remedy: string | null;
}

/** Package managers in the order they are looked for, with the command that brings tmux. */
const installers: readonly (readonly [string, string])[] = [
  ["apt-get", "sudo apt-get install tmux"],
  ["dnf", "sudo dnf install tmux"],
  ["pacman", "sudo pacman -S tmux"],
  ["apk", "sudo apk add tmux"],
  ["zypper", "sudo zypper install tmux"],
  ["brew", "brew install tmux"],
];

/**
 * The verdict on `version` of tmux (null: none) and the command that installs one. `isThere`: a program is on
 * PATH. Pure.
 */
export function tmuxAdvice(version: string | null, isThere: (program: string) => boolean): TmuxAdvice {
  const install = installers.find(([program]) => isThere(program))?.[1] ?? "install tmux 3.2 or later";
  if (version === null) return { verdict: "missing", detail: "tmux is not installed", remedy: install };
  const match = /(\d+)\.(\d+)/.exec(version);
  const [major, minor] = [Number(match?.[1]), Number(match?.[2])];
  // A development build such as `master` has no number and is newer than any release.
  const recent = !match || major > oldest.major || (major === oldest.major && minor >= oldest.minor);
  if (recent) return { verdict: "ok", detail: version, remedy: null };
  return { verdict: "missing", detail: `${version} is too old; 3.2 or later is needed`, remedy: install };
}

export async function checkTmux({ tmux, processes, tmuxRefusal }: CliContext): Promise<Check> {
  const refusal = tmuxRefusal();
  if (refusal !== null)
    return { name: "tmux", verdict: "missing", detail: "no agent can be launched", remedy: refusal };
  const version = await tmux.version();
  return { name: "tmux", ...tmuxAdvice(version, (command) => processes.which(command) !== null) };
}

/**
 * Agents call `svc-mgr` by its name, and so do the lines that we print. `programFolder`: where this program
 * lies.
 */
export function checkPath({ processes }: Pick<CliContext, "processes">, programFolder: string): Check {
  const found = processes.which("svc-mgr");
  if (found !== null) return ok("PATH", `svc-mgr is ${found}`);
  return warning(
    "PATH",
    "svc-mgr is not on PATH: agents cannot call it, and neither can its completion",
    `put the folder of svc-mgr on PATH, such as: export PATH="${programFolder}:$PATH"`,
  );
}

export function checkFolders({ roots, files }: CliContext): Check[] {
  const folders = [
    ["sessions", roots.runtimeRoot, "SVC_GLOBAL_RUNTIME_DIR"],
    ["registry", roots.registryRoot, "SVC_GLOBAL_REGISTRY_DIR"],
    ...(roots.mailboxRoot === null
      ? []
      : [["mailbox", roots.mailboxRoot, "SVC_GLOBAL_MAILBOX_DIR"] as const]),
  ] as const;
  return folders.map(([what, path, variable]) => {
    const name = `folder of the ${what}`;
    const existing = nearest(files, path);
    if (!files.stat(existing)?.directory) {
      const remedy = `move the file ${existing} away, or name another folder with ${variable}`;
      return { name, verdict: "missing", detail: `${existing} is a file, not a folder`, remedy };
    }
    const writable = files.writable(existing);
    const left = files.freeBytes(existing);
    if (writable && left < scarceBytes) {
      const detail = `${path}: its disk is full (${Math.floor(left / 1024)} KiB left)`;
      return { name, verdict: "missing", detail, remedy: `make room on the disk of ${existing}` };
    }
    return {
      name,
      verdict: writable ? "ok" : "missing",
      detail: existing === path ? path : `${path} (will be made)`,
      remedy: writable ? null : `make ${existing} writable for you, or name another folder with ${variable}`,
    };
  });
}

/** With less than this a database may refuse the next write. */
const scarceBytes = 1024 * 1024;

/** What is at the path itself, or the nearest thing above it that exists. */
function nearest(files: Files, path: string): string {
  let found = path;
  while (!files.exists(found) && dirname(found) !== found) found = dirname(found);
  return found;
}

/** The port of `svc-coord serve`: free, held by one of ours, or taken by a stranger. */
export async function checkCoordinatorPort(context: CliContext, port: number): Promise<Check> {
  const name = `port ${port} (svc-coord)`;
  const host = "127.0.0.1";
  try {
    const server = listen({ ...context, host, port, fetch: () => new Response() });
    await server.stop(0);
    return ok(name, "free");
  } catch (error) {
    if (!(error instanceof ServiceError)) return warning(name, messageOf(error), null);
    const running = [
      ...runningCoordinators(context),
      ...coordinatorFolders(context).filter(({ held }) => held),
    ];
    const ours = running.some(({ paths }) => paths.root.endsWith(`-${port}`));
    if (ours) return ok(name, "svc-coord serves here");
    return warning(name, "another program listens here", "svc-coord serve --port 0, or another port");
  }
}

/**
 * Servers whose own files were lost or damaged: programs of ours do not find them any more, or they cannot
 * start.
 */
export async function checkCoordinators(context: CliContext): Promise<Check[]> {
  const checks = coordinatorFolders(context).map(async (found) => {
    const { paths, held, folders } = found;
    const port = paths.root.slice(paths.root.lastIndexOf("-") + 1);
    const name = `svc-coord on port ${port}`;
    if (folders.length > 0) {
      return [damaged(name, `a folder is where a file belongs: ${folders.join(", ")}`, "move it away")];
    }
    const fault = held ? await coordinatorFault(context, found) : null;
    if (fault === null) return [];
    const remedy = `end it and start it again: svc-coord serve --port ${port}`;
    return [warning(name, `it serves, and others cannot use it: ${fault}`, remedy)];
  });
  return (await Promise.all(checks)).flat();
}
