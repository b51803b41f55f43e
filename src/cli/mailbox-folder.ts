import { dirname, resolve } from "node:path";
import {
  chooseMailboxRoot,
  type MailboxRootChoice,
  prepareMailboxRoot,
} from "../services/mail/mailbox-root.ts";
import type { Overlays } from "../services/sessions/overlays.ts";
import { ServiceError } from "../system/errors.ts";
import type { Files } from "../system/files.ts";
import type { CliIo } from "./command.ts";

/**
 * The mailbox root that a command line means, as `chooseMailboxRoot`; with `creates` as `prepareMailboxRoot`. `flag`
 * counts from the working directory. Throws `invalid_request` where a file is in its way.
 */
export function meantMailboxFolder(
  { files, overlays }: { files: Files; overlays: Overlays },
  { env, home, cwd }: Pick<CliIo, "env" | "home" | "cwd">,
  { flag, creates }: { flag: unknown; creates: boolean },
): MailboxRootChoice {
  const named = typeof flag === "string" ? resolve(cwd, flag) : undefined;
  const facts = { overlays, flag: named, env, home, workdir: cwd };
  const choice = chooseMailboxRoot(files, facts);
  const { mailboxRoot, detail } = choice;
  const file = fileInTheWay(files, mailboxRoot);
  if (file !== null) {
    throw new ServiceError(
      "invalid_request",
      `the mailbox root ${mailboxRoot} (${detail}) cannot be a folder: ${file} is a file. Name another one with --mailbox-root`,
    );
  }
  return creates ? prepareMailboxRoot(files, facts) : choice;
}

/** The nearest of `path` and the folders above it that exists, when it is no folder. */
function fileInTheWay(files: Pick<Files, "stat">, path: string): string | null {
  const found = files.stat(path);
  if (found) return found.directory ? null : path;
  const above = dirname(path);
  return above === path ? null : fileInTheWay(files, above);
}
