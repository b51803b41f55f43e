import { expect, test } from "bun:test";
import { isEntryPath, isUsable } from "../../../src/services/mail/filesystem/root-paths.ts";

const row = {
  registrationId: "reg-1",
  address: "bob@svc.localhost",
  mailboxKind: "in_root",
  mailboxPath: "mailboxes/bob@svc.localhost",
  mailboxEntryPath: "mailboxes/bob@svc.localhost",
} as const;

test.each([null, 7, new Uint8Array(3), "", "mailboxes/../x", "elsewhere/bob"])(
  "a planted column that holds %p is no path of a mailbox",
  (value) => {
    expect(isEntryPath(value)).toBe(false);
    expect(isUsable(row)).toBe(true);
    for (const column of ["address", "mailboxPath", "mailboxEntryPath"]) {
      expect(isUsable({ ...row, [column]: value })).toBe(false);
    }
  },
);
