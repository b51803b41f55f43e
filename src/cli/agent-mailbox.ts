import type { Manifest } from "../protocol/files.ts";
import { type Registered, type RegisterWish, registerMailbox } from "../services/mail/binding-register.ts";
import { initMailRoot, openMailRoot } from "../services/mail/filesystem/root.ts";
import { isSkillInstalled } from "../services/notifier/skill.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { ownHomes, skillTools } from "../services/skills/ownership.ts";
import { quoteShell } from "../services/terminal/shell-word.ts";
import { messageOf, ServiceError } from "../system/errors.ts";
import type { Files } from "../system/files.ts";
import type { CliContext } from "./cli-context.ts";
import type { Answer, CliIo } from "./command.ts";
import { exitCodes } from "./dispatch.ts";
import { chooseMailboxFolder } from "./mailbox-root.ts";

/**
 * Registers a mailbox for an agent below the root that `flag`, the environment or the project names; the root is
 * made when it is not there (contract 4.5). Returns what named it, too.
 */
export async function giveMailbox(
  context: CliContext,
  io: Pick<CliIo, "cwd" | "env" | "home">,
  agent: FoundAgent,
  wish: RegisterWish & { rootFlag: string | undefined },
): Promise<Registered & { rootDetail: string }> {
  const { mailboxRoot, detail } = chooseMailboxFolder(context, io, { flag: wish.rootFlag, creates: true });
  const status = initMailRoot(context, mailboxRoot);
  if (status.error !== null) {
    throw new ServiceError("precondition_failed", `the mailbox root ${mailboxRoot}: ${status.error}`);
  }
  const root = openMailRoot(context, mailboxRoot);
  try {
    return { ...(await registerMailbox(context, agent, root, wish)), rootDetail: detail };
  } finally {
    root.close();
  }
}

type MailboxAtLaunch = { address: string; root: string; skillHint: string | null } | { error: string };

/** The same for an agent that was launched a moment ago; it runs on when it cannot be given one. */
export async function giveMailboxAtLaunch(
  context: CliContext,
  io: Pick<CliIo, "cwd" | "env" | "home">,
  agent: FoundAgent,
  rootFlag: string | undefined,
): Promise<MailboxAtLaunch> {
  try {
    const { binding } = await giveMailbox(context, io, agent, { rootFlag, mode: "safe" });
    const hint = skillHint(context.files, agent.manifest, io);
    return { address: binding.address, root: binding.filesystem_root ?? "", skillHint: hint };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** The answer of a launch with what became of the mailbox; exit 2 when the agent runs without the one it should have. Pure. */
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
 * The command that installs the mail-round skill for a session's tool; null when it is installed or the tool has no
 * skills. Every tool reads the skills of the project folder, whatever its home.
 */
export function skillHint(
  files: Pick<Files, "exists">,
  manifest: Manifest,
  io: Pick<CliIo, "env" | "home" | "cwd">,
): string | null {
  const { tool, working_directory: cwd, launch_plan } = manifest;
  const known = skillTools.find((one) => one === tool);
  if (known === undefined || isSkillInstalled(files, manifest, io.env)) return null;
  const project = ownHomes(known, { env: {}, cwd, home: io.home })[1] ?? cwd;
  const usual = cwd === io.cwd && launch_plan.home_selector.home_path === null;
  const there = usual ? "" : ` --home ${quoteShell(project)}`;
  return `svc-mgr system-skills install --tool ${known}${there}`;
}
