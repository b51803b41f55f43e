import type { Remedy } from "../../../../protocol/remedy.ts";
import { ServiceError } from "../../../../system/errors.ts";
import { type StorageFault, storageAdvice, storageFaultOf } from "../../../../system/storage-fault.ts";

/** What a mailbox knows better. */
const advice: Record<StorageFault, string> = {
  ...storageAdvice,
  forbidden: "it may not be written by this user",
  damaged: "a database of it is damaged; a repair rebuilds it",
  missing: "a database of it is missing or may not be opened; a repair rebuilds a lost one",
};

const repairable: ReadonlySet<StorageFault> = new Set(["damaged", "missing"]);

/** Copies that leave out empty folders lose some. */
const lost = "a file or folder of it is missing; a repair puts it in order";

/**
 * What SQLite or the file system complains about is the carrier's, with a word on what to do; anything else
 * unexpected is a fault of ours and comes back as it is. Pure. Source: contract 4.1 mail rule 3.
 */
export function toServiceError(error: unknown): unknown {
  if (error instanceof ServiceError && error.data?.["file"] === "not_regular") {
    return new ServiceError("transport_failed", `the mailbox cannot be used: ${error.message}`, {
      cause: error,
    });
  }
  const code = (error as { code?: unknown }).code;
  if (error instanceof ServiceError || typeof code !== "string" || !/^(SQLITE_|E[A-Z0-9]+$)/.test(code)) {
    return error;
  }
  const found = storageFaultOf(error);
  const word = found ? advice[found.fault] : code === "ENOENT" ? lost : null;
  const message = `the mailbox cannot be used${word === null ? "" : `: ${word}`} (${code})`;
  const remedy: Remedy = { code: "repair_mailboxes" };
  const isRepairable = found ? repairable.has(found.fault) : code === "ENOENT";
  return new ServiceError("transport_failed", message, {
    cause: error,
    ...(isRepairable ? { data: { remedy } } : {}),
  });
}
