import { listLinkedMailboxes } from "../../../db/mailbox/linked.ts";
import type { BackupPlace } from "../../../protocol/backup.ts";
import { childPath } from "../../../system/contained-path.ts";
import type { Files } from "../../../system/files.ts";
import { shown } from "../../mail/address.ts";
import { isMarked, isUsable } from "../../mail/filesystem/root-paths.ts";

/**
 * The folders of mailboxes that lie outside of the roots in `places`. The index of a root may come from
 * somebody else, so only a folder of this user that names its registration is taken. `problems`: mailboxes in
 * use whose folder is not.
 */
export function findLinkedMailboxes(
  files: Files,
  places: readonly BackupPlace[],
): { places: BackupPlace[]; problems: string[] } {
  const problems: string[] = [];
  const known = new Set(places.map(({ path }) => path));
  const found: BackupPlace[] = [];
  for (const { kind, path: root } of places) {
    if (kind !== "mailbox") continue;
    for (const row of linkedIn(files, root)) {
      const { mailboxPath: path, address } = row;
      const isOwn = isUsable(row) && files.isOwnFolder(path) && isMarked(files, row);
      if (isOwn && !known.has(path)) {
        known.add(path);
        found.push({ name: `linked-${found.length + 1}`, kind: "linked_mailbox", path });
      }
      if (isOwn || row.status !== "active") continue;
      const where = `the folder ${shown(String(path))} of the mailbox ${shown(String(address))} in ${root}`;
      problems.push(
        `${where}: it is missing, or it does not name this registration; copy it by hand, or register it again`,
      );
    }
  }
  return { places: found, problems };
}

function linkedIn(files: Files, root: string) {
  const index = childPath(root, "index.sqlite");
  if (!files.exists(index)) return [];
  try {
    return listLinkedMailboxes(index);
  } catch {
    // The copy of the index meets the same fault and reports it.
    return [];
  }
}
