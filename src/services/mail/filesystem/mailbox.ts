import { parseColumn } from "../../../db/json-column.ts";
import type { Catalog } from "../../../db/mailbox/catalog.ts";
import { openHostOutbox } from "../../../db/mailbox/host-outbox.ts";
import type { ListedRow, MailboxState, Selection, StateRow, ViewRow } from "../../../db/mailbox/state.ts";
import { attestationHeader, MailEnvelope } from "../../../protocol/mail-file.ts";
import type { Remedy } from "../../../protocol/remedy.ts";
import { maxListed } from "../../../protocol/wire.ts";
import { ServiceError } from "../../../system/errors.ts";
import { localAddress, nearestAddress, operator, parseAddress, splitHostAddress } from "../address.ts";
import { judgeBody } from "../attestation.ts";
import { originHeader, parseSubject, planRecipients, planReply, replyPolicyHeader } from "../draft.ts";
import type { Mail, Mailbox, MailPage, MailQuery } from "../mailbox.ts";
import { previewOf } from "../message-body.ts";
import {
  archive,
  createAnswerBudget,
  inbox,
  jsonLength,
  parseBox,
  planList,
  planMark,
  planMove,
  sent,
  toCursor,
  type ViewState,
} from "../view-state.ts";
import { toServiceError } from "./delivery/carrier-fault.ts";
import type { Delivery } from "./delivery/delivery.ts";
import { watchDoorbell } from "./delivery/doorbell.ts";
import { type LateFiles, readDelivered } from "./delivery/late-files.ts";
import {
  bodyOf,
  idOf,
  isFileOf,
  parseMessageFile,
  type StoredMessage,
  toMail,
} from "./delivery/message-file.ts";
import { createMailboxHandle, type Present } from "./mailbox-handle.ts";
import { ensureOperator, type Registrations } from "./registration/registrations.ts";
import type { Party } from "./registration/remote-party.ts";
import { placeLinks } from "./registration/seeding.ts";
import type { MailRootDeps } from "./root-paths.ts";
import { mailboxFolder, messageFile } from "./root-paths.ts";
import { createInspector, fromStoredVerdict, toStoredVerdict } from "./upkeep/inspector.ts";

interface FilesystemMailboxDeps extends MailRootDeps {
  root: string;
  catalog: Catalog;
  registrations: Registrations;
  delivery: Delivery;
  lateFiles: Pick<LateFiles, "soon">;
}

/** A row may have hundreds of recipients. */
const rowsAtOnce = 256;
/** The beginning of a file that `isFileOf` needs. */
const maxHeadBytes = 64 * 1024;

/** The mailbox of one registration. Throws `invalid_request` when it has none that is active. */
export function createFilesystemMailbox(
  deps: FilesystemMailboxDeps,
  binding: { address: string; principalId: string },
): Mailbox {
  const { root, catalog, registrations, delivery, files, watch } = deps;
  const address = parseAddress(binding.address);
  const handle = createMailboxHandle(deps, { address, principalId: binding.principalId });

  /** `ref`: a reference, or the number of the message in this mailbox. */
  function idIn(state: MailboxState, ref: string): string {
    return (isNumber(ref) ? state.idAt(Number(ref)) : null) ?? idOf(ref);
  }

  function holding({ state }: Present, ref: string): StateRow {
    const row = state.get(idIn(state, ref));
    if (!row) throw new ServiceError("not_found", "this mailbox holds no such message");
    return row;
  }

  /** Null when the file is lost or damaged: the message can still be put away, and hides no other. */
  function bodyOrNull(row: ListedRow): string | null {
    const text = readDelivered(files, root, catalog, row);
    return text === null || !isFileOf(text, row.messageId) ? null : bodyOf(text);
  }

  function isReadable(row: ListedRow): boolean {
    try {
      const bytes = files.readPart(messageFile(files, root, row), 0, maxHeadBytes);
      const head = new TextDecoder().decode(bytes);
      if (isFileOf(head, row.messageId, { whole: bytes.length < maxHeadBytes })) return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
    }
    return bodyOrNull(row) !== null;
  }

  function bodyText(row: StateRow): string {
    const body = bodyOrNull(row);
    if (body === null) {
      throw new ServiceError(
        "transport_failed",
        `the file of ${row.messageId} is missing from the mailbox root, or damaged`,
        { data: { remedy: { code: "repair_mailboxes" } satisfies Remedy } },
      );
    }
    return body;
  }

  /** The file decides for a row that is damaged: no other message becomes unreadable with it. */
  function envelopeOf(row: ListedRow): MailEnvelope {
    try {
      return parseColumn(MailEnvelope, row.envelopeJson, `envelope_json of ${row.messageId}`);
    } catch (damage) {
      const text = readDelivered(files, root, catalog, row);
      const parsed = text === null ? null : parseMessageFile(text);
      if (parsed?.ok) return parsed.message.envelope;
      throw damage;
    }
  }

  /** A row says what was found when the message came; a body is looked at as it is now. */
  function toShown(row: ListedRow, body: string | null): Mail {
    const envelope = envelopeOf(row);
    const found = fromStoredVerdict(row.attestation);
    const verdict = found.state === "verified" && body !== null ? judgeBody(envelope, body) : found;
    return toMail({ ...viewOf(row), envelope, body, verdict, locate });
  }

  /**
   * Keeps the verdict on a message that is opened. One that was broken may be whole now, or its key known.
   */
  function toOpened(state: MailboxState, row: StateRow, body: string): Mail {
    const found = fromStoredVerdict(row.attestation);
    if (found.state === "unsigned") return toShown(row, body);
    const message = { envelope: envelopeOf(row), body };
    const verdict =
      found.state === "verified"
        ? judgeBody(message.envelope, body)
        : createInspector(catalog).inspect(message, address);
    const text = toStoredVerdict(verdict);
    if (text !== row.attestation) state.noteAttestation("sql:mail-attestation", row.messageId, text);
    return toMail({ ...viewOf(row), ...message, verdict, locate });
  }

  /** Reads a few rows at a time: what a page has no place for is not held either. */
  function readPage(
    state: MailboxState,
    plan: Selection,
    { includeBody, onlyReadable = false }: Pick<MailQuery, "includeBody" | "onlyReadable">,
  ): MailPage {
    const max = Math.min(plan.limit ?? maxListed, maxListed);
    const budget = createAnswerBudget();
    const messages: Mail[] = [];
    let unreadable = 0;
    let last = plan.after;
    for (;;) {
      const limit = Math.min(rowsAtOnce, max - messages.length + 1);
      const rows = state.select({ ...plan, after: last, limit });
      for (const row of rows) {
        if (onlyReadable && !isReadable(row)) {
          unreadable += 1;
          last = row;
          continue;
        }
        const body = includeBody ? bodyOrNull(row) : null;
        const size =
          row.envelopeJson.length + row.bodyPreview.length + (body === null ? 0 : jsonLength(body));
        const first = messages.length === 0;
        if (messages.length === max || (!budget.takes(size) && !first)) {
          return { messages, unreadable, nextCursor: last && toCursor(last) };
        }
        messages.push(toShown(row, body));
        last = row;
      }
      if (rows.length < limit) return { messages, unreadable, nextCursor: null };
    }
  }

  /** What has just been delivered, as it is in a mailbox that has not looked yet. */
  function toDelivered({ envelope, body }: StoredMessage, box: string): Mail {
    const state = { box, read: box !== inbox, answered: false };
    const isSigned = envelope.headers[attestationHeader] !== undefined;
    const verdict = { state: isSigned ? ("verified" as const) : ("unsigned" as const) };
    return toMail({ envelope, state, preview: previewOf(body), body, verdict, locate });
  }

  /** For people only: nothing is opened there. */
  const locate = (path: string) => (path.startsWith("/") ? path : `${root}/${path}`);

  function recipient(text: string): Party {
    const typed = text.trim();
    const row = typed.includes("@") ? catalog.active(parseAddress(typed)) : null;
    if (row) return row;
    const ended = catalog.registrationsAt(typed)[0];
    if (ended) throw new ServiceError("invalid_request", `its mailbox is ${ended.status}`);
    const remote = splitHostAddress(typed);
    const ownHost = remote && openHostOutbox(catalog).host();
    if (remote && remote.host === ownHost) return recipient(localAddress(remote.name));
    if (remote && ownHost !== null) return { host: remote.host, address: typed };
    const known = catalog.registrations().filter(({ status }) => status === "active");
    const near = nearestAddress(
      typed,
      known.map((one) => one.address),
    );
    const joined = remote ? "; mail to another host needs both hosts in one fleet" : "";
    const hint = near === null ? joined : `; did you mean ${near}?`;
    const what = typed.includes("@")
      ? "no mailbox has the address"
      : "a recipient is a full mailbox address, LOCAL@DOMAIN";
    const remedy: Remedy | null = remote && near === null ? { code: "join_fleet" } : null;
    throw new ServiceError("invalid_request", `${what}${hint}`, remedy ? { data: { remedy } } : {});
  }

  /** Where the message is, checked against where the caller believes it to be, before anything changes. */
  function inBox(row: StateRow, box: string | null | undefined): StateRow {
    if (box !== null && box !== undefined && box.trim() !== row.boxName) {
      throw new ServiceError("invalid_request", `the message is not in that box but in ${row.boxName}`);
    }
    return row;
  }

  function change(
    now: Present,
    refs: readonly string[],
    plan: (state: ViewState, row: StateRow) => ViewState,
  ): Mail[] {
    if (refs.length === 0) throw new ServiceError("invalid_request", "no message is named");
    const ids = refs.map((ref) => idIn(now.state, ref));
    const rows = now.state.change("sql:mail-changed", ids, (row) => {
      if (!row) throw new ServiceError("not_found", "this mailbox holds no such message");
      return toRow(plan({ box: row.boxName, read: row.isRead, answered: row.isAnswered }, row));
    });
    placeLinks({ files, root, state: now.state, registration: now.row });
    const budget = createAnswerBudget();
    return rows.map((row) => {
      const body = budget.takes(0) ? bodyOrNull(row) : null;
      return toShown(row, body !== null && budget.takesText(body) ? body : null);
    });
  }

  /** To where the message was delivered: what the owner sent does not come back as mail to him. */
  function homeOf(row: StateRow): string {
    const { from, to, cc } = envelopeOf(row);
    const received = [...to, ...cc].some((one) => one.address === address);
    return from.address === address && !received ? sent : inbox;
  }

  const run = async <T>(work: () => T | Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw toServiceError(error);
    }
  };
  /** `work` on the mailbox with all that was delivered to it. */
  const seeing = <T>(work: (now: Present) => T): Promise<T> =>
    run(() => {
      delivery.announceNow();
      return handle.caughtUp(work);
    });

  try {
    handle.registered();
  } catch (error) {
    throw toServiceError(error);
  }

  return {
    transport: "filesystem",
    principalId: binding.principalId,
    address,
    capabilities: { post: true, notify: true, search: true, refusesUnknownRecipients: true },
    list: (query) =>
      seeing(({ state }) => {
        const plan = planList(query);
        return plan ? readPage(state, plan, query) : { messages: [], nextCursor: null };
      }),
    peek: (ref, options) =>
      seeing((now) => {
        const row = inBox(holding(now, ref), options?.box);
        return toOpened(now.state, row, bodyText(row));
      }),
    read: (ref, options) =>
      seeing((now) => {
        const found = holding(now, ref);
        // What cannot be shown has not been read.
        const body = bodyText(inBox(found, options?.box));
        const [row] = now.state.change("sql:mail-read", [found.messageId], (one) => ({
          ...inBox(one ?? found, options?.box),
          isRead: true,
        }));
        return toOpened(now.state, row ?? found, body);
      }),
    send: (draft) =>
      run(() => {
        const { row: from } = handle.registered();
        const subject = parseSubject(draft.subject);
        const rows = new Map<string, Party>();
        const { to, cc } = planRecipients(draft, (one) => {
          const row = recipient(one);
          rows.set(row.address, row);
          return row.address;
        });
        const message = delivery.deliver({
          ...draft,
          from,
          to: to.flatMap((one) => rows.get(one) ?? []),
          cc: cc.flatMap((one) => rows.get(one) ?? []),
          replyTo: [],
          subject,
          headers: {},
          thread: null,
        });
        return toDelivered(message, [...to, ...cc].includes(address) ? inbox : sent);
      }),
    post: (draft) =>
      run(() => {
        const { row: own } = handle.registered();
        const subject = parseSubject(draft.subject);
        if (!catalog.active(operator.address)) ensureOperator(registrations);
        const from = catalog.active(operator.address);
        if (!from)
          throw new ServiceError("transport_failed", "this mailbox root has no mailbox of the operator");
        const message = delivery.deliver({
          ...draft,
          from,
          to: [own],
          cc: [],
          replyTo: draft.replyPolicy === "operator_mailbox" ? [from] : [],
          subject,
          headers: { [originHeader]: "operator", [replyPolicyHeader]: draft.replyPolicy },
          thread: null,
        });
        return toDelivered(message, inbox);
      }),
    reply: (ref, draft) =>
      seeing((now) => {
        const parent = holding(now, ref);
        const { to, subject, headers, ...thread } = planReply(envelopeOf(parent));
        const message = delivery.deliver({
          ...draft,
          from: now.row,
          to: to.map((one) => recipient(one.address)),
          cc: [],
          replyTo: [],
          subject,
          headers,
          thread,
        });
        return toDelivered(message, to.some((one) => one.address === address) ? inbox : sent);
      }),
    mark: (refs, flags) =>
      seeing((now) => change(now, refs, (state, row) => planMark(state, flags, homeOf(row)))),
    move: (refs, destination) =>
      seeing((now) => {
        const box = parseBox(destination);
        return change(now, refs, (state) => planMove(state, box));
      }),
    archive: (refs) => seeing((now) => change(now, refs, (state) => planMove(state, archive))),
    onArrival(listener) {
      const row = catalog.active(address);
      if (!row) return () => {};
      return watchDoorbell({ files, watch }, mailboxFolder(files, root, row), listener);
    },
    close() {
      handle.close();
    },
  };
}

/** The digits of a number; anything else is a reference. Pure. */
const isNumber = (ref: string): boolean => /^\d{1,15}$/.test(ref);

function viewOf({ seq, boxName, isRead, isAnswered, bodyPreview }: ListedRow) {
  const state = { box: boxName, read: isRead, answered: isAnswered };
  return { state, number: seq, preview: bodyPreview };
}

function toRow(state: ViewState): ViewRow {
  return { boxName: state.box, isRead: state.read, isAnswered: state.answered };
}
