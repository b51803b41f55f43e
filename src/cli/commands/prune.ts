import type { UnreferencedSession } from "../../services/fleet/unreferenced.ts";
import { toTimestamp } from "../../system/clock.ts";
import { localDateTime } from "../../system/time-zone.ts";
import { visibleLine } from "../../system/visible.ts";
import { command } from "../command-line/command.ts";
import { canAsk, confirmed } from "../command-line/confirm.ts";
import { renderTable } from "../command-line/format.ts";
import { listUnreferenced, pruneUnreferenced, type Unreferenced } from "../operations/prune.ts";

export default command({
  name: "prune",
  description:
    "show the folders of sessions that nothing refers to, and remove them after a question; never mail, never an agent that `agents list --state all` shows",
  examples: ["svc-mgr prune", "svc-mgr prune --yes", "svc-mgr prune --json"],
  args: {
    yes: { type: "boolean", alias: "y", description: "remove them without asking" },
  },
  async run({ args, io, inherited }) {
    const found = await listUnreferenced({ io, inherited });
    const { removable } = found;
    const isAsked = canAsk({ io, inherited });
    if (removable.length === 0 || (!args.yes && !isAsked)) {
      return { json: toJson(found, []), text: toText(found, io.program) };
    }
    if (!args.yes) {
      await io.writeError(`${toTable(removable)}\n`);
      await confirmed(io, `Remove ${folders(removable.length)}, with prompts and history?`, false);
    }
    const removed = await pruneUnreferenced({ io, inherited }, removable);
    const left = removable.length - removed.length;
    const more = left === 0 ? [] : [`${folders(left)} stayed: something uses them by now`];
    return {
      json: toJson(found, removed),
      text: [`removed ${folders(removed.length)}`, ...more].join("\n"),
    };
  },
});

const folders = (count: number) => (count === 1 ? "1 folder" : `${count} folders`);

function toText({ removable, kept }: Unreferenced, program: string): string {
  const stays = kept.map(({ sessionRoot, inUse }) => `kept ${sessionRoot}: ${inUse}`);
  if (removable.length === 0) return ["nothing to remove", ...stays].join("\n");
  return [toTable(removable), ...stays, `Remove them with: ${program} prune --yes`].join("\n");
}

function toTable(sessions: readonly UnreferencedSession[]): string {
  const rows = sessions.map(({ sessionRoot, manifest, usedAtMs, waiting }) => [
    manifest ? visibleLine(manifest.agent_name) : "-",
    manifest?.tool ?? "-",
    localDateTime(toTimestamp(usedAtMs)),
    waiting === null ? "?" : String(waiting),
    sessionRoot,
  ]);
  return renderTable(["NAME", "TOOL", "LAST USED", "WAITING", "FOLDER"], rows);
}

function toJson({ removable, kept }: Unreferenced, removed: readonly UnreferencedSession[]) {
  const isRemoved = (one: UnreferencedSession) =>
    removed.some(({ sessionRoot }) => sessionRoot === one.sessionRoot);
  return {
    sessions: [...removable, ...kept].map((one) => ({
      session_root: one.sessionRoot,
      agent_name: one.manifest?.agent_name ?? null,
      agent_id: one.manifest?.agent_id ?? null,
      tool: one.manifest?.tool ?? null,
      used_at_utc: toTimestamp(one.usedAtMs),
      waiting_prompts: one.waiting,
      in_use: one.inUse,
      removed: isRemoved(one),
    })),
  };
}
