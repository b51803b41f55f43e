import type { MailboxBinding, Manifest } from "../../protocol/files.ts";
import { bindingOf } from "../../services/mail/binding.ts";
import {
  bindingOfAddress,
  type Registered,
  type RegisterWish,
  registerMailbox,
} from "../../services/mail/binding-register.ts";
import {
  initMailRoot,
  type MailRoot,
  type MailRootDeps,
  openMailRoot,
} from "../../services/mail/filesystem/root.ts";
import { isSkillInstalled } from "../../services/notifier/render.ts";
import type { FoundAgent } from "../../services/sessions/find.ts";
import { readManifest } from "../../services/sessions/manifest.ts";
import { ownHomes, skillTools } from "../../services/skills/ownership.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { quoteShell, shellWord } from "../../system/shell-word.ts";
import { openTarget, type Target } from "../agent/target.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type Answer, type CliIo, type CommandCaller, UsageError } from "../command-line/command.ts";
import { describeFailure, exitCodes } from "../command-line/dispatch.ts";
import { warn } from "../command-line/narrate.ts";
import { chooseMailboxFolder, prepareMailboxFolder } from "./mailbox-root.ts";

/**
 * Registers a mailbox for an agent below the root that `flag`, the environment or the project names; the root
 * is made when it is not there (contract 4.5). Returns what named it, too.
 */
export async function giveMailbox(
  context: CliContext,
  io: Pick<CliIo, "cwd" | "env" | "home">,
  agent: FoundAgent,
  wish: RegisterWish & { rootFlag: string | undefined },
): Promise<Registered & { rootDetail: string }> {
  const { mailboxRoot, detail } = await prepareMailboxFolder(context, io, wish.rootFlag);
  const root = makeMailRoot(context, mailboxRoot);
  try {
    return { ...(await registerMailbox(context, agent, root, wish)), rootDetail: detail };
  } finally {
    root.close();
  }
}

/** Opens a root that is made first where it is missing. Throws `precondition_failed`. */
export function makeMailRoot(deps: MailRootDeps, path: string): MailRoot {
  const status = initMailRoot(deps, path);
  if (status.error === null) return openMailRoot(deps, path);
  throw new ServiceError("precondition_failed", `the mailbox root ${path}: ${status.error}`, {
    data: { remedy: status.remedy },
  });
}

export type MailboxAtLaunch = { address: string; root: string; skillHint: string | null } | { error: string };

/** The same for an agent that was launched a moment ago; it runs on when it cannot be given one. */
export async function giveMailboxAtLaunch(
  context: CliContext,
  io: Pick<CliIo, "cwd" | "env" | "home" | "program" | "advise">,
  agent: FoundAgent,
  rootFlag: string | undefined,
): Promise<MailboxAtLaunch> {
  try {
    const { binding } = await giveMailbox(context, io, agent, { rootFlag, mode: "safe" });
    const hint = skillHint(context.files, agent.manifest, io);
    return { address: binding.address, root: binding.filesystem_root ?? "", skillHint: hint };
  } catch (error) {
    return { error: describeFailure(error, io.advise).detail };
  }
}

/**
 * The answer of a launch with the state of the mailbox; exit 2 when the agent runs without the mailbox it was
 * launched with. Pure.
 */
export function withMailbox(answer: Answer, mailbox: MailboxAtLaunch | null): Answer {
  if (mailbox === null) return answer;
  const json = answer.json as object;
  if ("error" in mailbox) {
    return {
      json: { ...json, mailbox_error: mailbox.error },
      text: `${answer.text}\nit has no mailbox: ${mailbox.error}`,
      exitCode: exitCodes.usage,
    };
  }
  const { address, root, skillHint: hint } = mailbox;
  return {
    ...answer,
    json: { ...json, mailbox_address: address, mailbox_root: root, ...(hint ? { skill_hint: hint } : {}) },
    text: `${answer.text}\nits mailbox is ${address}${hint ? `\n  teach it to work its mail: ${hint}` : ""}`,
  };
}

/**
 * The command that installs the mail-round skill for a session's tool; null when it is installed or the tool
 * has no skills. Every tool reads the skills of the project folder, whatever its home.
 */
export function skillHint(
  files: Pick<Files, "exists">,
  manifest: Manifest,
  io: Pick<CliIo, "env" | "home" | "cwd" | "program">,
): string | null {
  const { tool, working_directory: cwd, launch_plan } = manifest;
  const known = skillTools.find((one) => one === tool);
  if (known === undefined || isSkillInstalled(files, manifest, io.env)) return null;
  const project = ownHomes(known, { env: {}, cwd, home: io.home })[1] ?? cwd;
  const usual = cwd === io.cwd && launch_plan.home_selector.home_path === null;
  const there = usual ? "" : ` --home ${quoteShell(project)}`;
  return `${io.program} system-skills install --tool ${known}${there}`;
}

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
export async function openMailTarget(caller: CommandCaller): Promise<MailTarget> {
  if (caller.whom === undefined && !caller.path.includes("agents")) return byAddress(caller);
  return mailOf(await openTarget(caller), caller.io);
}

/** The mail of an agent. */
export function mailOf(
  { context, agent, commandPrefix }: Target,
  io: CliIo,
): MailTarget & { agent: FoundAgent } {
  const readBinding = () => bindingOf(() => readManifest(context.files, agent.manifestPath));
  return { context, agent, commandPrefix, readBinding, warn: (text) => void warn(io, text) };
}

function byAddress({ inherited, path, io }: CommandCaller): MailTarget {
  const { address, "mailbox-root": flag } = inherited;
  if (typeof address !== "string") throw new UsageError("say whose mailbox with --address", path);
  const context = openCliContext(io, inherited);
  const { mailboxRoot } = chooseMailboxFolder(context, io, flag);
  return mailAt(context, io, { mailboxRoot, address });
}

/** The mailbox of an address below a root, which is opened when it is used. */
export function mailAt(
  context: CliContext,
  io: CliIo,
  { mailboxRoot, address }: { mailboxRoot: string; address: string },
): MailTarget {
  return {
    context,
    agent: null,
    warn: (text) => void warn(io, text),
    commandPrefix: `svc-mgr mail --address ${shellWord(address)}`,
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

/** An agent's mailbox under the name that a caller said. */
export interface NamedBinding {
  name: string;
  binding: MailboxBinding;
}

/**
 * An address counts in one mailbox root: in the sender's it may be nobody's, or that of another agent of this
 * name. `root`: the sender's; undefined for one of a mail server.
 */
export function refuseOtherRoot(
  { files }: Pick<CliContext, "files">,
  { name, binding }: NamedBinding,
  { root, address, isAgent }: { root: string | undefined; address: string; isAgent: boolean },
): void {
  const own = binding.filesystem_root;
  if (own === undefined || root === undefined || files.realPath(own) === files.realPath(root)) return;
  const refused = (advice: string) =>
    new ServiceError("precondition_failed", `the mailbox of "${name}" is in ${own}, and ${advice}`);
  if (isAgent) throw refused(`yours is in ${root}: mail does not go from one to the other`);
  const send = `svc-mgr mail send --mailbox-root ${shellWord(own)} --address ${address} --to ${binding.address} --subject SUBJECT`;
  throw refused(
    `mail from this folder goes through ${root}. Send it from a folder that uses ${own}, or with: ${send}`,
  );
}
