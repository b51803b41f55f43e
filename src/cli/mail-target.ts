import type { MailboxBinding } from "../protocol/files.ts";
import { bindingOf } from "../services/mail/binding.ts";
import { bindingOfAddress } from "../services/mail/binding-register.ts";
import { openMailRoot } from "../services/mail/filesystem/root.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { readManifest } from "../services/sessions/manifest.ts";
import { type CliContext, openCliContext } from "./cli-context.ts";
import { type CliIo, type Invocation, UsageError } from "./command.ts";
import { chooseMailboxFolder } from "./mailbox-root.ts";
import { warn } from "./narrate.ts";
import { openTarget, type Target } from "./target.ts";

/** Whose mail a command is about. */
export interface MailTarget {
  context: CliContext;
  /** How it is named on a command line, for the hints we print. */
  commandPrefix: string;
  /** Null for a mailbox that was named by its address alone. */
  agent: FoundAgent | null;
  /** Throws the refusal when there is no usable mailbox. */
  readBinding: () => MailboxBinding;
  /** For what needs attention and does not stop the command. */
  warn: (text: string) => void;
}

/** The agent of `agents single|self ... mail`, or the mailbox of `mail --address`, which needs no agent. */
export async function openMailTarget(invocation: Invocation<never> | Invocation): Promise<MailTarget> {
  if (!invocation.path.includes("agents")) return byAddress(invocation);
  return mailOf(await openTarget(invocation), invocation.io);
}

/** The mail of an agent. */
export function mailOf(
  { context, agent, commandPrefix }: Target,
  io: CliIo,
): MailTarget & { agent: FoundAgent } {
  const readBinding = () => bindingOf(() => readManifest(context.files, agent.manifestPath));
  return { context, agent, commandPrefix, readBinding, warn: (text) => void warn(io, text) };
}

function byAddress({ inherited, path, io }: Invocation<never> | Invocation): MailTarget {
  const { address, "mailbox-root": flag } = inherited;
  if (typeof address !== "string") throw new UsageError("say whose mailbox with --address", path);
  const context = openCliContext(io, inherited);
  const { mailboxRoot } = chooseMailboxFolder(context, io, { flag, creates: false });
  return {
    context,
    agent: null,
    warn: (text) => void warn(io, text),
    commandPrefix: `svc-mgr mail --address ${address}`,
    readBinding() {
      const root = openMailRoot(context, mailboxRoot);
      try {
        return bindingOfAddress(root, address);
      } finally {
        root.close();
      }
    },
  };
}
