import type { Catalog } from "../../../../db/mailbox/catalog.ts";
import { salvageRows } from "../../../../db/mailbox/inspect.ts";
import { openMailboxState, type StateRow } from "../../../../db/mailbox/state.ts";
import { type Flags, type StateUpkeep, upkeepOfState } from "../../../../db/mailbox/state-upkeep.ts";
import { childPath, isOneName } from "../../../../system/contained-path.ts";
import { inbox, isArchived, sent } from "../../view-state.ts";
import { readDelivered } from "../delivery/late-files.ts";
import { bodyOf } from "../delivery/message-file.ts";
import { placeLinks, type Seeding, searchableChars, seedMailbox } from "../registration/seeding.ts";
import { canonicalPath, isMessageId, linkPath, readMessageFile, stateFileName } from "../root-paths.ts";
import type { FileStep } from "../upkeep/maintenance.ts";
import { type DatabaseFile, mendDatabase } from "./mended-database.ts";
import { missingFile, type RepairRun } from "./repair-run.ts";
import type { SurveyedMailbox } from "./repair-survey.ts";

const page = 200;

/** How many messages of one mailbox kept their view state, and how many got the default. */
interface RepairedState {
  restored: number;
  defaulted: number;
}

/**
 * Makes the state of a mailbox whole: every message of the catalog has a row, a link in its box and words to
 * be found by. Rows that can be read stay as they are; what was lost begins in the box where its link lies.
 */
export async function repairMailbox(
  run: RepairRun,
  catalog: Catalog,
  mailbox: SurveyedMailbox,
): Promise<RepairedState> {
  const { files, clock, steps } = run.deps;
  const { folder, registration, state } = mailbox;
  const file: DatabaseFile = {
    state,
    base: folder,
    name: stateFileName,
    besideAt: [`${stateFileName}.new-${run.stamp}`],
    keptAt: [`${stateFileName}.broken-${run.stamp}`],
    labels: { dropped: "mail.state-dropped", kept: "mail.state-kept", placed: "mail.state-placed" },
  };
  const place = childPath(folder, stateFileName);
  // A repair that was killed has left what it built.
  for (const name of files.list(folder).filter((one) => one.startsWith(`${stateFileName}.new-`))) {
    files.removeFile(file.labels.dropped, childPath(folder, name));
  }
  const flags = state.kind === "sound" ? new Map<string, Flags>() : salvageFlags(place);
  const open = (path: string) => openMailboxState({ path, clock, steps });
  const { result, keptAt } = await mendDatabase(run, { file, open }, (opened) =>
    makeWhole(run, { files, root: run.paths.root, catalog, state: opened, registration }, mailbox, flags),
  );
  if (state.kind === "broken" && keptAt !== null) {
    const why = `the state of ${registration.address} could not be used: ${state.why}`;
    run.find(place, why, { movedTo: keptAt });
  }
  return result;
}

async function makeWhole(
  run: RepairRun,
  seeding: Seeding,
  mailbox: SurveyedMailbox,
  salvaged: ReadonlyMap<string, Flags>,
): Promise<RepairedState> {
  const { state } = seeding;
  const { address } = mailbox.registration;
  const upkeep = upkeepOfState(state.store);
  const before = upkeep.count();
  const unknownLinks = [...mailbox.links].filter(([id]) => state.get(id) === null);
  seedMailbox(seeding);
  const fromLinks = unknownLinks.flatMap(([id, boxes]) => {
    const seen = salvaged.has(id) ? null : state.get(id);
    const flags = seen && flagsIn(seen, boxes);
    return flags ? [{ seen, flags }] : [];
  });
  const fromOld = [...salvaged].flatMap(([messageId, flags]) => {
    const seen = state.get(messageId);
    return seen ? [{ seen, flags }] : [];
  });
  upkeep.restoreFlags([...fromLinks, ...fromOld]);
  await run.breathe({ step: `links of ${address}`, done: 0, total: null });
  mendLinks(run, upkeep, mailbox, seeding);
  placeLinks(seeding);
  await mendText(run, { upkeep, address, catalog: seeding.catalog });
  const restored = before + fromOld.length;
  return { restored, defaulted: upkeep.count() - restored };
}

/**
 * Where a link shows that its owner moved a message, and so has read it; null where it shows no more than the
 * row. A link in the box where mail arrives may be older than the row.
 */
function flagsIn(row: StateRow, boxes: readonly string[]): Flags | null {
  const arrival = new Set<string>([inbox, sent]);
  const box = boxes.find((one) => !arrival.has(one));
  return box === undefined || !arrival.has(row.boxName) ? null : { ...row, boxName: box, isRead: true };
}

function salvageFlags(path: string): Map<string, Flags> {
  const found = new Map<string, Flags>();
  salvageRows(path, "message_state", (row) => {
    const { message_id: id, box_name: boxName } = row as { message_id?: unknown; box_name?: unknown };
    if (typeof id !== "string" || typeof boxName !== "string" || boxName === "") return;
    const is = (flag: string) => row[flag] === 1;
    found.set(id, {
      boxName,
      isRead: is("is_read") || isArchived(boxName),
      isAnswered: is("is_answered"),
      isStarred: is("is_starred"),
      isDeleted: is("is_deleted"),
    });
  });
  return found;
}

type LinkState = "absent" | "sound" | "dangling";

/**
 * Which box keeps the link of a message, and the boxes whose links go: those that dangle, and all sound ones
 * but the first. Pure.
 */
export function planLinks(links: ReadonlyMap<string, LinkState>): { kept: string | null; removed: string[] } {
  const boxesWith = (wanted: LinkState) =>
    [...links].flatMap(([box, state]) => (state === wanted ? [box] : []));
  const [kept = null, ...surplus] = boxesWith("sound");
  return { kept, removed: [...boxesWith("dangling"), ...surplus] };
}

/**
 * Notes for every row where its link is, and removes dangling and surplus links. Messages of which only a row
 * is left are reported; their rows stay, so that their owner can put them away.
 */
function mendLinks(
  run: RepairRun,
  upkeep: StateUpkeep,
  mailbox: SurveyedMailbox,
  { state, catalog }: Pick<Seeding, "state" | "catalog">,
): void {
  const { files } = run.deps;
  const linkAt = (box: string, id: string) => linkPath(files, mailbox.folder, box, id);
  const removal = (box: string, id: string): FileStep => ({
    kind: "remove",
    label: "mail.link-removed",
    at: { base: mailbox.folder, names: [box, `${id}.md`] },
  });
  const stateOf = (box: string, row: Pick<StateRow, "messageId" | "createdAtUtc">): LinkState => {
    if (!isOneName(box) || !isMessageId(row.messageId) || files.isLink(`${mailbox.folder}/${box}`)) {
      return "absent";
    }
    const path = linkAt(box, row.messageId);
    if (!files.isLink(path)) return "absent";
    // A link of a lost message stays: its file may come back.
    const isLost = () => readMessageFile(files, run.paths.root, row) === null;
    // Its file may be written just now.
    const leads = files.exists(path) || isLost() || files.exists(path);
    return leads ? "sound" : "dangling";
  };
  for (let rows = upkeep.rowsAfter(0, page); rows.length > 0; rows = upkeep.rowsAfter(last(rows), page)) {
    const moved = rows.flatMap((row) => {
      if (!catalog.knows(row.messageId)) reportLost(run, row);
      const candidates = new Set([
        row.boxName,
        row.linkBox ?? row.boxName,
        ...(mailbox.links.get(row.messageId) ?? []),
      ]);
      const links = new Map([...candidates].map((box) => [box, stateOf(box, row)]));
      const { kept, removed } = planLinks(links);
      run.apply(removed.map((box) => removal(box, row.messageId)));
      return kept === row.linkBox ? [] : [{ seq: row.seq, was: row.linkBox, box: kept }];
    });
    upkeep.noteLinks(moved);
  }
  for (const [id, boxes] of mailbox.links) {
    if (state.get(id)) continue;
    for (const box of boxes) {
      run.apply([removal(box, id)]);
      run.find(linkAt(box, id), "it was a link to a message that this mailbox does not hold; it was removed");
    }
  }
}

function reportLost({ find, findings, paths }: RepairRun, row: StateRow): void {
  // Another mailbox may have held it too.
  const isReported = findings.some(({ path }) => path === canonicalPath(row));
  if (!isReported) find(`${paths.root}/${canonicalPath(row)}`, missingFile);
}

/** The words of messages that the search does not know are read from their files again. */
async function mendText(
  run: RepairRun,
  { upkeep, address, catalog }: { upkeep: StateUpkeep; address: string; catalog: Catalog },
): Promise<void> {
  if (!upkeep.textIsSound()) upkeep.dropText();
  let done = 0;
  for (let rows = upkeep.withoutText(0, page); rows.length > 0; rows = upkeep.withoutText(last(rows), page)) {
    upkeep.addText(
      rows.map((row) => {
        const text = readDelivered(run.deps.files, run.paths.root, catalog, row);
        return { ...row, body: text === null ? "" : bodyOf(text).slice(0, searchableChars) };
      }),
    );
    done += rows.length;
    await run.breathe({ step: `search of ${address}`, done, total: null });
  }
}

function last(rows: readonly StateRow[]): number {
  return rows.at(-1)?.seq ?? 0;
}
