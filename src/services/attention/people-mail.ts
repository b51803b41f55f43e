import type { RegistryRecord } from "../../protocol/files.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { operator, personRole } from "../mail/address.ts";
import type { MailRoot } from "../mail/filesystem/root.ts";
import { rootPaths } from "../mail/filesystem/root-paths.ts";

/** A message that a person has not read. */
export interface PersonMail {
  /** The folder of mailboxes. */
  root: string;
  address: string;
  messageRef: string;
  sinceUtc: string;
  from: string;
  subject: string;
  /** Who wrote it, where the registry has that agent. */
  agent: { id: string; name: string } | null;
}

export interface PeopleMail {
  /**
   * What nobody has read, newest first of each mailbox. A root that cannot be read is reported and has none.
   */
  unread(): Promise<PersonMail[]>;
}

/** Of each mailbox; older messages are listed when these are read. */
const maxOfMailbox = 100;

/**
 * The unread mail of people in the folders of mailboxes that agents use, and in `otherRoots`. Each is opened
 * for the time of a look: between two looks it may be repaired or removed.
 */
export function createPeopleMail(deps: {
  files: Pick<Files, "realPath" | "exists">;
  /** Folders that need not exist. */
  otherRoots: () => readonly string[];
  records: () => readonly RegistryRecord[];
  openRoot: (root: string) => MailRoot;
  onError: (what: string) => void;
}): PeopleMail {
  async function unreadBelow(path: string, agents: ReadonlyMap<string, RegistryRecord>) {
    const root = deps.openRoot(path);
    try {
      const found: PersonMail[] = [];
      for (const { address, owner_principal_id: principalId, role } of root.registrations.list({
        status: "active",
      })) {
        if (role !== personRole && role !== operator.role) continue;
        const mailbox = root.openMailbox({ address, principalId });
        try {
          const { messages } = await mailbox.list({
            box: "inbox",
            readState: "unread",
            answeredState: "any",
            archived: false,
            limit: maxOfMailbox,
            since: null,
            includeBody: false,
            cursor: null,
            query: null,
            onlyReadable: true,
          });
          for (const { message_ref: messageRef, created_at_utc: sinceUtc, sender, subject } of messages) {
            const record = agents.get(`${path}\0${sender.address}`);
            const agent = record ? { id: record.agent_id, name: record.agent_name } : null;
            const from = sender.address;
            found.push({ root: path, address, messageRef, sinceUtc, from, subject, agent });
          }
        } finally {
          mailbox.close();
        }
      }
      return found;
    } finally {
      root.close();
    }
  }

  return {
    async unread() {
      const { files } = deps;
      const realOf = (path: string) => files.realPath(path) ?? path;
      const roots = new Set(deps.otherRoots().map(realOf));
      const agents = new Map<string, RegistryRecord>();
      for (const record of deps.records()) {
        const { filesystem_root: path, address } = record.mailbox ?? {};
        if (path === undefined || address === undefined) continue;
        roots.add(realOf(path));
        agents.set(`${realOf(path)}\0${address}`, record);
      }
      const all: PersonMail[] = [];
      for (const root of roots) {
        // One that lost its index is named by `doctor`.
        if (!files.exists(rootPaths(root).index)) continue;
        try {
          all.push(...(await unreadBelow(root, agents)));
        } catch (error) {
          deps.onError(`mail of people in ${root}: ${messageOf(error)}`);
        }
      }
      return all;
    },
  };
}
