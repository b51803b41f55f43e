import { dirname, resolve } from "node:path";
import { toServiceError } from "../../services/mail/filesystem/delivery/carrier-fault.ts";
import {
  initMailRoot,
  type MailRoot,
  type MailRootDeps,
  openMailRoot,
} from "../../services/mail/filesystem/root.ts";
import {
  chooseMailboxRoot,
  type MailboxRootChoice,
  prepareMailboxRoot,
} from "../../services/mail/mailbox-root.ts";
import type { Overlays } from "../../services/sessions/overlays.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { createSystem } from "../../system/system.ts";
import { trustingSystem } from "../command-line/cli-context.ts";
import type { Caller, CliIo } from "../command-line/command.ts";

/**
 * The mailbox root of a command line, as `chooseMailboxRoot`. `flag` is relative to the working directory.
 * Throws `invalid_request` when a file blocks the path.
 */
export function chooseMailboxFolder(
  deps: { files: Files; overlays: Overlays },
  io: Pick<CliIo, "env" | "home" | "cwd">,
  flag: unknown,
): MailboxRootChoice {
  const { files } = deps;
  const choice = chooseMailboxRoot(files, toFacts(deps, io, flag));
  const { mailboxRoot, detail } = choice;
  const file = blockingFile(files, mailboxRoot);
  if (file !== null) {
    throw new ServiceError(
      "invalid_request",
      `the mailbox root ${mailboxRoot} (${detail}) cannot be a folder: ${file} is a file. Name another one with --mailbox-root`,
    );
  }
  return choice;
}

/**
 * The same as `prepareMailboxRoot`, for what is about to write. The root of a project is made in one process
 * after the other: half of an overlay is refused, and half of a root is damaged.
 */
export async function prepareMailboxFolder(
  deps: MailRootDeps & { overlays: Overlays },
  io: Pick<CliIo, "env" | "home" | "cwd">,
  flag: unknown,
): Promise<MailboxRootChoice> {
  const prepare = () => {
    chooseMailboxFolder(deps, io, flag);
    return prepareMailboxRoot(deps.files, toFacts(deps, io, flag));
  };
  const isNamed = typeof flag === "string" || Boolean(io.env["SVC_GLOBAL_MAILBOX_DIR"]);
  if (isNamed) return prepare();
  return deps.overlays.exclusively(() => {
    const choice = prepare();
    initMailRoot(deps, choice.mailboxRoot);
    return choice;
  });
}

function toFacts(
  { overlays }: { overlays: Overlays },
  { env, home, cwd }: Pick<CliIo, "env" | "home" | "cwd">,
  flag: unknown,
) {
  const named = typeof flag === "string" ? resolve(cwd, flag) : undefined;
  return { overlays, flag: named, env, home, workdir: cwd };
}

/** The nearest existing path at or above `path`, when it is not a folder. */
function blockingFile(files: Pick<Files, "stat">, path: string): string | null {
  const found = files.stat(path);
  if (found) return found.directory ? null : path;
  const above = dirname(path);
  return above === path ? null : blockingFile(files, above);
}

/** The mailbox root of a command line. */
export interface ChosenRoot {
  deps: MailRootDeps;
  root: string;
  /** The first keys of each `--json` document. */
  heading: { schema_version: 1; mailbox_root: string; mailbox_root_detail: string };
  /** A path of the command line, relative to the working directory. */
  absolute(path: string): string;
}

export function chooseRoot({ inherited, io }: Caller): ChosenRoot {
  const { system: deps, overlays } = trustingSystem(io, createSystem());
  return toChosen(deps, io, chooseMailboxFolder({ ...deps, overlays }, io, inherited["mailbox-root"]));
}

/** The same for a command that writes: the overlay of the root is created when it is missing. */
export async function prepareRoot({ inherited, io }: Caller): Promise<ChosenRoot> {
  const { system: deps, overlays } = trustingSystem(io, createSystem());
  return toChosen(deps, io, await prepareMailboxFolder({ ...deps, overlays }, io, inherited["mailbox-root"]));
}

function toChosen(
  deps: MailRootDeps,
  io: Pick<CliIo, "cwd">,
  { mailboxRoot, detail }: MailboxRootChoice,
): ChosenRoot {
  return {
    deps,
    root: mailboxRoot,
    heading: { schema_version: 1, mailbox_root: mailboxRoot, mailbox_root_detail: detail },
    absolute: (path) => resolve(io.cwd, path),
  };
}

/**
 * Opens the root while `work` runs; file errors get a hint how to mend them. `init` creates a missing root
 * first.
 */
export async function withMailRoot<T>(
  { deps, root }: ChosenRoot,
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
