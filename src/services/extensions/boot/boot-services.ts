import { join } from "node:path";
import { childPath } from "../../../system/contained-path.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Processes } from "../../../system/processes.ts";
import { visibleLine } from "../../../system/visible.ts";
import { mark, renderPropertyList, renderUnit, type ServiceName, type ServicePlan } from "./unit-text.ts";

/** Of the files that an installation may have made. */
export const serviceNames: readonly ServiceName[] = ["svc-coord", "svc-resume"];

export interface ServiceState {
  name: ServiceName;
  path: string;
  /** `other`: a file that we did not write has its name. */
  file: "ours" | "other" | "absent";
  /** Null where the manager was not asked, or does not say. */
  isEnabled: boolean | null;
  /** In the manager's own word; null as above. */
  activity: string | null;
  pid: number | null;
}

/** The service manager of one user: systemd, on macOS launchd. */
export interface ServiceManager {
  kind: "systemd" | "launchd";
  pathOf(name: ServiceName): string;
  render(plan: ServicePlan): string;
  /** Command lines, as people type them. */
  words: { start: string; log: string; stayAfterLogout: string | null };
  /** Why it cannot be used here, as a clause; null where it can. */
  obstacle(): Promise<string | null>;
  /** Writes the files, and removes that of a service which is not among `plans`. Throws `conflict` for a file of others. */
  install(plans: readonly ServicePlan[]): Promise<void>;
  start(name: ServiceName): Promise<void>;
  state(name: ServiceName): Promise<ServiceState>;
  /** Ends the service and removes its file, where it is ours. False where there is none. */
  remove(name: ServiceName): Promise<boolean>;
  /** Whether the services and what they started end when the user logs out; null where it is not known. */
  endsAtLogout(): Promise<boolean | null>;
}

interface ManagerDeps {
  files: Files;
  processes: Pick<Processes, "run">;
}

interface Place {
  uid: number;
  home: string;
  /** The user's configuration folder, of all programs. */
  configFolder: string;
}

export function createServiceManager(
  deps: ManagerDeps,
  place: Place & { platform: NodeJS.Platform },
): ServiceManager {
  return place.platform === "darwin" ? createLaunchd(deps, place) : createSystemd(deps, place);
}

type Said = { exitCode: number | null; stdout: string; stderr: string };

/** A command that cannot be started says why as one that failed. */
async function say({ processes }: ManagerDeps, words: readonly string[]): Promise<Said> {
  try {
    return await processes.run(words, { timeoutMs: 60_000 });
  } catch (error) {
    return { exitCode: null, stdout: "", stderr: messageOf(error) };
  }
}

async function order(deps: ManagerDeps, words: readonly string[]): Promise<void> {
  const said = await say(deps, words);
  if (said.exitCode === 0) return;
  throw new ServiceError("unavailable", `${words.join(" ")}: ${lastLine(said)}`);
}

function lastLine({ exitCode, stdout, stderr }: Said): string {
  const line = (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "";
  return visibleLine(line) || `it ended with ${exitCode === null ? "a signal" : `exit code ${exitCode}`}`;
}

function fileState({ files }: ManagerDeps, path: string): ServiceState["file"] {
  if (!files.exists(path) && !files.isLink(path)) return "absent";
  return files.read(path)?.includes(mark) ? "ours" : "other";
}

function writeFiles(
  deps: ManagerDeps,
  { pathOf, render }: Pick<ServiceManager, "pathOf" | "render">,
  folder: string,
  plans: readonly ServicePlan[],
): void {
  for (const { name } of plans) {
    if (fileState(deps, pathOf(name)) !== "other") continue;
    throw new ServiceError("conflict", `${pathOf(name)} is not ours: move it away first`);
  }
  // Nothing is written when one of them cannot be.
  const texts = plans.map((plan) => ({ path: pathOf(plan.name), text: render(plan) }));
  deps.files.ensureDirectory("file:service-folder", folder);
  for (const { path, text } of texts) deps.files.write("file:service", path, text);
}

function createSystemd(deps: ManagerDeps, { configFolder, uid }: Place): ServiceManager {
  const folder = join(configFolder, "systemd", "user");
  const control = (...words: string[]) => ["systemctl", "--user", ...words];
  const unitOf = (name: ServiceName) => `${name}.service`;
  const pathOf = (name: ServiceName) => childPath(folder, unitOf(name));
  const manager: ServiceManager = {
    kind: "systemd",
    pathOf,
    render: renderUnit,
    words: {
      start: "systemctl --user start svc-coord",
      log: "journalctl --user -u svc-resume",
      stayAfterLogout: "loginctl enable-linger",
    },
    async obstacle() {
      const said = await say(deps, control("show", "--property=Version"));
      return said.exitCode === 0 ? null : `systemctl --user: ${lastLine(said)}`;
    },
    async install(plans) {
      writeFiles(deps, manager, folder, plans);
      await order(deps, control("daemon-reload"));
      for (const { name } of plans) await order(deps, control("enable", unitOf(name)));
      for (const name of serviceNames) {
        if (!plans.some((plan) => plan.name === name)) await manager.remove(name);
      }
    },
    start: (name) => order(deps, control("restart", unitOf(name))),
    async state(name) {
      const path = pathOf(name);
      const asked = ["ActiveState", "UnitFileState", "MainPID"];
      const said = await say(deps, control("show", unitOf(name), `--property=${asked.join(",")}`));
      const values = new Map(said.stdout.split("\n").map((line) => line.split(/=(.*)/s) as [string, string]));
      const pid = Number(values.get("MainPID"));
      const isAnswer = said.exitCode === 0;
      return {
        name,
        path,
        file: fileState(deps, path),
        isEnabled: isAnswer ? values.get("UnitFileState") === "enabled" : null,
        activity: isAnswer ? (values.get("ActiveState") ?? null) : null,
        pid: isAnswer && pid > 0 ? pid : null,
      };
    },
    async remove(name) {
      const path = pathOf(name);
      if (fileState(deps, path) !== "ours") return false;
      const said = await say(deps, control("disable", "--now", unitOf(name)));
      deps.files.removeFile("file:service-remove", path);
      // Where systemd was not there to take its link away.
      const link = childPath(folder, "default.target.wants", unitOf(name));
      if (deps.files.linkTarget(link) === path) deps.files.removeFile("file:service-remove", link);
      if (said.exitCode === 0) await say(deps, control("daemon-reload"));
      return true;
    },
    async endsAtLogout() {
      const said = await say(deps, ["loginctl", "show-user", String(uid), "--property=Linger", "--value"]);
      const word = said.stdout.trim();
      return said.exitCode === 0 && /^(yes|no)$/.test(word) ? word === "no" : null;
    },
  };
  return manager;
}

function createLaunchd(deps: ManagerDeps, { home, uid }: Place): ServiceManager {
  const folder = join(home, "Library", "LaunchAgents");
  const domain = `gui/${uid}`;
  const pathOf = (name: ServiceName) => childPath(folder, `${name}.plist`);
  const manager: ServiceManager = {
    kind: "launchd",
    pathOf,
    render: renderPropertyList,
    words: {
      start: `launchctl kickstart ${domain}/svc-coord`,
      log: "svc-resume.log beside the state folder's sessions",
      stayAfterLogout: null,
    },
    async obstacle() {
      const said = await say(deps, ["launchctl", "print", domain]);
      return said.exitCode === 0 ? null : `launchctl: ${lastLine(said)}`;
    },
    async install(plans) {
      writeFiles(deps, manager, folder, plans);
      for (const name of serviceNames) {
        if (!plans.some((plan) => plan.name === name)) await manager.remove(name);
      }
    },
    async start(name) {
      await say(deps, ["launchctl", "bootout", `${domain}/${name}`]);
      await order(deps, ["launchctl", "bootstrap", domain, pathOf(name)]);
    },
    async state(name) {
      const path = pathOf(name);
      const said = await say(deps, ["launchctl", "print", `${domain}/${name}`]);
      const pid = /^\s*pid = (\d+)$/m.exec(said.stdout)?.[1];
      const file = fileState(deps, path);
      return {
        name,
        path,
        file,
        // Each file of this folder is loaded at the login.
        isEnabled: file === "ours",
        activity: /^\s*state = (.+)$/m.exec(said.stdout)?.[1] ?? null,
        pid: pid === undefined ? null : Number(pid),
      };
    },
    async remove(name) {
      const path = pathOf(name);
      if (fileState(deps, path) !== "ours") return false;
      await say(deps, ["launchctl", "bootout", `${domain}/${name}`]);
      deps.files.removeFile("file:service-remove", path);
      return true;
    },
    endsAtLogout: async () => true,
  };
  return manager;
}
