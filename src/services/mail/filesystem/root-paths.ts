import { childPath } from "../../../system/contained-path.ts";

/** Where things lie below a mailbox root; the layout is public. Source: spec/mailbox-agui.md A5; ruling 14. Pure. */
export function rootPaths(root: string) {
  const at = (...parts: string[]) => childPath(root, ...parts);
  return {
    root,
    protocolVersion: at("protocol-version.txt"),
    index: at("index.sqlite"),
    messages: at("messages"),
    attachments: at("attachments", "managed"),
    mailboxes: at("mailboxes"),
    locks: at("locks"),
    addressLocks: at("locks", "addresses"),
    indexLock: at("locks", "index.lock"),
    staging: at("staging"),
    quarantine: at("staging", "quarantine"),
    rules: at("rules"),
  };
}

/** Relative to the root. `createdAtUtc` begins with the date. */
export function canonicalPath(message: { messageId: string; createdAtUtc: string }): string {
  return `messages/${message.createdAtUtc.slice(0, 10)}/${message.messageId}.md`;
}

/** Relative to the root. */
export function entryPath(address: string): string {
  return `mailboxes/${address}`;
}

/** Relative to the root. */
export function attachmentPath(attachmentId: string, fileName: string): string {
  return `attachments/managed/${attachmentId}/${fileName}`;
}

/** Inside of a mailbox. */
export const stateFileName = "mailbox.sqlite";
