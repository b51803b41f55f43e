import { join } from "node:path";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { visibleLine } from "../../system/visible.ts";
import { judgeOverlay, type Overlays, type ProjectOverlay, prepareOverlay } from "../sessions/overlays.ts";
import { type Environment, overlayName, planRoots } from "../sessions/roots.ts";
import { refuseExposed } from "../sessions/trust.ts";

/** Which mailbox root is used, and why; `mailboxRoot` is absolute and need not exist. */
export interface MailboxRootChoice {
  mailboxRoot: string;
  source: "flag" | "environment" | "overlay" | "new_overlay";
  /** One sentence for people: what named this root. */
  detail: string;
}

interface MailboxRootFacts {
  overlays: Overlays;
  flag: string | undefined;
  env: Environment;
  home: string;
  workdir: string;
}

interface Planned extends MailboxRootChoice {
  /** Set when the root lies in it. */
  overlay: Pick<ProjectOverlay, "path" | "named"> | null;
}

/**
 * The root by precedence: flag, `SVC_GLOBAL_MAILBOX_DIR`, the `mailbox` folder of the project overlay, else
 * that of a new overlay in `workdir`. Nothing is created. `flag` and `workdir` are absolute. Throws
 * ServiceError `invalid_request` for a relative value, `precondition_failed` for a root that another user
 * could change and for an overlay that is not used. Source: contract 4.5, rulings 21 and 31.
 */
export function chooseMailboxRoot(files: Files, facts: MailboxRootFacts): MailboxRootChoice {
  const { overlay: _overlay, ...choice } = plan(files, facts);
  return choice;
}

function plan(files: Files, { overlays, flag, env, home, workdir }: MailboxRootFacts): Planned {
  const overlay = judgeOverlay(files, overlays, env, workdir);
  const path = overlay?.path ?? null;
  const { mailboxRoot } = planRoots({ flags: { mailboxRoot: flag }, env, home, overlay: path });
  const named = flag !== undefined ? "flag" : env["SVC_GLOBAL_MAILBOX_DIR"] ? "environment" : null;
  if (mailboxRoot !== null && named !== null) {
    refuseExposed(files, mailboxRoot, `the mailbox root ${mailboxRoot}`);
    const by = named === "flag" ? "--mailbox-root" : "SVC_GLOBAL_MAILBOX_DIR";
    return { mailboxRoot, source: named, detail: `named by ${by}`, overlay: null };
  }
  if (overlay === null || mailboxRoot === null) {
    const folder = join(workdir, overlayName);
    return {
      mailboxRoot: join(folder, "mailbox"),
      source: "new_overlay",
      detail: `no root was named and no project overlay found: the new overlay ${visibleLine(folder)}`,
      overlay: { path: folder, named: false },
    };
  }
  if (overlay.refusal !== null) {
    throw new ServiceError(
      "precondition_failed",
      `the mailbox root ${visibleLine(mailboxRoot)} is refused: ${overlay.refusal}. Or name another root with --mailbox-root`,
    );
  }
  return {
    mailboxRoot,
    source: "overlay",
    detail: `in the project overlay ${visibleLine(overlay.path)}`,
    overlay,
  };
}

/**
 * The same, and the overlay that it lies in is there afterwards, as `prepareOverlay`. For what is about to
 * write; the root itself is made when it is first opened.
 */
export function prepareMailboxRoot(files: Files, facts: MailboxRootFacts): MailboxRootChoice {
  const { overlay, ...choice } = plan(files, facts);
  if (overlay) prepareOverlay(files, facts.overlays, overlay);
  return choice;
}
