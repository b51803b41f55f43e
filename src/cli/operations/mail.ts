import type { MailMessage } from "../../protocol/mail.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { personAddress, personMailbox, shown } from "../../services/mail/address.ts";
import { openMailRoot } from "../../services/mail/filesystem/root.ts";
import { rootPaths } from "../../services/mail/filesystem/root-paths.ts";
import { findSelf } from "../../services/sessions/find.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import type { Caller, Candidate, CliIo } from "../command-line/command.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { agentCommand } from "../command-line/remedies.ts";
import { performMail } from "../mail/agent-mail.ts";
import { type MailTarget, mailAt, mailOf, makeMailRoot } from "../mail/agent-mailbox.ts";
import { chooseMailboxFolder, prepareMailboxFolder } from "../mail/mailbox-root.ts";
import { outcomeOf } from "./outcome.ts";

/** Which mailbox a command line names. */
export interface MailboxChoice {
  /** Must be there then. */
  address?: string | undefined;
  /** Its folder of mailboxes. */
  root?: string | undefined;
}

/** The mailbox of who types a command: of the agent in whose session it runs, else of a person. */
export interface OwnMailbox {
  context: CliContext;
  address: string;
  /** Undefined for one of a mail server. */
  root: string | undefined;
  isAgent: boolean;
  /** Makes that of a person where it is missing. Doing it again changes nothing. */
  open(): Promise<MailTarget>;
}

/**
 * By the address that is given, else that of SVC_MAIL_FROM, of the agent in whose session this runs, or of
 * USER. Makes nothing before it is opened.
 */
export async function findOwnMailbox({ io, inherited }: Caller, given: MailboxChoice): Promise<OwnMailbox> {
  const context = openCliContext(io, inherited);
  const named = given.address ?? (io.env["SVC_MAIL_FROM"] || undefined);
  const self = named === undefined ? await findAgent(context, io.env) : null;
  if (self !== null) {
    const target = { context, agent: self, commandPrefix: agentCommand("self"), advise: io.advise };
    const { address = "", filesystem_root: root } = self.manifest.launch_plan.mailbox ?? {};
    return { context, address, root, isAgent: true, open: async () => mailOf(target, io) };
  }
  const address = named ?? personAddress(io.env["USER"] || io.env["LOGNAME"] || "person");
  const at = (mailboxRoot: string) => mailAt(context, io, { mailboxRoot, address });
  const known = readRoot(context, io, given.root);
  return {
    context,
    address,
    root: known,
    isAgent: false,
    async open() {
      if (given.address !== undefined) return at(chooseMailboxFolder(context, io, given.root).mailboxRoot);
      if (known !== undefined && holdsPerson(context, known, address)) return at(known);
      return at(await makePersonMailbox(context, io, { address, rootFlag: given.root }));
    },
  };
}

async function findAgent(context: CliContext, env: CliIo["env"]) {
  const { files, registry, paneTmux: tmux, clock } = context;
  return findSelf({ files, registry, tmux, env, nowMs: clock.nowMs() }).catch(() => null);
}

/** Undefined for one that is refused; while another process makes it, it is. */
function readRoot(context: CliContext, io: CliIo, flag: string | undefined): string | undefined {
  try {
    return chooseMailboxFolder(context, io, flag).mailboxRoot;
  } catch {
    return undefined;
  }
}

function holdsPerson(context: CliContext, path: string, address: string): boolean {
  // Written last: without it another process may still be making the root, whose index is empty at first.
  if (!context.files.exists(rootPaths(path).protocolVersion)) return false;
  const root = openMailRoot(context, path);
  try {
    const active = root.registrations.active(address);
    return active !== null && active.manifest_path_hint === null;
  } finally {
    root.close();
  }
}

/** Returns its root. Throws `conflict` where the address is that of an agent. */
async function makePersonMailbox(
  context: CliContext,
  io: CliIo,
  { address, rootFlag }: { address: string; rootFlag: string | undefined },
): Promise<string> {
  const { mailboxRoot } = await prepareMailboxFolder(context, io, rootFlag);
  const root = makeMailRoot(context, mailboxRoot);
  try {
    root.registrations.register({ ...personMailbox(address), mode: "safe" });
    return mailboxRoot;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== "conflict") throw error;
    const detail = `${address} belongs to somebody else in ${mailboxRoot}: name yours with SVC_MAIL_FROM=ADDRESS`;
    throw new ServiceError("conflict", detail, { cause: error });
  } finally {
    root.close();
  }
}

/** Unread mail of the same person in another folder of mailboxes. */
interface MailElsewhere {
  mailbox_root: string;
  unread_count: number;
}

/** What is in the inbox, newest first: what is unread, or all that is not archived. */
export async function listInbox(mailbox: OwnMailbox, { isAll }: { isAll: boolean }) {
  const { done } = await performMail(await mailbox.open(), "list", { schema_version: 1, box: "inbox" });
  const messages = isAll ? done.messages : done.messages.filter(({ unread }) => unread);
  const elsewhere = mailbox.isAgent ? [] : await findElsewhere(mailbox);
  return { ...done, message_count: messages.length, messages, elsewhere };
}

async function findElsewhere({ context, address, root }: OwnMailbox): Promise<MailElsewhere[]> {
  const own = root === undefined ? null : (context.files.realPath(root) ?? root);
  const counts = new Map<string, number>();
  // What cannot be read is named by `svc doctor`.
  for (const one of await openPeopleMail(context, () => {}).unread()) {
    if (one.address === address && one.root !== own) counts.set(one.root, (counts.get(one.root) ?? 0) + 1);
  }
  return [...counts].map(([mailbox_root, unread_count]) => ({ mailbox_root, unread_count }));
}

/** Throws `not_found` with the command that shows which numbers there are. */
export async function readOwnMessage(mailbox: OwnMailbox, message: string) {
  const { done } = await ofMessage(message, async () =>
    performMail(await mailbox.open(), "read", { schema_version: 1, message_ref: message }),
  );
  return done;
}

/** The same. The message counts as read and answered then. */
export async function replyToMessage(mailbox: OwnMailbox, message: string, text: string) {
  const request = { schema_version: 1 as const, message_ref: message, body_content: text };
  const { done } = await ofMessage(message, async () => performMail(await mailbox.open(), "reply", request));
  return done;
}

/** Archives messages. One that is refused keeps no other from it. */
export async function archiveMessages(mailbox: OwnMailbox, words: readonly string[], advise: Advise) {
  const target = await mailbox.open();
  const archived: MailMessage[] = [];
  const refused: { message: string; detail: string }[] = [];
  for (const message of words) {
    const request = { schema_version: 1 as const, message_refs: [message] };
    const outcome = await outcomeOf(
      () => ofMessage(message, () => performMail(target, "archive", request)),
      advise,
    );
    if (outcome.ok) archived.push(...outcome.value.done.messages);
    else refused.push({ message, detail: outcome.detail });
  }
  return { schema_version: 1, address: mailbox.address, archived, refused };
}

async function ofMessage<T>(message: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== "not_found") throw error;
    const detail = `this mailbox holds no message ${shown(message)}; see which it has with: svc inbox --all`;
    throw new ServiceError("not_found", detail, { cause: error });
  }
}

/** Numbers of what is in the inbox, for a shell. Makes nothing. */
export async function listNumbers(caller: Caller, given: MailboxChoice): Promise<Candidate[]> {
  const mailbox = await findOwnMailbox(caller, given);
  const { context, address, root, isAgent } = mailbox;
  if (!isAgent && (root === undefined || !holdsPerson(context, root, address))) return [];
  const request = { schema_version: 1 as const, box: "inbox", limit: maxOffered };
  const { done } = await performMail(await mailbox.open(), "list", request);
  return done.messages.map(({ number, message_ref, sender, subject }) => ({
    value: number === undefined ? message_ref : String(number),
    description: visibleLine(`${sender.address}: ${subject}`),
  }));
}

const maxOffered = 50;
