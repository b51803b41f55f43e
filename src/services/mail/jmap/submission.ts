import { sha256 } from "../../../system/digest.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import {
  type DraftAttachment,
  fileNameOf,
  maxAttachmentBytes,
  maxAttachments,
  mediaTypeOf,
  whyNotAttached,
} from "../draft.ts";
import { sent } from "../view-state.ts";
import { type Boxes, drafts, ensureBoxes } from "./boxes.ts";
import type { Answers, Invocation, JmapClient } from "./client.ts";
import { keyword, toWireBody } from "./emails.ts";
import {
  EmailGet,
  EmailQuery,
  emailProperties,
  firstRefusal,
  IdentityGet,
  type JmapEmail,
  SetReply,
  toSetFailure,
} from "./wire.ts";

interface Outgoing {
  to: readonly string[];
  cc: readonly string[];
  subject: string;
  body: string;
  attachments: readonly Blob[];
  inReplyTo: readonly string[];
  references: readonly string[];
  /** How many replies led to it; none when absent. */
  hops?: number;
}

/**
 * Hands messages over to the server's mail system. A message is a draft until it was taken, and in `sent`
 * from then on, so that none looks sent that is not. Every message has an id of ours: where an answer got
 * lost, `send` looks for it, and a second `send` of the same message completes the first instead of sending
 * twice. Throws `invalid_request` for what the server will not send, else `transport_failed` whose message
 * says what became of it.
 */
interface Submission {
  /**
   * `complete`: what else belongs to it; while that fails, the same again does only that. `messageId`: of a
   * message that may have been sent before, also by an earlier process; then it is looked for first.
   */
  send(message: Outgoing, complete?: (email: JmapEmail) => Promise<void>, messageId?: string): Promise<Sent>;
}

interface Sent {
  email: JmapEmail;
  boxes: Boxes;
}

/** Messages whose fate is not known are few; the oldest is forgotten. */
const maxUnsettled = 100;

export function createSubmission(deps: { client: JmapClient; ids: Ids; address: string }): Submission {
  const { client, ids, address } = deps;
  /** Message ids by what was to be sent. */
  const unsettled = new Map<string, string>();

  async function identity(): Promise<string> {
    const { submits } = await client.session();
    if (!submits) throw failed("the JMAP server takes no mail from this account now; nothing was sent");
    const answers = await client.call([["Identity/get", { ids: null }, "who"]], { safe: true });
    const { list } = answers.of(IdentityGet, "Identity/get", "who");
    const own = list.find(({ email }) => email.toLowerCase() === address.toLowerCase()) ?? list[0];
    if (!own) throw failed("the JMAP server knows no identity of this login; nothing was sent");
    return own.id;
  }

  async function find(messageId: string, boxes: Boxes): Promise<{ email: JmapEmail; box: string } | null> {
    const filter = { header: ["Message-ID", messageId] };
    const calls: Invocation[] = [
      ["Email/query", { filter, limit: 10 }, "found"],
      [
        "Email/get",
        { "#ids": idsOf("found"), properties: emailProperties, fetchTextBodyValues: true },
        "got",
      ],
    ];
    const answers = await client.call(calls, { safe: true });
    answers.of(EmailQuery, "Email/query", "found");
    const { list } = answers.of(EmailGet, "Email/get", "got");
    // Mail to oneself is in the inbox too.
    for (const box of [sent, drafts]) {
      const email = list.find(({ mailboxIds }) => mailboxIds[boxes.idOf(box) ?? ""] === true);
      if (email) return { email, box };
    }
    return null;
  }

  /** `emailId`: a draft that is there, or the creation id of one. */
  function submitCalls(emailId: string, identityId: string, boxes: Boxes): Invocation[] {
    const moved = filed(boxes);
    return [
      [
        "EmailSubmission/set",
        { create: { it: { emailId, identityId } }, onSuccessUpdateEmail: { "#it": moved } },
        "submitted",
      ],
      ["Email/get", { ids: [emailId], properties: emailProperties, fetchTextBodyValues: true }, "got"],
    ];
  }

  async function create(message: Outgoing, messageId: string, boxes: Boxes) {
    const identityId = await identity();
    const draft = toDraft({ message, messageId, address, box: boxes.idOf(drafts) ?? "" });
    const answers = await client.call(
      [["Email/set", { create: { draft } }, "created"], ...submitCalls("#draft", identityId, boxes)],
      { safe: false },
    );
    const created = answers.of(SetReply, "Email/set", "created");
    const refusal = firstRefusal(created);
    if (refusal) throw toSetFailure("the JMAP server does not take the message; nothing was sent", refusal);
    return settle(answers, created.created?.["draft"]?.id ?? "", boxes);
  }

  async function resubmit(emailId: string, boxes: Boxes) {
    const calls = submitCalls(emailId, await identity(), boxes);
    return settle(await client.call(calls, { safe: false }), emailId, boxes);
  }

  /** What the server said about a message that it holds as a draft. */
  async function settle(answers: Answers, emailId: string, boxes: Boxes) {
    let refused: unknown = null;
    try {
      const refusal = firstRefusal(answers.of(SetReply, "EmailSubmission/set", "submitted"));
      if (refusal) refused = toSetFailure("the message was not sent", refusal);
    } catch (error) {
      refused = error;
    }
    if (refused) throw await withdrawn(emailId, refused);
    const unfiled =
      !answers.has("Email/set", "submitted") ||
      firstRefusal(answers.of(SetReply, "Email/set", "submitted")) !== null;
    if (unfiled) await file(emailId, boxes);
    const [email] = answers.of(EmailGet, "Email/get", "got").list;
    if (!email) throw perhapsDone("the message was sent; its copy in the mailbox cannot be found");
    return { email: unfiled ? { ...email, ...filedEmail(email, boxes) } : email, boxes };
  }

  /** Removes the draft, which would look like mail that is on its way. */
  async function withdrawn(emailId: string, reason: unknown): Promise<unknown> {
    try {
      const answers = await client.call([["Email/set", { destroy: [emailId] }, "gone"]], { safe: true });
      if (firstRefusal(answers.of(SetReply, "Email/set", "gone")) === null) return reason;
    } catch {
      // The reason why it was not sent matters more.
    }
    return failed(`${messageOf(reason)}; it is in ${drafts}`, reason);
  }

  async function file(emailId: string, boxes: Boxes): Promise<void> {
    const update = { [emailId]: filed(boxes) };
    const said = `the message was sent, but it is in ${drafts} still`;
    try {
      const answers = await client.call([["Email/set", { update }, "filed"]], { safe: true });
      const refusal = firstRefusal(answers.of(SetReply, "Email/set", "filed"));
      if (refusal) throw toSetFailure("it could not be filed", refusal);
    } catch (error) {
      throw perhapsDone(`${said} (${messageOf(error)})`, error);
    }
  }

  function keep(key: string, messageId: string): void {
    unsettled.set(key, messageId);
    for (const old of [...unsettled.keys()].slice(0, -maxUnsettled)) unsettled.delete(old);
  }

  /** Sends the message, unless `unsettled` leads to one that was sent. */
  async function settled(key: string, messageId: string, message: Outgoing): Promise<Sent> {
    const known = unsettled.has(key);
    const boxes = await ensureBoxes(client, [sent, drafts]);
    try {
      const found = known ? await find(messageId, boxes) : null;
      if (found === null) return await create(message, messageId, boxes);
      return found.box === sent ? { email: found.email, boxes } : await resubmit(found.email.id, boxes);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.data?.["reached"] !== true) throw error;
      keep(key, messageId);
      const found = await find(messageId, boxes).catch(() => null);
      if (found?.box === sent) return { email: found.email, boxes };
      const where = found ? `; it is in ${drafts}` : "";
      throw perhapsDone(
        `it is not known whether the message was sent${where}; the same again by the same gateway completes it, anybody else looks into ${sent} first (${messageOf(error)})`,
        error,
      );
    }
  }

  return {
    async send(message, complete, given) {
      const key = digestOf(message);
      if (given !== undefined) keep(key, given);
      const messageId = unsettled.get(key) ?? `${ids.uuid()}@${address.slice(address.indexOf("@") + 1)}`;
      const result = await settled(key, messageId, message);
      if (complete) {
        keep(key, messageId);
        await complete(result.email);
      }
      unsettled.delete(key);
      return result;
    },
  };
}

const idsOf = (callId: string) => ({ resultOf: callId, name: "Email/query", path: "/ids" });

/** The change that makes a draft a sent message. */
function filed(boxes: Boxes): Record<string, true | null> {
  return {
    [`mailboxIds/${boxes.idOf(drafts)}`]: null,
    [`mailboxIds/${boxes.idOf(sent)}`]: true,
    [`keywords/${keyword.draft}`]: null,
    [`keywords/${keyword.read}`]: true,
  };
}

function filedEmail({ keywords }: JmapEmail, boxes: Boxes): Pick<JmapEmail, "mailboxIds" | "keywords"> {
  return { mailboxIds: { [boxes.idOf(sent) ?? ""]: true }, keywords: { ...keywords, [keyword.read]: true } };
}

/** Pure. */
export function toDraft(options: {
  message: Outgoing;
  messageId: string;
  address: string;
  box: string;
}): Record<string, unknown> {
  const { message, messageId, address, box } = options;
  const { to, cc, subject, body, attachments, inReplyTo, references } = message;
  const participants = (addresses: readonly string[]) => addresses.map((email) => ({ name: null, email }));
  return {
    mailboxIds: { [box]: true },
    keywords: { [keyword.draft]: true, [keyword.read]: true },
    messageId: [messageId],
    from: participants([address]),
    to: participants(to),
    ...(cc.length === 0 ? {} : { cc: participants(cc) }),
    ...(inReplyTo.length === 0 ? {} : { inReplyTo, references }),
    subject,
    ...(message.hops ? { "header:X-Svc-Hops:asText": String(message.hops) } : {}),
    textBody: [{ partId: "text", type: "text/plain" }],
    bodyValues: { text: { value: toWireBody(body) } },
    ...(attachments.length === 0 ? {} : { attachments }),
  };
}

function digestOf(message: Outgoing): string {
  return sha256(JSON.stringify(message));
}

/** What must not be done once more by other means. */
function perhapsDone(message: string, cause?: unknown): ServiceError {
  return new ServiceError("transport_failed", message, { cause, data: { may_be_done: true } });
}

function failed(message: string, cause?: unknown): ServiceError {
  return new ServiceError("transport_failed", message, cause === undefined ? {} : { cause });
}

interface Blob {
  blobId: string;
  type: string;
  name: string;
  disposition: "attachment";
}

/**
 * Takes files to the server, each a piece at a time. All are opened before the first is sent: throws
 * `invalid_request` for one that cannot be attached, and nothing was sent then.
 */
export async function uploadAll(
  deps: { client: JmapClient; files: Pick<Files, "open"> },
  attachments: readonly DraftAttachment[],
): Promise<Blob[]> {
  if (attachments.length === 0) return [];
  if (attachments.length > maxAttachments) {
    throw new ServiceError("invalid_request", `a message has at most ${maxAttachments} attachments`);
  }
  const { maxUploadBytes } = await deps.client.session();
  using opened = new DisposableStack();
  const sources = attachments.map(({ path, label, below }, nth) => {
    const file = deps.files.open(path, {
      maxBytes: Math.min(maxAttachmentBytes, maxUploadBytes),
      within: below,
    });
    if (!file.ok) {
      throw new ServiceError("invalid_request", `the attachment ${nth + 1} ${whyNotAttached[file.why]}`);
    }
    opened.defer(file.close);
    const name = fileNameOf(path);
    return { file, type: mediaTypeOf(name), name: label ?? name };
  });
  const blobs: Blob[] = [];
  for (const { file, type, name } of sources) {
    const { blobId, size } = await deps.client.upload(file.stream(), type);
    if (size !== file.size) {
      throw new ServiceError("invalid_request", `the file ${name} was changed while it was attached`);
    }
    blobs.push({ blobId, type, name, disposition: "attachment" });
  }
  return blobs;
}
