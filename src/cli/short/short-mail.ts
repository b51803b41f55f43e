import type { MailboxBinding, RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { ServiceError } from "../../system/errors.ts";
import { shellWord } from "../../system/shell-word.ts";
import { visibleLine } from "../../system/visible.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import {
  type Answer,
  type Caller,
  type Candidate,
  type CommandCaller,
  command,
  type Flags,
  type Invocation,
  UsageError,
} from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";
import { readStdin, wordsOf } from "../command-line/flag-values.ts";
import { mailboxRootFlag, nameOnly, textOf } from "../command-line/shared-flags.ts";
import type { NamedBinding } from "../mail/agent-mailbox.ts";
import { findMembers } from "./several-agents.ts";

const textFlag = {
  ...textOf("the text, as Markdown; without it, or as -, standard input is read"),
  verbatim: true,
} as const;

/** The text that was given as words, else standard input. Throws UsageError when there is none. */
async function readText(text: string | undefined, { io, path }: CommandCaller): Promise<string> {
  if (text !== undefined && text !== "-") return text;
  const how = "give the text as words or on standard input";
  if (io.stdinIsTty) throw new UsageError(how, path);
  const read = await readStdin(io);
  if (read.trim() === "") throw new UsageError(`standard input is empty: ${how}`, path);
  return read;
}

export const mail = command({
  name: "mail",
  description:
    "send mail to the agent, or as @NAME to a group or person of svc.yaml: from the agent in whose session this runs, else from a person's mailbox",
  examples: [
    'svc mail worker "the build is red" please look at it',
    'svc mail worker "the log" < build.log',
    'svc mail @reviewers "please review" the last commit',
  ],
  args: {
    ...nameOnly,
    subject: { type: "positional", description: "one line" },
    text: textOf(textFlag.description),
    from: {
      type: "string",
      valueHint: "ADDRESS",
      offers: "addresses",
      description: "whose mailbox it is sent from; default: SVC_MAIL_FROM, else USER@svc.localhost",
    },
  },
  async run(invocation) {
    const { args, io, path } = invocation;
    const { findOwnMailbox } = await import("../operations/mail.ts");
    const own = await findOwnMailbox(invocation, { address: args.from });
    const { context } = own;
    const { warn } = await import("../command-line/narrate.ts");
    const ofTeam = async (name: string): Promise<Recipients> => {
      const { agents, people, path: file } = await findMembers(invocation, name);
      for (const { member, record } of agents) {
        if (record === null)
          await warn(io, `"${member}" gets nothing: ${visibleLine(file)} launched no such agent`);
        else if (!record.mailbox) await warn(io, `"${member}" has no mailbox and gets nothing`);
      }
      const bound = agents.flatMap(({ member, record }) =>
        record?.mailbox ? [{ name: member, binding: record.mailbox }] : [],
      );
      if (bound.length + people.length === 0) throw new UsageError(`nobody of @${name} has a mailbox`, path);
      return { agents: bound, people };
    };
    const ofAgent = async (): Promise<Recipients> => {
      const binding = bindingOf(await findRecipient(invocation, context, args.name));
      return { agents: [{ name: args.name, binding }], people: [] };
    };
    const recipients = args.name.startsWith("@") ? await ofTeam(args.name.slice(1)) : await ofAgent();
    const { refuseOtherRoot } = await import("../mail/agent-mailbox.ts");
    for (const one of recipients.agents) refuseOtherRoot(context, one, own);
    const to = [...recipients.agents.map(({ binding }) => binding.address), ...recipients.people];
    const body_content = await readText(args.text, invocation);
    const { performOrAsk } = await import("../mail/agent-mail.ts");
    const { answerSent } = await import("../commands/agent/mail.ts");
    const request = { schema_version: 1 as const, to, cc: [], subject: args.subject, body_content };
    return answerSent("sent", await performOrAsk(await own.open(), "send", request, io));
  },
});

const ownMailboxFlags = {
  address: {
    type: "string",
    valueHint: "ADDRESS",
    offers: "addresses",
    description:
      "whose mail; default: of the agent in whose session this runs, else SVC_MAIL_FROM or USER@svc.localhost",
  },
  ...mailboxRootFlag,
} as const satisfies Flags;

const messageNumber = {
  type: "positional",
  description: "its number, as `svc inbox` shows it",
  offers: "messages",
} as const;

/** The messages that a shell offers. */
export async function offerMessages({ io, inherited }: Caller): Promise<Candidate[]> {
  const { listNumbers } = await import("../operations/mail.ts");
  const flag = (name: string) => (typeof inherited[name] === "string" ? inherited[name] : undefined);
  return listNumbers({ io, inherited }, { address: flag("address"), root: flag("mailbox-root") });
}

/** The mailbox that such a command line means. */
async function findMailbox({ io, inherited, args }: Invocation<typeof ownMailboxFlags>) {
  const { findOwnMailbox } = await import("../operations/mail.ts");
  return findOwnMailbox({ io, inherited }, { address: args.address, root: args["mailbox-root"] });
}

export const inbox = command({
  name: "inbox",
  description: "list your unread mail, the newest first; your mailbox is made when you first use it",
  examples: ["svc inbox", "svc inbox --all", "svc inbox --json"],
  args: { ...ownMailboxFlags, all: { type: "boolean", description: "also read mail that is not done" } },
  async run(invocation) {
    const { args, io } = invocation;
    const mailbox = await findMailbox(invocation);
    const { listInbox } = await import("../operations/mail.ts");
    const { renderInbox } = await import("../mail/mail-text.ts");
    const found = await listInbox(mailbox, { isAll: args.all });
    const { messages, unread_count: unread, open_count: open } = found;
    const view = { messages, isAll: args.all, unread, open };
    const lines = found.elsewhere.map(
      ({ mailbox_root: root, unread_count: count }) =>
        `${count} unread elsewhere: svc inbox --mailbox-root ${shellWord(root)}`,
    );
    const list = renderInbox(view, { columns: io.columns, nowMs: mailbox.context.clock.nowMs() });
    return { json: found, text: [`mail of ${found.address}`, list, ...lines].join("\n") };
  },
});

export const read = command({
  name: "read",
  description: "show a message of your mail, which counts as read then",
  examples: ["svc read 3", "svc read 3 --json"],
  args: { number: messageNumber, ...ownMailboxFlags },
  async run(invocation) {
    const { readOwnMessage } = await import("../operations/mail.ts");
    const { renderMail } = await import("../mail/mail-text.ts");
    const done = await readOwnMessage(await findMailbox(invocation), invocation.args.number);
    return { json: done, text: renderMail(done.message) };
  },
});

export const reply = command({
  name: "reply",
  description: "answer a message of your mail, which counts as read and answered then",
  examples: ["svc reply 3 yes, go ahead", "svc reply 3 < answer.md"],
  args: { number: messageNumber, text: textFlag, ...ownMailboxFlags },
  async run(invocation) {
    const { args } = invocation;
    const { replyToMessage } = await import("../operations/mail.ts");
    const { answerSent } = await import("../commands/agent/mail.ts");
    const mailbox = await findMailbox(invocation);
    const text = await readText(args.text, invocation);
    return answerSent("replied", { done: await replyToMessage(mailbox, args.number, text) });
  },
});

export const done = command({
  name: "done",
  description: "archive messages of your mail, whose work is done",
  examples: ["svc done 3", "svc done 3 4 7"],
  args: {
    numbers: { ...messageNumber, many: true, description: "their numbers, as `svc inbox` shows them" },
    ...ownMailboxFlags,
  },
  async run(invocation): Promise<Answer> {
    const { args, io } = invocation;
    const { archiveMessages } = await import("../operations/mail.ts");
    const { renderChanged } = await import("../mail/mail-text.ts");
    const mailbox = await findMailbox(invocation);
    const result = await archiveMessages(mailbox, [...new Set(wordsOf(args.numbers))], io.advise);
    const { archived, refused } = result;
    return {
      json: result,
      text: [
        ...(archived.length === 0 ? [] : [renderChanged("done", archived)]),
        ...refused.map(({ detail }) => `not done: ${detail}`),
      ].join("\n"),
      exitCode: refused.length === 0 ? exitCodes.done : exitCodes.refused,
    };
  },
});

/** Whom a message goes to. */
interface Recipients {
  agents: NamedBinding[];
  /** Addresses. */
  people: string[];
}

/**
 * The agent of the name. Where only svc.yaml has it, the refusal names the word that means a person or group.
 */
async function findRecipient(
  caller: CommandCaller,
  context: CliContext,
  agentName: string,
): Promise<RegistryRecord> {
  const { findNamed } = await import("../agent/team-scope.ts");
  try {
    return await findNamed(context, caller.io, agentName);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== "not_found") throw error;
    const members = await findMembers(caller, agentName).catch(() => null);
    if (members === null || members.agents.some(({ member }) => member === agentName)) throw error;
    const detail = `there is no agent named "${agentName}"; for the person or group of svc.yaml write @${agentName}`;
    throw new ServiceError("not_found", detail, { cause: error });
  }
}

function bindingOf({ agent_name: name, mailbox }: RegistryRecord): MailboxBinding {
  if (mailbox) return mailbox;
  throw new ServiceError("precondition_failed", `"${name}" has no mailbox`, {
    data: { remedy: { code: "register_mailbox", agent_name: name } satisfies Remedy },
  });
}
