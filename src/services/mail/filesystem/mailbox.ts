import { join } from "node:path";
import type { Catalog, RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { createFollowed, type Followed } from "../../../db/mailbox/followed.ts";
import {
  type MailboxState,
  openMailboxState,
  type StateRow,
  type ViewRow,
} from "../../../db/mailbox/state.ts";
import type { MailEnvelope } from "../../../protocol/mail-file.ts";
import { ServiceError } from "../../../system/errors.ts";
import { operator, parseAddress, shown } from "../address.ts";
import { parseSubject, planRecipients } from "../draft.ts";
import { planList, toCursor } from "../list-plan.ts";
import { toMail } from "../mail-view.ts";
import type { Mail, Mailbox } from "../mailbox.ts";
import { bodyOf, type StoredMessage } from "../message-file.ts";
import { nearestAddress } from "../nearest-address.ts";
import { previewOf } from "../preview.ts";
import { idOf } from "../refs.ts";
import { originHeader, planReply, replyPolicyHeader } from "../reply-thread.ts";
import { archive, inbox, parseBox, planMark, planMove, sent, type ViewState } from "../view-state.ts";
import { ensureMailbox, mailboxFolder, settleArtifacts } from "./artifacts.ts";
import type { Delivery } from "./delivery.ts";
import { ensureOperator, type Registrations } from "./registrations.ts";
import type { MailRootDeps } from "./root-deps.ts";
import { canonicalPath, stateFileName } from "./root-paths.ts";
import { placeLinks, seedMailbox } from "./seeding.ts";

export interface FilesystemMailboxDeps extends MailRootDeps {
  root: string;
  catalog: Catalog;
  registrations: Registrations;
  delivery: Delivery;
}

/** A mailbox as it is at this moment, caught up with all that was delivered. */
interface Present {
  row: RegistrationRow;
  state: MailboxState;
}

/** The mailbox of one registration. Throws `invalid_request` when it has none that is active. */
export function createFilesystemMailbox(
  deps: FilesystemMailboxDeps,
  binding: { address: string; principalId: string },
): Mailbox {
  const { root, catalog, registrations, delivery, files, clock, steps, watch } = deps;
  const address = parseAddress(binding.address);
  let held: { registrationId: string; states: Followed<MailboxState> } | null = null;

  function owned(): RegistrationRow {
    const row = catalog.active(address);
    if (row?.ownerPrincipalId === binding.principalId) return row;
    const whose = row ? "belongs to another principal" : "has no active registration";
    throw new ServiceError("invalid_request", `the mailbox ${address} ${whose}`);
  }

  /**
   * The registration may have been replaced since the last call, and with it the folder. What lies there is opened
   * as this registration's only when it says so, or when it can be claimed while no registration changes.
   */
  function registered(): { row: RegistrationRow; state: MailboxState } {
    const row = owned();
    settleArtifacts(files, root, catalog);
    const path = join(mailboxFolder(root, row), stateFileName);
    if (held?.registrationId === row.registrationId && files.exists(path)) {
      const state = held.states.present();
      if (state.mark()?.registrationId === row.registrationId) return { row, state };
    }
    return { row, state: claim(row, path) };
  }

  function claim(row: RegistrationRow, path: string): MailboxState {
    const { registrationId } = row;
    return catalog.undisturbed("sql:mail-claimed", () => {
      if (owned().registrationId !== registrationId || catalog.pending().length > 0) {
        throw new ServiceError(
          "transport_failed",
          `the mailbox ${address} is just being replaced; try again`,
        );
      }
      held?.states.close();
      held = null;
      ensureMailbox(files, root, row);
      const open = () => openMailboxState({ path, clock, steps });
      if (!files.exists(path)) open().close();
      const states = createFollowed({ files, path, open });
      const state = states.present();
      if (state.mark()?.registrationId !== registrationId) {
        state.seed("sql:mail-begun", [], { generation: catalog.generation(), registrationId, seededSeq: 0 });
      }
      held = { registrationId, states };
      return state;
    });
  }

  function present(): Present {
    const { row, state } = registered();
    seedMailbox({ files, root, catalog, state, registration: row });
    return { row, state };
  }

  function holding({ state }: Present, ref: string): StateRow {
    const row = state.get(idOf(ref));
    if (!row) throw new ServiceError("not_found", "this mailbox holds no such message");
    return row;
  }

  function bodyText(row: Pick<StateRow, "messageId" | "createdAtUtc">): string {
    const text = files.read(join(root, canonicalPath(row)));
    if (text === null) {
      throw new ServiceError(
        "transport_failed",
        `the file of ${row.messageId} is missing from the mailbox root`,
      );
    }
    return bodyOf(text);
  }

  function toShown(row: StateRow, body: string | null): Mail {
    const envelope: MailEnvelope = JSON.parse(row.envelopeJson);
    const state = { box: row.boxName, read: row.isRead, answered: row.isAnswered };
    return toMail({ envelope, state, preview: row.bodyPreview, body, locate });
  }

  /** What has just been delivered, as it stands in a mailbox that has not looked yet. */
  function toDelivered({ envelope, body }: StoredMessage, box: string): Mail {
    const state = { box, read: box !== inbox, answered: false };
    return toMail({ envelope, state, preview: previewOf(body), body, locate });
  }

  const locate = (path: string) => (path.startsWith("/") ? path : join(root, path));

  function recipient(text: string): RegistrationRow {
    const typed = text.trim();
    const row = typed.includes("@") ? catalog.active(parseAddress(typed)) : null;
    if (row) return row;
    const ended = catalog.registrationsAt(typed)[0];
    if (ended) throw new ServiceError("invalid_request", `the mailbox ${typed} is ${ended.status}`);
    const known = catalog.registrations().filter(({ status }) => status === "active");
    const near = nearestAddress(
      typed,
      known.map((one) => one.address),
    );
    const hint = near === null ? "" : `; did you mean ${near}?`;
    const what = typed.includes("@")
      ? "no mailbox has the address"
      : "a recipient is a full mailbox address, not";
    throw new ServiceError("invalid_request", `${what} ${shown(typed)}${hint}`);
  }

  /** Where the message is, checked against where the caller believes it to be, before anything changes. */
  function inBox(row: StateRow, box: string | null | undefined): StateRow {
    if (box !== null && box !== undefined && box.trim() !== row.boxName) {
      throw new ServiceError("invalid_request", `the message is not in that box but in ${row.boxName}`);
    }
    return row;
  }

  function change(refs: readonly string[], plan: (state: ViewState, row: StateRow) => ViewState): Mail[] {
    if (refs.length === 0) throw new ServiceError("invalid_request", "no message is named");
    const now = present();
    const rows = now.state.change("sql:mail-changed", refs.map(idOf), (row) => {
      if (!row) throw new ServiceError("not_found", "this mailbox holds no such message");
      return toRow(plan({ box: row.boxName, read: row.isRead, answered: row.isAnswered }, row));
    });
    placeLinks({ files, root, catalog, state: now.state, registration: now.row });
    return rows.map((row) => toShown(row, bodyText(row)));
  }

  /** To where the message was delivered: what the owner sent does not come back as mail to him. */
  function homeOf(row: StateRow): string {
    const { from, to, cc }: MailEnvelope = JSON.parse(row.envelopeJson);
    const received = [...to, ...cc].some((one) => one.address === address);
    return from.address === address && !received ? sent : inbox;
  }

  const run = async <T>(work: () => T): Promise<T> => {
    try {
      return work();
    } catch (error) {
      throw toServiceError(error);
    }
  };

  try {
    registered();
  } catch (error) {
    throw toServiceError(error);
  }

  return {
    transport: "filesystem",
    principalId: binding.principalId,
    address,
    capabilities: { post: true, notify: true, search: true, refusesUnknownRecipients: true },
    list: (query) =>
      run(() => {
        const { state } = present();
        const plan = planList(query);
        if (!plan) return { messages: [], nextCursor: null };
        const limit = plan.limit === null ? null : plan.limit + 1;
        const rows = state.select({ ...plan, limit });
        const page = plan.limit === null ? rows : rows.slice(0, plan.limit);
        const last = page.at(-1);
        return {
          messages: page.map((row) => toShown(row, query.includeBody ? bodyText(row) : null)),
          nextCursor: last && page.length < rows.length ? toCursor(last) : null,
        };
      }),
    peek: (ref, options) =>
      run(() => {
        const row = inBox(holding(present(), ref), options?.box);
        return toShown(row, bodyText(row));
      }),
    read: (ref, options) =>
      run(() => {
        const now = present();
        const found = holding(now, ref);
        // What cannot be shown has not been read.
        const body = bodyText(inBox(found, options?.box));
        const [row] = now.state.change("sql:mail-read", [found.messageId], (one) => ({
          ...inBox(one ?? found, options?.box),
          isRead: true,
        }));
        return toShown(row ?? found, body);
      }),
    send: (draft) =>
      run(() => {
        const { row: from } = registered();
        const subject = parseSubject(draft.subject);
        const rows = new Map<string, RegistrationRow>();
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
        const { row: own } = registered();
        const subject = parseSubject(draft.subject);
        if (!catalog.active(operator.address)) ensureOperator(registrations);
        const from = recipient(operator.address);
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
      run(() => {
        const now = present();
        const parent = holding(now, ref);
        const { to, subject, ...thread } = planReply(JSON.parse(parent.envelopeJson));
        const message = delivery.deliver({
          ...draft,
          from: now.row,
          to: to.map((one) => recipient(one.address)),
          cc: [],
          replyTo: [],
          subject,
          headers: {},
          thread,
        });
        return toDelivered(message, to.some((one) => one.address === address) ? inbox : sent);
      }),
    mark: (refs, flags) => run(() => change(refs, (state, row) => planMark(state, flags, homeOf(row)))),
    move: (refs, destination) =>
      run(() => {
        const box = parseBox(destination);
        return change(refs, (state) => planMove(state, box));
      }),
    archive: (refs) => run(() => change(refs, (state) => planMove(state, archive))),
    onArrival(listener) {
      const row = catalog.active(address);
      if (!row) return () => {};
      const folder = join(mailboxFolder(root, row), inbox);
      return watch.watchFolder(folder, (name) => {
        // A link that went, as when its owner archives the message, is no arrival.
        if (name === null || files.isLink(join(folder, name))) listener();
      });
    },
    close() {
      held?.states.close();
      held = null;
    },
  };
}

function toRow(state: ViewState): ViewRow {
  return { boxName: state.box, isRead: state.read, isAnswered: state.answered };
}

/** What SQLite or the file system complains about is the carrier's; anything else unexpected is a fault of ours. */
export function toServiceError(error: unknown): unknown {
  const code = (error as { code?: unknown }).code;
  if (error instanceof ServiceError || typeof code !== "string" || !/^(SQLITE_|E[A-Z0-9]+$)/.test(code)) {
    return error;
  }
  return new ServiceError("transport_failed", `the mailbox cannot be used (${code})`, { cause: error });
}
