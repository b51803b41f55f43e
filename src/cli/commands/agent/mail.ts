import {
  MailListRequest,
  type MailMessage,
  MailMoveRequest,
  MailPostRequest,
  MailSendRequest,
} from "../../../protocol/mail.ts";
import { openTarget } from "../../agent/target.ts";
import { type Answer, type Command, command, UsageError } from "../../command-line/command.ts";
import { exitCodes } from "../../command-line/dispatch.ts";
import { fieldFlags } from "../../command-line/field-flags.ts";
import { givenFields } from "../../command-line/flag-values.ts";
import { renderPairs } from "../../command-line/format.ts";
import { type MailAsked, performMail, performOrAsk, resolveLive } from "../../mail/agent-mail.ts";
import { mailOf, openMailTarget } from "../../mail/agent-mailbox.ts";
import { choice, contentFlags, readContent, readRefs, refFields, refsFlag } from "../../mail/mail-flags.ts";
import { renderChanged, renderMail, renderMailList, renderSent } from "../../mail/mail-text.ts";

const status = command({
  name: "status",
  description: "show which mailbox it is and how it is reached",
  examples: ["svc-mgr agents single --agent-name worker mail status"],
  async run(invocation) {
    const target = await openMailTarget(invocation);
    const { done } = await performMail(target, "status", undefined);
    return {
      json: done,
      text: renderPairs([
        ["address", done.address],
        ["principal", done.principal_id],
        ["transport", done.transport],
        ["bound", done.bindings_version],
        ["reached", done.execution_path],
      ]),
    };
  },
});

const listFields = fieldFlags(MailListRequest, {
  box: {
    description: "inbox (default), sent, archive, ...; with --archived it is archive",
    valueHint: "BOX",
  },
  archived: null,
  limit: { description: "at most this many; default: all" },
  since: { valueHint: "TIME" },
  query: { valueHint: "WORDS" },
  include_body: { description: "with the whole text of each (--json)" },
  cursor: { valueHint: "CURSOR" },
});

const list = command({
  name: "list",
  description: "list the mail, newest first",
  examples: [
    "svc-mgr agents single --agent-name worker mail list --read-state unread",
    "svc-mgr agents self mail list --box sent --limit 10 --json",
  ],
  args: {
    ...listFields.flags,
    archived: { type: "boolean", description: "only what is archived" },
    "not-archived": { type: "boolean", description: "only what is not" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const archived = choice(args.archived, args["not-archived"], ["archived", "not-archived"]);
    const fields = listFields.read(args);
    const target = await openMailTarget(invocation);
    const { done } = await performMail(target, "list", {
      schema_version: 1,
      ...fields,
      box: fields.box ?? (archived === true ? "archive" : "inbox"),
      ...givenFields({ archived }),
    });
    return { json: done, text: renderMailList(done, io.columns) };
  },
});

const peek = showCommand("peek", "show one message and leave it unread");
const read = showCommand("read", "show one message and mark it read");

/** `contentFlags` say these fields. */
const noContent = { body_content: null, attachments: null, notify_block: null, notify_auth: null };

const sendFields = fieldFlags(MailSendRequest, {
  ...noContent,
  to: { valueHint: "ADDRESS", offers: "addresses" },
  cc: { valueHint: "ADDRESS", offers: "addresses" },
  subject: { required: true },
});

const send = command({
  name: "send",
  description: "send mail from the mailbox",
  examples: [
    'svc-mgr agents single --agent-name worker mail send --to other@svc.localhost --subject "hello" --body-content "text"',
    "svc-mgr agents self mail send --to other@svc.localhost --subject report --attach report.pdf < report.md",
  ],
  args: { ...sendFields.flags, ...contentFlags },
  async run(invocation) {
    const { args, io } = invocation;
    const { to, cc = [], subject } = sendFields.read(args);
    if (to === undefined) throw new UsageError("give --to, once for each recipient");
    const target = await openMailTarget(invocation);
    const content = await readContent(args, io, target.context.files);
    const request = { schema_version: 1 as const, to, cc, subject, ...content };
    return answerSent("sent", await performOrAsk(target, "send", request, io));
  },
});

const postFields = fieldFlags(MailPostRequest, { ...noContent, subject: { required: true } });

const post = command({
  name: "post",
  description: "leave a note of the operator in the mailbox (filesystem mailboxes only)",
  examples: [
    'svc-mgr agents single --agent-name worker mail post --subject "priorities" --body-content "tests first"',
    "svc-mgr agents single --agent-name worker mail post --subject note --reply-policy none < note.md",
  ],
  args: { ...postFields.flags, ...contentFlags },
  async run(invocation) {
    const { args, io } = invocation;
    const fields = { schema_version: 1 as const, ...postFields.read(args) };
    const target = await openMailTarget(invocation);
    const content = await readContent(args, io, target.context.files);
    return answerSent("posted", await performMail(target, "post", { ...fields, ...content }));
  },
});

const reply = command({
  name: "reply",
  description: "reply to a message, which is read and answered then",
  examples: [
    'svc-mgr agents single --agent-name worker mail reply --message-ref REF --body-content "done"',
    "svc-mgr agents self mail reply --message-ref REF --body-file answer.md",
  ],
  args: { "message-ref": refFields.flags["message-ref"], ...contentFlags },
  async run(invocation) {
    const { args, io } = invocation;
    const { message_ref } = refFields.read(args);
    const target = await openMailTarget(invocation);
    const content = await readContent(args, io, target.context.files);
    const request = { schema_version: 1 as const, message_ref, ...content };
    return answerSent("replied", await performOrAsk(target, "reply", request, io));
  },
});

const mark = command({
  name: "mark",
  description: "set or clear the flags of messages",
  examples: ["svc-mgr agents single --agent-name worker mail mark --message-ref REF --read --answered"],
  args: {
    ...refsFlag,
    read: { type: "boolean", description: "it was read" },
    unread: { type: "boolean", description: "it was not" },
    answered: { type: "boolean", description: "it was answered" },
    unanswered: { type: "boolean", description: "it was not" },
    archived: { type: "boolean", description: "move it to the box archive" },
    unarchived: { type: "boolean", description: "move it back to the inbox" },
  },
  async run(invocation) {
    const { args } = invocation;
    const changes = givenFields({
      read: choice(args.read, args.unread, ["read", "unread"]),
      answered: choice(args.answered, args.unanswered, ["answered", "unanswered"]),
      archived: choice(args.archived, args.unarchived, ["archived", "unarchived"]),
    });
    if (Object.keys(changes).length === 0) {
      throw new UsageError("say what to mark: --read, --unread, --answered, ...");
    }
    const target = await openMailTarget(invocation);
    const request = { schema_version: 1 as const, message_refs: readRefs(args), ...changes };
    return answerChanged("marked", await performOrAsk(target, "mark", request, invocation.io));
  },
});

const moveFields = fieldFlags(MailMoveRequest, {
  message_refs: null,
  destination_box: { required: true, valueHint: "BOX" },
});

const move = command({
  name: "move",
  description: "move messages to a box, which is made when it is not there",
  examples: ["svc-mgr agents single --agent-name worker mail move --message-ref REF --destination-box later"],
  args: { ...refsFlag, ...moveFields.flags },
  async run(invocation) {
    const { args } = invocation;
    const { destination_box } = moveFields.read(args);
    const message_refs = readRefs(args);
    const target = await openMailTarget(invocation);
    const outcome = await performMail(target, "move", { schema_version: 1, message_refs, destination_box });
    return answerChanged("moved", outcome);
  },
});

const archive = command({
  name: "archive",
  description: "archive messages whose work is done",
  examples: ["svc-mgr agents single --agent-name worker mail archive --message-ref REF"],
  args: refsFlag,
  async run(invocation) {
    const target = await openMailTarget(invocation);
    const outcome = await performMail(target, "archive", {
      schema_version: 1,
      message_refs: readRefs(invocation.args),
    });
    return answerChanged("archived", outcome);
  },
});

const resolveLiveCommand = command({
  name: "resolve-live",
  description: "print where the agent's mailbox is and which gateway serves it",
  examples: [
    "svc-mgr agents self mail resolve-live --json",
    "svc-mgr agents single --agent-name worker mail resolve-live",
  ],
  async run(invocation) {
    const target = mailOf(await openTarget(invocation), invocation.io);
    const found = await resolveLive(target);
    const { manifest } = target.agent;
    const self = invocation.path.includes("self");
    return {
      json: {
        schema_version: 1,
        ...found,
        managed_agent: {
          mode: self ? "self" : "single",
          agent_ref: manifest.agent_id,
          tracked_agent_id: manifest.agent_id,
          agent_name: manifest.agent_name,
          agent_id: manifest.agent_id,
          tmux_session_name: manifest.tmux_session_name,
        },
        gateway_available: found.gateway !== null,
      },
      text: renderPairs([
        ["address", found.address],
        ["principal", found.principal_id],
        ["transport", found.transport],
        ["bound", found.bindings_version],
        ["root", found.mailbox.filesystem?.root],
        ["mailbox", found.mailbox.filesystem?.mailbox_path],
        ["server", found.mailbox.jmap?.jmap_url],
        ["gateway", found.gateway?.base_url ?? "none runs"],
      ]),
    };
  },
});

/** The mail of a mailbox that is named by its address. */
export const mailCommands = { status, list, peek, read, send, post, reply, mark, move, archive };

/** The mail of an agent. */
export const agentMailCommands = { "resolve-live": resolveLiveCommand, ...mailCommands };

function showCommand(name: "peek" | "read", description: string): Command {
  return command({
    name,
    description,
    examples: [`svc-mgr agents single --agent-name worker mail ${name} --message-ref REF`],
    args: refFields.flags,
    async run(invocation) {
      const fields = refFields.read(invocation.args);
      const target = await openMailTarget(invocation);
      const { done } = await performMail(target, name, { schema_version: 1, ...fields });
      return { json: done, text: renderMail(done.message) };
    },
  });
}

export function answerSent(
  what: string,
  outcome: { done: { message: MailMessage } } | { asked: MailAsked },
): Answer {
  if ("asked" in outcome) return answerAsked(outcome.asked);
  return { json: outcome.done, text: renderSent(what, outcome.done.message) };
}

function answerChanged(
  what: string,
  outcome: { done: { messages: readonly MailMessage[] } } | { asked: MailAsked },
): Answer {
  if ("asked" in outcome) return answerAsked(outcome.asked);
  return { json: outcome.done, text: renderChanged(what, outcome.done.messages) };
}

/** A request to the agent proves nothing, so the answer lists the commands that show whether it was done. */
function answerAsked(asked: MailAsked): Answer {
  const lines = [
    `the mailbox cannot be reached; the agent was asked in its terminal: ${asked.status} (${asked.request_id})`,
    `  ${asked.detail}`,
    ...asked.verification_paths.map((path) => `  see whether it was done: ${path}`),
  ];
  return {
    json: asked,
    text: lines.join("\n"),
    exitCode: asked.status === "submitted" ? exitCodes.done : exitCodes.refused,
  };
}
