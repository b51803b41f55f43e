import { basename, dirname, join } from "node:path";
import type { RegistryRecord } from "../../protocol/files.ts";
import { openRecordOrNull } from "../../services/sessions/find.ts";
import { stateRootOf, worktreesRootOf } from "../../services/sessions/roots.ts";
import { createWorktrees, type Worktrees } from "../../services/team/worktrees.ts";
import { childPath } from "../../system/contained-path.ts";
import { visibleLine } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../cli-context.ts";
import { type CliIo, command } from "../command.ts";
import { confirmed } from "../confirm.ts";
import { CommandFailure, exitCodes } from "../dispatch.ts";
import { openPeopleMail, usedMailboxRoots } from "../mailbox-openers.ts";
import { warn } from "../narrate.ts";

/** What a removal would cost. `agent` ends no removal: it must be stopped first. */
interface Loss {
  kind: "agent" | "worktree" | "mail";
  what: string;
  why: string;
}

export default command({
  name: "uninstall",
  description:
    "remove svc's state folder and the worktrees of teams; lists what would be lost, and refuses while there is any",
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
    const groups = openAllWorktrees(context, io);
    const [agents, worktrees] = [await runningAgents(context), await unsavedWorktrees(groups)];
    const { lost: mail, kept } = await survey(context, io, places);
    const losses = [...agents, ...worktrees, ...mail];
    const document = { schema_version: 1, removes: places, losses, keeps: kept };
    const isRefused = agents.length > 0 || (losses.length > 0 && !args.discard);
    const lines = [
      ...losses.map(({ kind, what, why }) => `${titles[kind]}: ${visibleLine(what)}: ${visibleLine(why)}`),
      ...kept.map(
        ({ path, unread }) => `stays: ${visibleLine(path)}, mail${unread > 0 ? `, ${unread} unread` : ""}`,
      ),
      ...(places.length === 0 ? ["there is nothing to remove"] : []),
    ];
    if (isRefused && !args["dry-run"]) {
      const advice =
        agents.length > 0
          ? "nothing was removed: end the agents that run"
          : "nothing was removed: save this work, or remove it too with --discard";
      const detail = [...lines, advice].join("\n");
      throw new CommandFailure(exitCodes.refused, detail, { error: "conflict", detail, ...document });
    }
    const removes = places.map(
      (path) => `${args["dry-run"] ? "would remove" : "removed"}: ${visibleLine(path)}`,
    );
    if (args["dry-run"]) {
      return {
        json: { ...document, removed: false },
        text: [...lines, ...removes].join("\n"),
        exitCode: isRefused ? exitCodes.refused : exitCodes.done,
      };
    }
    if (places.length > 0) {
      for (const line of lines) await io.writeError(`${line}\n`);
      await confirmed(io, `Remove ${places.join(" and ")}?`, args.yes);
    }
    // Git forgets a worktree that it removes itself.
    for (const { worktrees: some } of groups) for (const agent of some.list()) await some.remove(agent);
    for (const path of places) {
      context.files.remove("file:uninstall", context.files.contained(dirname(path), basename(path)));
    }
    return { json: { ...document, removed: true }, text: [...lines, ...removes].join("\n") };
  },
});

const titles: Readonly<Record<Loss["kind"], string>> = {
  agent: "an agent runs",
  worktree: "a worktree has work that is nowhere else",
  mail: "mail",
};

async function runningAgents({ registry, sessionAlive, files }: CliContext): Promise<Loss[]> {
  const isActive = ({ lifecycle: { state } }: RegistryRecord) =>
    state === "active" || state === "relaunching";
  const records = registry.list().records.filter(isActive);
  const losses = await Promise.all(
    records.map(async (record): Promise<Loss | null> => {
      // One of which nobody knows whether it runs counts as one that does.
      if (!(await sessionAlive(record).catch(() => true))) return null;
      const folder = openRecordOrNull(files, record)?.manifest.working_directory;
      const where = folder === undefined ? "" : `in ${folder}; `;
      const why = `${where}end it with: svc-mgr agents single --agent-id ${record.agent_id} stop`;
      return { kind: "agent", what: record.agent_name, why };
    }),
  );
  return losses.filter((one) => one !== null);
}

/** Those of each team, also where an earlier version made them. */
function openAllWorktrees(context: CliContext, io: CliIo): { worktrees: Worktrees }[] {
  const { files } = context;
  const [root, teams] = [worktreesRootOf(io.env, io.home), join(stateRootOf(io.env, io.home), "teams")];
  const names = [root, teams].flatMap((folder) => (files.exists(folder) ? files.list(folder) : []));
  return [...new Set(names)].map((name) => ({
    worktrees: createWorktrees(context, {
      repository: io.home,
      root: childPath(root, name),
      formerRoot: childPath(teams, name, "worktrees"),
      env: io.env,
    }),
  }));
}

async function unsavedWorktrees(groups: readonly { worktrees: Worktrees }[]): Promise<Loss[]> {
  const losses: Loss[] = [];
  for (const { worktrees } of groups) {
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
