import { asc, eq, getTableColumns, sql } from "drizzle-orm";
import type { Clock } from "../../system/clock.ts";
import type { Steps } from "../../system/steps.ts";
import { openStore, type Store } from "../open.ts";
import { insertText, prepare, selectList } from "../statement.ts";
import { stateMigrations } from "./state/migrations.ts";
import * as schema from "./state/schema.ts";

const { messageState, seeded } = schema;

export type StateStore = Store;
export type StateRow = typeof messageState.$inferSelect;
/** Columns of a list; the envelope holds the other fields. */
export type ListedRow = Pick<StateRow, (typeof listedColumns)[number]>;
export type NewStateRow = Omit<StateRow, "seq" | "isStarred" | "isArchived" | "isDeleted"> & {
  /** For the full-text search. */
  body: string;
  /** Id of a message that becomes read and answered. */
  answers: string | null;
};

/** Half of a row's columns, which halves the time to read a page. */
const listedColumns = [
  "seq",
  "messageId",
  "createdAtUtc",
  "boxName",
  "isRead",
  "isAnswered",
  "envelopeJson",
  "bodyPreview",
  "attestation",
] as const;

/** A row as the database returns it. */
type StoredListedRow = Omit<ListedRow, "isRead" | "isAnswered"> & { isRead: number; isAnswered: number };

const toListed = (row: StoredListedRow): ListedRow => ({
  ...row,
  isRead: row.isRead === 1,
  isAnswered: row.isAnswered === 1,
});

/** The columns that the owner may change. */
export type ViewRow = Pick<StateRow, "boxName" | "isRead" | "isAnswered">;

/** The position up to which a mailbox has read the catalog. */
export interface SeedMark {
  generation: string;
  registrationId: string;
  seededSeq: number;
}

/** The position of a message in the order of a list. */
export interface Position {
  createdAtUtc: string;
  messageId: string;
}

/** Conditions of a list, newest first; null means any. */
export interface Selection {
  box: string;
  read: boolean | null;
  answered: boolean | null;
  /** Inclusive, as times are stored. */
  sinceUtc: string | null;
  /** Words that all must occur, each as the beginning of a word; never empty. */
  words: readonly string[] | null;
  /** Only messages after this position. */
  after: Position | null;
  limit: number | null;
}

/** mailbox.sqlite of one mailbox. */
export interface MailboxState {
  /** For maintenance. */
  readonly store: StateStore;
  mark(): SeedMark | null;
  /**
   * Adds unknown rows and sets the mark in one transaction. Not synced: after a power failure the mark shows
   * what is missing. `admit` decides on each row inside the transaction, while no other process writes; null
   * skips it.
   */
  seed(
    label: string,
    rows: readonly NewStateRow[],
    mark: SeedMark,
    admit?: (row: NewStateRow) => NewStateRow | null,
  ): void;
  get(messageId: string): StateRow | null;
  /** The message that has this number in this mailbox. */
  idAt(seq: number): string | null;
  select(selection: Selection): ListedRow[];
  /**
   * Changes all of these messages or none and returns their rows, in the given order. `plan` runs in the
   * transaction with the present row, or null for an unknown message. Durable; without a change nothing is
   * written.
   */
  change(label: string, messageIds: readonly string[], plan: (row: StateRow | null) => ViewRow): StateRow[];
  /** Records the last verdict on a message. Not synced, since the check can be repeated. */
  noteAttestation(label: string, messageId: string, attestation: string | null): void;
  /** Rows whose symbolic link is in the wrong box. */
  misplaced(limit: number): StateRow[];
  /** Records the boxes of links. Not synced, since a doubtful link is searched again. */
  placed(label: string, links: readonly { seq: number; box: string }[]): void;
  close(): void;
}

export function openMailboxState(options: { path: string; clock: Clock; steps: Steps }): MailboxState {
  const store: StateStore = openStore({ ...options, migrations: stateMigrations });
  const { db, client } = store;
  const byId = db
    .select()
    .from(messageState)
    .where(eq(messageState.messageId, sql.placeholder("messageId")))
    .prepare();
  const { singleton: _, ...markColumns } = getTableColumns(seeded);
  const idBySeq = prepare<{ seq: number }, { messageId: string }>(
    client,
    `SELECT ${selectList({ messageId: messageState.messageId })} FROM message_state WHERE seq = :seq`,
  );
  const markRow = prepare<object, SeedMark>(client, `SELECT ${selectList(markColumns)} FROM seeded`);
  const misplacedRows = db
    .select()
    .from(messageState)
    .where(sql`link_box IS NOT box_name`)
    .orderBy(asc(messageState.seq))
    .limit(sql.placeholder("limit"))
    .prepare();
  const addRow = prepare<Omit<StateRow, "seq" | "isStarred" | "isDeleted">, { seq: number }>(
    client,
    `${insertText(messageState, [
      "messageId",
      "threadId",
      "createdAtUtc",
      "subject",
      "sender",
      "isRead",
      "isAnswered",
      "isArchived",
      "boxName",
      "linkBox",
      "envelopeJson",
      "bodyPreview",
      "attestation",
    ])} ON CONFLICT DO NOTHING RETURNING seq`,
  );
  const countMatches = prepare<{ match: string }, { n: number }>(
    client,
    `SELECT count(*) AS n
       FROM (SELECT 1 FROM message_text WHERE message_text MATCH :match LIMIT ${fewMatches})`,
  );
  const selections = new Map<string, ReturnType<typeof prepareSelection>>();

  const get = (messageId: string) => byId.get({ messageId }) ?? null;

  function planned(messageIds: readonly string[], plan: (row: StateRow | null) => ViewRow) {
    return messageIds.map((id) => {
      const row = get(id);
      const { boxName, isRead, isAnswered } = plan(row);
      return { row, view: { boxName, isRead, isAnswered, isArchived: boxName === "archive" } };
    });
  }

  return {
    store,
    mark() {
      return markRow.get() ?? null;
    },
    seed(label, rows, mark, admit = (row) => row) {
      store.write(
        label,
        () => {
          for (const candidate of rows) {
            // A refused insert would use up a number, and then the row with the highest number would seem to
            // be removed.
            const admitted = get(candidate.messageId) === null ? admit(candidate) : null;
            if (admitted === null) continue;
            const { body, answers, ...row } = admitted;
            const added = addRow.get({ ...row, isArchived: row.boxName === "archive" });
            if (!added) continue;
            db.run(
              sql`INSERT INTO message_text (rowid, subject, sender, body) VALUES (${added.seq}, ${row.subject}, ${row.sender}, ${body})`,
            );
            if (answers === null) continue;
            db.update(messageState)
              .set({ isRead: true, isAnswered: true })
              .where(eq(messageState.messageId, answers))
              .run();
          }
          db.insert(seeded)
            .values({ singleton: 1, ...mark })
            .onConflictDoUpdate({ target: seeded.singleton, set: mark })
            .run();
        },
        { durable: false },
      );
    },
    get,
    idAt: (seq) => idBySeq.get({ seq })?.messageId ?? null,
    select(selection) {
      const { box, sinceUtc, words, after, limit } = selection;
      const match = words?.map((word) => `"${word.replaceAll('"', '""')}"*`).join(" ");
      const rare = match !== undefined && (countMatches.get({ match })?.n ?? 0) < fewMatches;
      const shape = [selection.read, selection.answered, sinceUtc, words, after, limit]
        .map((one, index) => (index < 2 ? String(one) : one === null ? "-" : "+"))
        .concat(String(rare))
        .join();
      const known = selections.get(shape) ?? prepareSelection(client, selection, rare);
      selections.set(shape, known);
      const { createdAtUtc: afterTime, messageId: afterId } = after ?? {};
      return known.all({ box, sinceUtc, match, afterTime, afterId, limit }).map(toListed);
    },
    change(label, messageIds, plan) {
      const differs = ({ row, view }: ReturnType<typeof planned>[number]) =>
        row !== null &&
        (row.boxName !== view.boxName || row.isRead !== view.isRead || row.isAnswered !== view.isAnswered);
      if (planned(messageIds, plan).some(differs)) {
        store.write(label, () => {
          for (const one of planned(messageIds, plan)) {
            if (!one.row || !differs(one)) continue;
            db.update(messageState).set(one.view).where(eq(messageState.seq, one.row.seq)).run();
          }
        });
      }
      return messageIds.flatMap((id) => get(id) ?? []);
    },
    noteAttestation(label, messageId, attestation) {
      store.write(
        label,
        () => {
          db.update(messageState).set({ attestation }).where(eq(messageState.messageId, messageId)).run();
        },
        { durable: false },
      );
    },
    misplaced: (limit) => misplacedRows.all({ limit }),
    placed(label, links) {
      if (links.length === 0) return;
      store.write(
        label,
        () => {
          for (const { seq, box } of links) {
            db.update(messageState).set({ linkBox: box }).where(eq(messageState.seq, seq)).run();
          }
        },
        { durable: false },
      );
    },
    close: () => store.close(),
  };
}

/**
 * With fewer matches each is looked up; with more the box is read in order until the page is full.
 */
const fewMatches = 1000;

/**
 * Prepares a selection for which one index satisfies every condition and the order, so that a page reads only
 * its rows. `rare`: the words select the rows instead of an index of boxes.
 */
function prepareSelection(
  client: StateStore["client"],
  { read, answered, sinceUtc, words, after, limit }: Selection,
  rare: boolean,
) {
  const conditions = [
    rare ? "+box_name = :box" : "box_name = :box",
    read === null ? [] : `is_read = ${Number(read)}`,
    answered === null ? [] : `is_answered = ${Number(answered)}`,
    sinceUtc === null ? [] : "created_at_utc >= :sinceUtc",
    after === null ? [] : "(created_at_utc, message_id) < (:afterTime, :afterId)",
    words === null ? [] : "seq IN (SELECT rowid FROM message_text WHERE message_text MATCH :match)",
  ].flat();
  const columns = Object.fromEntries(listedColumns.map((name) => [name, messageState[name]]));
  return prepare<SelectionParams, StoredListedRow>(
    client,
    `SELECT ${selectList(columns)} FROM message_state WHERE ${conditions.join(" AND ")}
     ORDER BY created_at_utc DESC, message_id DESC${limit === null ? "" : " LIMIT :limit"}`,
  );
}

interface SelectionParams {
  box: string;
  sinceUtc: string | null;
  match: string | undefined;
  afterTime: string | undefined;
  afterId: string | undefined;
  limit: number | null;
}
