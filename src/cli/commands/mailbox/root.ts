import { resolve } from "node:path";
import { toServiceError } from "../../../services/mail/filesystem/carrier-fault.ts";
import {
  initMailRoot,
  type MailRoot,
  type MailRootDeps,
  openMailRoot,
} from "../../../services/mail/filesystem/root.ts";
import { createSystem } from "../../../system/system.ts";
import type { Flags, Invocation } from "../../command.ts";
import { meantMailboxFolder } from "../../mailbox-folder.ts";
import { trustingSystem } from "../../trusting-system.ts";

/** The flag of all `svc-mgr mailbox` commands. */
export const mailboxRootFlags = {
  "mailbox-root": {
    type: "string",
    description: "folder of the mailboxes; default: SVC_GLOBAL_MAILBOX_DIR, else the project's .svc/mailbox",
    valueHint: "DIR",
  },
} satisfies Flags;

/** The root that a command line means, and what every answer about it begins with. */
export interface MeantRoot {
  deps: MailRootDeps;
  root: string;
  /** First keys of the `--json` document. */
  heading: { schema_version: 1; mailbox_root: string; mailbox_root_detail: string };
  /** A path of the command line, from the folder where it was typed. */
  absolute(path: string): string;
}

type Asked = Pick<Invocation, "inherited" | "io">;

/** `creates`: the command is about to write, so the overlay that the root stands in is made when it is missing. */
export function meantRoot({ inherited, io }: Asked, options: { creates: boolean }): MeantRoot {
  const { system: deps, overlays } = trustingSystem(io, createSystem());
  const flag = inherited["mailbox-root"];
  const { files } = deps;
  const { mailboxRoot, detail } = meantMailboxFolder({ files, overlays }, io, { flag, ...options });
  return {
    deps,
    root: mailboxRoot,
    heading: { schema_version: 1, mailbox_root: mailboxRoot, mailbox_root_detail: detail },
    absolute: (path) => resolve(io.cwd, path),
  };
}

/** Opens the root for the time of `work`, whose faults of files come back with what to do about them. With `init` it is made first where it is not there. */
export async function withMailRoot<T>(
  { deps, root }: MeantRoot,
  work: (open: MailRoot) => T | Promise<T>,
  options: { init?: boolean } = {},
): Promise<T> {
  if (options.init) initMailRoot(deps, root);
  const open = openMailRoot(deps, root);
  try {
    return await work(open);
  } catch (error) {
    throw toServiceError(error);
  } finally {
    open.close();
  }
}
