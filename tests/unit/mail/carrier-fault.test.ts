import { expect, test } from "bun:test";
import { toServiceError } from "../../../src/services/mail/filesystem/delivery/carrier-fault.ts";
import { ServiceError } from "../../../src/system/errors.ts";

const withCode = (code: string) => Object.assign(new Error("raw"), { code });

const remedy = { code: "repair_mailboxes" };

test.each<{ id: string; code: string; says: string; remedy?: object }>([
  {
    id: "a lost database names the repair",
    code: "SQLITE_CANTOPEN",
    says: "a repair rebuilds a lost one",
    remedy,
  },
  { id: "a lost folder names the repair", code: "ENOENT", says: "a repair puts it in order", remedy },
  {
    id: "a damaged database names the repair",
    code: "SQLITE_CORRUPT_INDEX",
    says: "a repair rebuilds it",
    remedy,
  },
  { id: "a full disk is called so", code: "ENOSPC", says: "the disk is full" },
  { id: "a full disk is called so by SQLite too", code: "SQLITE_FULL", says: "the disk is full" },
  { id: "a read-only disk is called so", code: "EROFS", says: "may not be written" },
  { id: "a busy database is worth another try", code: "SQLITE_BUSY", says: "try again" },
  { id: "too many open files are called so", code: "EMFILE", says: "ulimit -n" },
  { id: "any other code is told as it is", code: "EXDEV", says: "cannot be used (EXDEV)" },
])("$id", ({ code, says, remedy }) => {
  const error = toServiceError(withCode(code)) as ServiceError;
  expect([error.reason, error.message]).toEqual(["transport_failed", expect.stringContaining(says)]);
  expect(error.data?.["remedy"]).toEqual(remedy);
});

test("a folder or a link in place of a database is the carrier's fault, not that of the binding", () => {
  const error = new ServiceError("precondition_failed", "index.sqlite is no regular file", {
    data: { file: "not_regular" },
  });
  expect(toServiceError(error)).toMatchObject({
    reason: "transport_failed",
    message: "the mailbox cannot be used: index.sqlite is no regular file",
  });
});

test("what is not the carrier's stays as it is", () => {
  const errors = [new Error("ours"), withCode("ERR_INVALID_ARG_TYPE"), new ServiceError("conflict", "no")];
  expect(errors.map(toServiceError)).toEqual(errors);
});
