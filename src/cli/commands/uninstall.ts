import { basename, dirname, join } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import { serviceNames } from "../../services/extensions/boot/boot-services.ts";
import { createWorktrees, pathsIn, type Worktrees } from "../../services/extensions/team/worktrees.ts";
import { coordinatorFolders, isHeld } from "../../services/fleet/coordinator-files.ts";
import { openRecordOrNull } from "../../services/sessions/find.ts";
import { sessionPaths, stateRootOf, worktreesRootOf } from "../../services/sessions/roots.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import { messageOf } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type CliIo, command } from "../command-line/command.ts";
import { confirmed } from "../command-line/confirm.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { openPeopleMail, usedMailboxRoots } from "../command-line/mailbox-openers.ts";
import { warn } from "../command-line/narrate.ts";
import { openServiceManager } from "../operations/service.ts";

/** What a removal would cost. An agent or a server that runs must be ended first. */
interface Loss {
  kind: "agent" | "server" | "worktree" | "folder" | "mail";
  what: string;
  why: string;
}

export default command({
  name: "uninstall",
  description:
    "remove svc's state folder, its services and the worktrees of teams; lists what runs and what would be lost, and refuses while there is any",
  examples: [
    "svc-mgr uninstall --dry-run",
    "svc-mgr uninstall",
    "svc-mgr uninstall --discard --yes",
    "svc-mgr uninstall --dry-run --json",
  ],
  args: {
    "dry-run": { type: "boolean", description: "say what would be removed and lost, and change nothing" },
    discard: { type: "boolean", description: "remove worktrees with unsaved work, and mail, all the same" },
    yes: { type: "boolean", alias: "y", description: "do not ask at the terminal" },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const places = [stateRootOf(io.env, io.home), worktreesRootOf(io.env, io.home)].filter((path) =>
      context.files.exists(path),
    );
    const { groups, others } = openAllWorktrees(context, io);
    const manager = openServiceManager(context, io);
    const services = (await Promise.all(serviceNames.map(manager.state))).filter(
      ({ file }) => file === "ours",
    );
    const running = [
      ...(await runningAgents(context)),
      ...(await runningServers(context, io, new Set(services.map(({ pid }) => pid)))),
    ];
    const worktrees = [...(await unsavedWorktrees(groups)), ...others];
    const { lost: mail, kept } = await survey(context, io, places);
    const losses = [...running, ...worktrees, ...mail];
    const removes = [...services.map(({ path }) => path), ...places];
    const document = { schema_version: 1, removes, losses, keeps: kept };
    const isRefused = running.length > 0 || (losses.length > 0 && !args.discard);
    const lines = [
      ...losses.map(({ kind, what, why }) => `${titles[kind]}: ${visibleLine(what)}: ${visibleLine(why)}`),
      ...kept.map(
        ({ path, unread }) => `stays: ${visibleLine(path)}, mail${unread > 0 ? `, ${unread} unread` : ""}`,
      ),
      ...(removes.length === 0 ? ["there is nothing to remove"] : []),
    ];
    if (isRefused && !args["dry-run"]) {
      const advice =
        running.length > 0
          ? "nothing was removed: end what runs"
          : "nothing was removed: save this work, or remove it too with --discard";
      const detail = [...lines, advice].join("\n");
      throw new CommandFailure(exitCodes.refused, detail, { error: "conflict", detail, ...document });
    }
    if (args["dry-run"]) {
      const planned = removes.map((path) => `would remove: ${visibleLine(path)}`);
      return {
        json: { ...document, removed: false },
        text: [...lines, ...planned].join("\n"),
        exitCode: isRefused ? exitCodes.refused : exitCodes.done,
      };
    }
    if (removes.length > 0) {
      if (!args.yes) for (const line of lines) await io.writeError(`${line}\n`);
      await confirmed(io, `Remove ${removes.join(" and ")}?`, args.yes);
    }
    // Its server holds a lock in what is removed.
    for (const { name } of services) await manager.remove(name);
    const failures = await removeAll(context, { groups, places, discard: args.discard });
    const gone = removes.filter((path) => !context.files.exists(path));
    const removed = gone.map((path) => `removed: ${visibleLine(path)}`);
    if (failures.length === 0)
      return { json: { ...document, removed: true }, text: [...lines, ...removed].join("\n") };
    const detail = [...removed, ...failures.map((one) => `not removed: ${visibleLine(one)}`)].join("\n");
    const error = { error: "conflict", detail, ...document, removed: false, not_removed: failures };
    throw new CommandFailure(exitCodes.refused, detail, error);
  },
});

/**
 * Git forgets a worktree that it removes itself. While it keeps one, the folders with it stay; with `discard`
 * they go all the same. Returns what was not removed, and why.
 */
async function removeAll(
  { files }: CliContext,
  options: { groups: readonly Worktrees[]; places: readonly string[]; discard: boolean },
): Promise<string[]> {
  const { groups, places, discard } = options;
  const failures: string[] = [];
  for (const worktrees of groups) {
    for (const agent of worktrees.list()) {
      const path = worktrees.pathOf(agent);
      const why = await worktrees.remove(agent, { discard });
      if (why !== null && !discard) failures.push(`${path}: ${why}`);
    }
  }
  if (failures.length > 0) return failures;
  for (const path of places) {
    try {
      files.remove("file:uninstall", files.contained(dirname(path), basename(path)));
    } catch (error) {
      failures.push(`${path}: ${messageOf(error)}`);
    }
  }
  return failures;
}

const titles: Readonly<Record<Loss["kind"], string>> = {
  agent: "an agent runs",
  server: "a server runs",
  worktree: "a worktree has work that is nowhere else",
  folder: "no worktree of git",
  mail: "mail",
};

async function runningAgents({ registry, sessionAlive, files, locks }: CliContext): Promise<Loss[]> {
  /** A gateway outlives the tmux server of its agent. */
  const isServed = ({ runtime: { session_root: root } }: RegistryRecord) =>
    root != null && isHeld(files, locks, sessionPaths(root).gatewayLock);
  const isActive = ({ lifecycle: { state } }: RegistryRecord) =>
    state === "active" || state === "relaunching";
  const records = registry.list().records.filter(isActive);
  const losses = await Promise.all(
    records.map(async (record): Promise<Loss | null> => {
      // One of which nobody knows whether it runs counts as one that does.
      if (!(await sessionAlive(record).catch(() => true)) && !isServed(record)) return null;
      const folder = openRecordOrNull(files, record)?.manifest.working_directory;
      const where = folder === undefined ? "" : `in ${folder}; `;
      const why = `${where}end it with: svc-mgr agents single --agent-id ${record.agent_id} stop`;
      return { kind: "agent", what: record.agent_name, why };
    }),
  );
  return losses.filter((one) => one !== null);
}

/** Programs of svc that hold a lock in what is removed. `services`: processes that end with our services. */
async function runningServers(
  { files, locks, processes, roots }: CliContext,
  io: CliIo,
  services: ReadonlySet<number | null>,
): Promise<Loss[]> {
  const state = stateRootOf(io.env, io.home);
  const runtimeRoots = [...new Set([roots.runtimeRoot, join(state, "runtime")])];
  const coordinators = runtimeRoots
    .flatMap((runtimeRoot) => coordinatorFolders({ files, locks, runtimeRoot }))
    .filter(({ held, instance }) => held && !services.has(instance?.pid ?? -1))
    .map(({ paths, instance }): Loss => {
      const process = instance === null ? "" : `, process ${instance.pid}`;
      return {
        kind: "server",
        what: instance?.api_base_url ?? paths.root,
        why: `end svc-coord serve${process}`,
      };
    });
  const fleets: Loss[] = [];
  for (const fleet of files.list(join(state, "nats")).filter(isOneName)) {
    const { natsFleetPaths } = await import("../../services/extensions/hosts/nats-fleet.ts");
    const { runningNatsServer } = await import("../../services/extensions/hosts/nats-process.ts");
    const paths = natsFleetPaths(state, fleet);
    // A server outlives the command that was killed.
    const pid = runningNatsServer({ files, processes }, paths);
    if (pid === null && !isHeld(files, locks, paths.lock)) continue;
    const why = `end svc-coord nats${pid === null ? "" : `, or nats-server with the process ${pid}`}`;
    fleets.push({ kind: "server", what: `NATS server of the fleet "${fleet}"`, why });
  }
  const joined = pathsIn(files, join(state, "hosts"))
    .flatMap((fleet) => pathsIn(files, fleet))
    .filter((host) => isHeld(files, locks, join(host, "lock")))
    .map((host): Loss => {
      const [name, fleet] = [basename(host), basename(dirname(host))];
      return { kind: "server", what: `host "${name}" of the fleet "${fleet}"`, why: "end svc-coord join" };
    });
  return [...coordinators, ...fleets, ...joined];
}

/** The worktrees of each team, also where an earlier version made them, and what else lies there. */
function openAllWorktrees(context: CliContext, io: CliIo): { groups: Worktrees[]; others: Loss[] } {
  const { files } = context;
  const [root, teams] = [worktreesRootOf(io.env, io.home), join(stateRootOf(io.env, io.home), "teams")];
  const names = [...new Set([root, teams].flatMap((folder) => files.list(folder)))];
  const groups = names.filter(isOneName).map((name) =>
    createWorktrees(context, {
      repository: io.home,
      root: childPath(root, name),
      formerRoot: childPath(teams, name, "worktrees"),
      env: io.env,
    }),
  );
  const loose = pathsIn(files, root).filter((path) => path === root || !files.isOwnFolder(path));
  const others = [...loose, ...groups.flatMap((worktrees) => worktrees.listOthers())];
  const why = "svc does not know what it is: move it away";
  return { groups, others: others.map((what) => ({ kind: "folder", what, why })) };
}

async function unsavedWorktrees(groups: readonly Worktrees[]): Promise<Loss[]> {
  const losses: Loss[] = [];
  for (const worktrees of groups) {
    for (const agent of worktrees.list()) {
      const why = await worktrees.unsavedWork(agent);
      if (why !== null) losses.push({ kind: "worktree", what: worktrees.pathOf(agent), why });
    }
  }
  return losses;
}

/** The mail of this machine: what lies in a folder that is removed, and what stays. */
async function survey(context: CliContext, io: CliIo, places: readonly string[]) {
  const { files } = context;
  const unread = await openPeopleMail(context, (what) => void warn(io, what)).unread();
  const all = usedMailboxRoots(context).map((path) => ({
    path,
    unread: unread.filter(({ root }) => root === path).length,
  }));
  const isLost = ({ path }: { path: string }) => files.isBelow(path, places);
  const toLoss = ({ path, unread: count }: (typeof all)[number]): Loss => ({
    kind: "mail",
    what: path,
    why: count > 0 ? `${count} messages that a person has not read` : "its messages",
  });
  return { lost: all.filter(isLost).map(toLoss), kept: all.filter((one) => !isLost(one)) };
}
