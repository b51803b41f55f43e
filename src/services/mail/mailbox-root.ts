import { dirname, join } from "node:path";
import type { Files } from "../../system/files.ts";
import { type Environment, findOverlay, planRoots } from "../sessions/roots.ts";

/** Which mailbox root is meant, and why; `mailboxRoot` is absolute and need not exist. */
export interface MailboxRootChoice {
  mailboxRoot: string;
  source: "flag" | "environment" | "overlay" | "new_overlay";
  /** One sentence for people: what named this root. */
  detail: string;
}

/**
 * The root by precedence: flag, `SVC_GLOBAL_MAILBOX_DIR`, the `mailbox` folder of the project overlay, else that of
 * a new overlay in `workdir`. Pure beside the look for an overlay: nothing is created. `flag` and `workdir` are
 * absolute. Throws ServiceError `invalid_request` for a relative value.
 * Source: contract 4.5, ruling 21.
 */
export function chooseMailboxRoot(
  files: Files,
  facts: { flag: string | undefined; env: Environment; home: string; workdir: string },
): MailboxRootChoice {
  const { flag, env, home, workdir } = facts;
  const overlay = findOverlay(files, env, workdir);
  const { mailboxRoot } = planRoots({ flags: { mailboxRoot: flag }, env, home, overlay });
  if (mailboxRoot === null) {
    const folder = join(workdir, ".svc");
    return {
      mailboxRoot: join(folder, "mailbox"),
      source: "new_overlay",
      detail: `no root was named and no project overlay found: the new overlay ${folder}`,
    };
  }
  if (flag !== undefined) return { mailboxRoot, source: "flag", detail: "named by --mailbox-root" };
  if (env["SVC_GLOBAL_MAILBOX_DIR"]) {
    return { mailboxRoot, source: "environment", detail: "named by SVC_GLOBAL_MAILBOX_DIR" };
  }
  return { mailboxRoot, source: "overlay", detail: `in the project overlay ${dirname(mailboxRoot)}` };
}

/**
 * The same, and the overlay that it stands in is there afterwards, with a `.gitignore` that keeps all of it out of
 * version control. For what is about to write; the root itself is made by whoever opens it.
 */
export function prepareMailboxRoot(
  files: Files,
  facts: { flag: string | undefined; env: Environment; home: string; workdir: string },
): MailboxRootChoice {
  const choice = chooseMailboxRoot(files, facts);
  if (choice.source === "overlay" || choice.source === "new_overlay") {
    const overlay = dirname(choice.mailboxRoot);
    const ignore = join(overlay, ".gitignore");
    files.ensureDirectory("file:overlay", overlay);
    if (!files.exists(ignore)) files.write("file:overlay.gitignore", ignore, "*\n");
  }
  return choice;
}
