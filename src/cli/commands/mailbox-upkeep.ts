import {
  type MailboxExportAnswer,
  type MailboxHistory,
  type MailboxMaintenanceAnswer,
  type MailboxRepairAnswer,
  type MailboxVerifyAnswer,
  type MaintenanceAction,
  SymlinkMode,
} from "../../protocol/mailbox-admin.ts";
import { verifyHistories } from "../../services/mail/filesystem/delivery/history.ts";
import { repairMailRoot } from "../../services/mail/filesystem/repair/repair.ts";
import { cleanUpMailRoot } from "../../services/mail/filesystem/upkeep/cleanup.ts";
import { clearMessages } from "../../services/mail/filesystem/upkeep/clear.ts";
import { exportMailRoot } from "../../services/mail/filesystem/upkeep/export.ts";
import type { MaintenanceResult } from "../../services/mail/filesystem/upkeep/maintenance.ts";
import { type Answer, command, type Flags, type Invocation, UsageError } from "../command-line/command.ts";
import { confirmed } from "../command-line/confirm.ts";
import { wordFlag } from "../command-line/field-flags.ts";
import { toWholeNumber } from "../command-line/flag-values.ts";
import { renderPairs, renderTable } from "../command-line/format.ts";
import { toKnownRemedy, withRemedy } from "../command-line/remedies.ts";
import { addressFlag } from "../command-line/shared-flags.ts";
import { withProgress } from "../extensions/upkeep/progress.ts";
import { type ChosenRoot, chooseRoot, withMailRoot } from "../mail/mailbox-root.ts";

const dryRunFlag = {
  "dry-run": { type: "boolean", description: "say what would be removed and change nothing" },
} as const satisfies Flags;

const clearFlags = {
  ...dryRunFlag,
  yes: { type: "boolean", description: "do not ask; needed where nobody can be asked" },
} as const satisfies Flags;

const repair = command({
  name: "repair",
  description: "put index and mailboxes in order again from the messages on disk; loses no mail and no flag",
  examples: ["svc-mgr mailbox repair", "svc-mgr mailbox repair --remove-staging --json"],
  args: {
    "cleanup-staging": {
      type: "boolean",
      description: "clear away what interrupted writes left (the default)",
    },
    "no-cleanup-staging": { type: "boolean", description: "leave it where it is" },
    "quarantine-staging": { type: "boolean", description: "keep it in staging/quarantine (the default)" },
    "remove-staging": { type: "boolean", description: "remove it instead" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    if (args["cleanup-staging"] && args["no-cleanup-staging"]) {
      throw new UsageError("--cleanup-staging and --no-cleanup-staging exclude each other", invocation.path);
    }
    if (args["quarantine-staging"] && args["remove-staging"]) {
      throw new UsageError("--quarantine-staging and --remove-staging exclude each other", invocation.path);
    }
    const { deps, root, heading } = chooseRoot(invocation);
    const result = await withProgress(
      io,
      "what was repaired so far holds; run it again for the rest",
      (options) =>
        repairMailRoot(deps, root, {
          ...options,
          cleanupStaging: !args["no-cleanup-staging"],
          quarantineStaging: !args["remove-staging"],
        }),
    );
    const answer: MailboxRepairAnswer = { ...heading, ...result };
    const { findings } = result;
    return {
      json: answer,
      text: [
        renderPairs([
          ["mailboxes in", root],
          ["messages", result.message_count],
          ["mailboxes", result.registration_count],
          ["of these found by their folder alone", result.restored_registration_count || null],
          ["messages in boxes", result.projection_count],
          ["kept as they were seen", result.restored_state_count],
          ["begun with the flags of new mail", result.defaulted_state_count],
          ["left over by interrupted writes", result.staging_artifact_count],
          ["old index", result.backed_up_index_path],
        ]),
        ...(findings.length > 0
          ? [
              "",
              renderTable(
                ["LOOK AT", "BECAUSE", "NOW IN"],
                findings.map((one) => [
                  one.path,
                  withRemedy(one.problem, toKnownRemedy(one.remedy), io.advise),
                  one.moved_to ?? "(where it was)",
                ]),
              ),
            ]
          : []),
      ].join("\n"),
    };
  },
});

const verify = command({
  name: "verify",
  description:
    "check what each mailbox has signed and sent: that nothing is missing, changed or in another place",
  examples: ["svc-mgr mailbox verify", "svc-mgr mailbox verify --address ann@svc.localhost --json"],
  args: {
    address: {
      type: "string",
      description: "only this mailbox",
      valueHint: "NAME@DOMAIN",
      offers: "addresses",
    },
  },
  async run(invocation) {
    const chosen = chooseRoot(invocation);
    const address = invocation.args.address ?? null;
    const histories = await withMailRoot(chosen, (open) =>
      withProgress(invocation.io, "nothing was changed", (options) =>
        verifyHistories(chosen.deps, open, { ...options, address }),
      ),
    );
    const ok = histories.every(({ broken }) => broken === null);
    const answer: MailboxVerifyAnswer = { ...chosen.heading, ok, histories };
    return { json: answer, text: renderHistories(histories), exitCode: ok ? 0 : 1 };
  },
});

function renderHistories(histories: readonly MailboxHistory[]): string {
  const rows = histories.map(({ address, status, keys, entry_count, cleared_count, broken }) => {
    const cleared = cleared_count === 0 ? "" : ` (${cleared_count} cleared)`;
    return [
      address,
      status,
      `${entry_count}${cleared}`,
      String(keys.length),
      broken ? toPlace(broken) : "holds",
    ];
  });
  return renderTable(["MAILBOX", "STATUS", "SIGNED", "KEYS", "HISTORY"], rows);
}

function toPlace({ sequence, message_id, why }: NonNullable<MailboxHistory["broken"]>): string {
  const place = [sequence === null ? null : `number ${sequence}`, message_id].filter((one) => one !== null);
  return `broken at ${place.join(", ")}: ${why}`;
}

const maxAgeSeconds = 100 * 365 * 86_400;

const cleanup = command({
  name: "cleanup",
  description: "remove mailboxes that are inactive or stashed; never an active one, never mail",
  examples: [
    "svc-mgr mailbox cleanup --dry-run",
    "svc-mgr mailbox cleanup --inactive-older-than-seconds 604800 --yes",
  ],
  args: {
    "inactive-older-than-seconds": {
      type: "string",
      description: "only those inactive for this long",
      default: "0",
      valueHint: "SECONDS",
    },
    "stashed-older-than-seconds": {
      type: "string",
      description: "only those stashed for this long",
      default: "0",
      valueHint: "SECONDS",
    },
    ...dryRunFlag,
    yes: { type: "boolean", description: "do not ask at the terminal" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const seconds = (name: "inactive-older-than-seconds" | "stashed-older-than-seconds") =>
      toWholeNumber(name, args[name], 0, maxAgeSeconds) ?? 0;
    const chosen = chooseRoot(invocation);
    const options = {
      inactiveOlderThanSeconds: seconds("inactive-older-than-seconds"),
      stashedOlderThanSeconds: seconds("stashed-older-than-seconds"),
    };
    const result = await withMailRoot(chosen, async (open) => {
      if (!args["dry-run"] && io.stdinIsTty && !args.yes) {
        const { summary } = await cleanUpMailRoot(chosen.deps, open, { ...options, dryRun: true });
        if (summary.planned_count > 0) {
          await confirmed(io, `Remove ${summary.planned_count} records and folders?`, false);
        }
      }
      return cleanUpMailRoot(chosen.deps, open, { ...options, dryRun: args["dry-run"] });
    });
    return toAnswer(chosen, result);
  },
});

const clearAll = command({
  name: "clear-messages",
  description: "remove all mail of all mailboxes; who is registered stays so",
  examples: ["svc-mgr mailbox clear-messages --dry-run", "svc-mgr mailbox clear-messages --yes"],
  args: clearFlags,
  run: (invocation) => runClear(invocation, null),
});

const clearOne = command({
  name: "clear",
  description: "remove all mail of one mailbox; what another one holds too stays there",
  examples: ["svc-mgr mailbox messages clear --address ann@svc.localhost --dry-run"],
  args: { ...addressFlag, ...clearFlags },
  run: (invocation) => runClear(invocation, invocation.args.address),
});

const exportMail = command({
  name: "export",
  description: "copy mailboxes and their mail into a new folder that needs nothing else",
  examples: [
    "svc-mgr mailbox export --output-dir backup --all-accounts",
    "svc-mgr mailbox export --output-dir ann --address ann@svc.localhost --symlink-mode preserve",
  ],
  args: {
    "output-dir": {
      type: "string",
      required: true,
      description: "a folder that is not there yet",
      valueHint: "DIR",
    },
    "all-accounts": { type: "boolean", description: "every mailbox, the former too" },
    address: {
      type: "string",
      multiple: true,
      description: "only this mailbox",
      valueHint: "NAME@DOMAIN",
      offers: "addresses",
    },
    "symlink-mode": wordFlag(SymlinkMode),
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    if (args["all-accounts"] === args.address.length > 0) {
      throw new UsageError("give exactly one of --all-accounts and --address", path);
    }
    const chosen = chooseRoot(invocation);
    const result = await withMailRoot(chosen, (open) =>
      withProgress(io, "nothing was exported", (options) =>
        exportMailRoot(chosen.deps, open, {
          ...options,
          outputDir: chosen.absolute(args["output-dir"]),
          addresses: args["all-accounts"] ? null : args.address,
          symlinkMode: args["symlink-mode"],
        }),
      ),
    );
    const answer: MailboxExportAnswer = { ...chosen.heading, ...result };
    return {
      json: answer,
      text: renderPairs([
        ["exported to", result.output_dir],
        ["mailboxes", result.account_count],
        ["messages", result.message_count],
        ["attachments", result.attachment_count],
        ["not in it", result.skipped_artifacts.length || null],
        ["blocked", result.blocked_artifacts.length || null],
        ["contents", result.manifest_path],
      ]),
    };
  },
});

export const upkeepCommands = {
  repair,
  verify,
  cleanup,
  "clear-messages": clearAll,
  export: exportMail,
  clear: clearOne,
};

/** Removes mail of one address, or of all where `address` is null. */
async function runClear(invocation: Invocation<typeof clearFlags>, address: string | null): Promise<Answer> {
  const { io } = invocation;
  const { "dry-run": dryRun, yes } = invocation.args;
  const chosen = chooseRoot(invocation);
  const result = await withMailRoot(chosen, async (open) => {
    if (!dryRun) {
      const whose = address === null ? `every mailbox in ${chosen.root}` : address;
      await confirmed(io, `Remove all mail of ${whose} for good?`, yes);
    }
    return withProgress(io, "some messages are removed already; run it again for the rest", (progress) =>
      clearMessages(chosen.deps, open, { address, dryRun, ...progress }),
    );
  });
  return toAnswer(chosen, result);
}

function toAnswer({ heading }: ChosenRoot, result: MaintenanceResult): Answer {
  const { mailbox_root, mailbox_root_detail } = heading;
  const answer: MailboxMaintenanceAnswer = {
    ...heading,
    resolution: { mailbox_root, mailbox_root_detail },
    ...result,
  };
  const exitCode = result.summary.blocked_count > 0 ? 1 : 0;
  return { json: answer, text: renderMaintenance(result), exitCode };
}

/** Further artifacts of one kind are counted, not listed. */
const maxListed = 20;

function renderMaintenance(result: MaintenanceResult): string {
  const done = result.dry_run ? result.planned_actions : result.applied_actions;
  const rows = [
    ...rowsOf(result.dry_run ? "would remove" : "removed", done),
    ...rowsOf("BLOCKED", result.blocked_actions),
    ...rowsOf("kept", result.preserved_actions),
  ];
  const { planned_count, applied_count, blocked_count, preserved_count } = result.summary;
  const last = result.dry_run
    ? `Nothing was changed. Would remove ${planned_count}, blocked ${blocked_count}, keep ${preserved_count}.`
    : `Removed ${applied_count} of ${planned_count}, blocked ${blocked_count}, kept ${preserved_count}.`;
  return rows.length === 0 ? last : `${renderTable(["", "WHAT", "WHERE", "WHY"], rows)}\n\n${last}`;
}

function rowsOf(word: string, actions: readonly MaintenanceAction[]): string[][] {
  const kinds = Map.groupBy(actions, (action) => action.artifact_kind);
  return [...kinds].flatMap(([kind, some]) => {
    const what = kind.replaceAll("_", " ");
    const rows = some
      .slice(0, maxListed)
      .map((one) => [word, what, String(one.details["address"] ?? one.path), one.reason]);
    const more = some.length - rows.length;
    return more > 0 ? [...rows, [word, what, `and ${more} more`, ""]] : rows;
  });
}
