import { dirname, resolve } from "node:path";
import type { BackupManifest } from "../../protocol/backup.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import { createBackup } from "../../services/extensions/backup/create.ts";
import { type BackupRoots, findPlaces } from "../../services/extensions/backup/places.ts";
import { planRestore, type RestorePlan, whyNoMail } from "../../services/extensions/backup/plan-restore.ts";
import { restoreBackup } from "../../services/extensions/backup/restore.ts";
import { configRootOf, planRoots, stateRootOf } from "../../services/sessions/roots.ts";
import { toTimestamp } from "../../system/clock.ts";
import { idStamp } from "../../system/ids.ts";
import { shellWord } from "../../system/shell-word.ts";
import { visibleLine } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type CliIo, command } from "../command-line/command.ts";
import { confirmed } from "../command-line/confirm.ts";
import { renderTable } from "../command-line/format.ts";
import { knownMailboxRoots } from "../command-line/mailbox-openers.ts";
import { warn } from "../command-line/narrate.ts";
import { programVersion } from "../command-line/version.ts";
import { withProgress } from "../extensions/upkeep/progress.ts";

const create = command({
  name: "create",
  description:
    "write everything of your agents into one archive: sessions, queues, turns and mailboxes, while they work",
  examples: ["svc-mgr backup create", "svc-mgr backup create --output ~/svc.tar --with-secrets --json"],
  args: {
    output: {
      type: "string",
      description:
        "the archive to write, 0600, or a folder with a slash at its end; default: svc-backup-<time>.tar here",
      valueHint: "FILE",
    },
    "with-secrets": {
      type: "boolean",
      description:
        "take tokens, logins, keys and the values of --env along: a headless agent that was given values needs them",
    },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const { records } = context.registry.list();
    const nowMs = context.clock.nowMs();
    const manifest: BackupManifest = {
      schema_version: 1,
      svc_version: (await programVersion()).version,
      created_at_utc: toTimestamp(nowMs),
      home: io.home,
      with_secrets: args["with-secrets"],
      places: findPlaces(context.files, rootsOf(context, io), records, knownMailboxRoots(context)),
    };
    const forRestore = {
      files: context.files,
      roots: rootsOf(context, io),
      home: io.home,
      configRoot: configRootOf(io.env, io.home),
    };
    const name = `svc-backup-${idStamp(nowMs)}.tar`;
    const inFolder = args.output?.endsWith("/") === true;
    const output = resolve(io.cwd, inFolder ? `${args.output}${name}` : (args.output ?? name));
    if (inFolder) context.files.ensureDirectory("file:backup-output", dirname(output));
    const done = await withProgress(io, "no archive was written", ({ signal, onProgress }) =>
      createBackup(context, {
        output,
        manifest,
        signal,
        whyNoMail: (root) => whyNoMail(forRestore, root),
        onProgress: (at, total) => onProgress({ step: "copying", done: at, total }),
      }),
    );
    for (const problem of done.problems)
      await warn(io, `not in the archive, not whole, or not for a restore: ${problem}`);
    return {
      json: {
        schema_version: 1,
        path: done.path,
        size_bytes: done.sizeBytes,
        files: done.files,
        secrets_left_out: done.secretsLeftOut,
        agents: records.map(toAgent),
        places: done.places,
        problems: done.problems,
      },
      text: [
        `${records.length} agents, ${done.files} files, ${done.sizeBytes} bytes: ${done.path}`,
        ...(done.secretsLeftOut > 0
          ? [
              `left out ${done.secretsLeftOut} files with tokens, logins, keys or values of --env: --with-secrets takes them along`,
            ]
          : []),
        `Put it back with: ${io.program} backup restore ${shellWord(done.path)}`,
      ].join("\n"),
      exitCode: done.problems.length === 0 ? 0 : 1,
    };
  },
});

const restore = command({
  name: "restore",
  description:
    "restore an archive: shows what it brings and asks; an agent, session or mailbox that exists is refused, never overwritten",
  examples: [
    "svc-mgr backup restore svc-backup-20261123-220000Z.tar",
    "svc-mgr backup restore svc-backup-20261123-220000Z.tar --yes --json",
  ],
  args: {
    archive: { type: "positional", description: "an archive of backup create", valueHint: "FILE" },
    yes: { type: "boolean", alias: "y", description: "do not ask at the terminal" },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const path = resolve(io.cwd, args.archive);
    const roots = rootsOf(context, io);
    const deps = { ...context, roots, configRoot: configRootOf(io.env, io.home), home: io.home };
    const plan = planRestore(deps, path);
    if (!args.yes) {
      await io.writeError(`${renderPlan(plan)}\n`);
      await confirmed(io, "Restore this?", false);
    }
    const done = await withProgress(io, "move away what was written before you restore again", (run) =>
      restoreBackup(deps, plan, {
        signal: run.signal,
        onProgress: (at, total) => run.onProgress({ step: "restoring", done: at, total }),
      }),
    );
    for (const problem of done.problems) await warn(io, `not restored: ${problem}`);
    const next = (record: RegistryRecord) =>
      record.lifecycle.state === "stopped" && record.lifecycle.relaunchable
        ? io.advise({ code: "relaunch_agent", agent_name: record.agent_name }).command
        : null;
    const moved = done.manifest.home !== io.home && done.places.some(({ kind }) => kind === "mailbox");
    return {
      json: {
        schema_version: 1,
        created_at_utc: done.manifest.created_at_utc,
        files: done.files,
        agents: done.agents.map((record) => ({ ...toAgent(record), next: next(record) })),
        places: done.places,
        kept: done.kept,
        problems: done.problems,
      },
      text: [
        `restored ${done.agents.length} agents, ${done.files} files, as of ${done.manifest.created_at_utc}`,
        ...(done.kept.length > 0 ? [`kept what was here: ${done.kept.join(", ")}`] : []),
        ...plan.mail.map(renderMail),
        ...(moved
          ? [`the home folder is another one: ${io.program} mailbox repair mends what names the former`]
          : []),
        "",
        renderTable(
          ["NAME", "STATE", "NEXT"],
          done.agents.map((record) => [record.agent_name, record.lifecycle.state, next(record) ?? "-"]),
        ),
      ].join("\n"),
      exitCode: done.problems.length === 0 ? 0 : 1,
    };
  },
});

const renderMail = ({ path, outsideHome }: RestorePlan["mail"][number]): string =>
  visibleLine(outsideHome ? `mail outside of your home folder: ${path}` : `mail: ${path}`);

/** Names are those of the archive, whose author may be another one. */
function renderPlan({ archive, agents, mail, overlays, trust, problems }: RestorePlan): string {
  const { created_at_utc, home } = archive.manifest;
  const names = agents.length > 0 ? `: ${agents.join(", ")}` : "";
  const items = [
    `${agents.length} agents, whose programs a relaunch starts${names}`,
    ...mail.map(renderMail),
    ...overlays.map((path) => `a project overlay that is adopted: ${path}`),
    ...trust,
    ...problems.map((problem) => `left out: ${problem}`),
  ];
  const title = `An archive of ${created_at_utc} from ${home}. Nothing proves who made it. It brings:`;
  return [visibleLine(title), ...items.map((item) => `  ${visibleLine(item)}`)].join("\n");
}

const toAgent = (record: RegistryRecord) => ({
  agent_name: record.agent_name,
  agent_id: record.agent_id,
  lifecycle_state: record.lifecycle.state,
});

/** The user's own roots: a project that keeps its sessions is found by its agents. */
function rootsOf({ roots }: CliContext, io: CliIo): BackupRoots {
  const { runtimeRoot } = planRoots({ flags: {}, env: io.env, home: io.home, overlay: null });
  return { registryRoot: roots.registryRoot, runtimeRoot, stateRoot: stateRootOf(io.env, io.home) };
}

export const backupCommands = { create, restore };
