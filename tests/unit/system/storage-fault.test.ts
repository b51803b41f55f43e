import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { createLocks } from "../../../src/system/locks.ts";
import { faultLine, ofFile, storageFaultOf, tellStorageFault } from "../../../src/system/storage-fault.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

/** What `act` throws, as it would be where this user has no right to it. */
function refused(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return Object.assign(error as Error, { code: "EACCES" });
  }
  throw new Error("nothing was thrown");
}

const reads: { id: string; act: (at: Scratch) => unknown }[] = [
  { id: "a file is read", act: ({ files, path }) => files.read(path("x".repeat(300)), { owner: "anyone" }) },
  { id: "a folder is read", act: ({ files, path }) => files.list(path("circle")) },
  { id: "a file is looked for", act: ({ files, path }) => files.exists(path("circle/x")) },
  { id: "a file of ours is read", act: ({ files, path }) => files.read(path("x".repeat(300))) },
  { id: "a part of a file is read", act: ({ files, path }) => files.readPart(path("x".repeat(300)), 0, 1) },
];
test.each(reads)("where $id that may not be, it says that it may not be read", ({ act }) => {
  using at = createScratch();
  symlinkSync("circle", at.path("circle"));
  expect(
    tellStorageFault(
      refused(() => act(at)),
      "it",
    ),
  ).toBe("it cannot be used: it may not be read by this user (EACCES)");
});

const writes: { id: string; act: (at: Scratch) => unknown }[] = [
  { id: "written", act: ({ files, path }) => files.write("x", path("nowhere/x"), "") },
  { id: "added to", act: ({ files, path }) => files.append("x", path("folder"), "") },
  {
    id: "renamed",
    act: ({ files, folder }) =>
      files.rename("x", files.contained(folder, "nowhere"), files.contained(folder, "x")),
  },
];
test.each(writes)("where a file is $id that may not be, it says that it may not be written", ({ act }) => {
  using at = createScratch();
  mkdirSync(at.path("folder"));
  expect(
    tellStorageFault(
      refused(() => act(at)),
      "it",
    ),
  ).toContain("it may not be written by this user");
});

test.each([
  { code: "EROFS", syscall: "open", fault: "forbidden" },
  { code: "SQLITE_READONLY", syscall: undefined, fault: "forbidden" },
  { code: "EPERM", syscall: "scandir", fault: "unreadable" },
  { code: "EACCES", syscall: "mkdir", fault: "forbidden" },
  { code: "EACCES", syscall: "bind", fault: undefined },
])("$code of $syscall: $fault", ({ code, syscall, fault }) => {
  const error = Object.assign(new Error("x"), { code, syscall });
  expect<string | undefined>(storageFaultOf(error)?.fault).toBe(fault);
});

const loops: { id: string; act: (at: Scratch) => unknown }[] = [
  { id: "looked for", act: ({ files, path }) => files.exists(path("circle/x")) },
  { id: "measured", act: ({ files, path }) => files.stat(path("circle")) },
  { id: "resolved", act: ({ files, path }) => files.realPath(path("circle")) },
  { id: "listed", act: ({ files, path }) => files.list(path("circle")) },
  { id: "made a folder", act: ({ files, path }) => files.ensureDirectory("x", path("circle")) },
  { id: "written into", act: ({ files, path }) => files.write("x", path("circle/x"), "") },
];
test.each(loops)("where a link to itself is $id, it says that the link is to be removed", ({ act }) => {
  using at = createScratch();
  symlinkSync("circle", at.path("circle"));
  expect(() => act(at)).toThrow();
  try {
    act(at);
  } catch (error) {
    expect(tellStorageFault(error, "it")).toContain("leads to itself; remove the link (ELOOP)");
  }
});

test("a fault names the file that it was first said to be of, and other errors stay as they are", () => {
  const fault = Object.assign(new Error("x"), { code: "SQLITE_CORRUPT" });
  expect(tellStorageFault(fault)).toBe("a file of svc cannot be used: it is damaged (SQLITE_CORRUPT)");
  expect(ofFile(ofFile(fault, "queue.sqlite"), "other")).toBe(fault);
  expect(tellStorageFault(fault)).toBe("queue.sqlite cannot be used: it is damaged (SQLITE_CORRUPT)");
  const other = new Error("illegal transition");
  expect([ofFile(other, "queue.sqlite"), tellStorageFault(other)]).toEqual([other, null]);
});

test("a log line names the path in our words, not in the system's", () => {
  using at = createScratch();
  mkdirSync(at.path("folder"));
  const path = at.path("folder");
  let thrown: unknown;
  try {
    at.files.removeFile("x", path);
  } catch (error) {
    thrown = error;
  }
  expect(faultLine(thrown)).toBe(
    `${path} cannot be used: a folder is where it belongs; doctor names it (EISDIR)`,
  );
  expect(faultLine(new Error("two\nlines"))).toBe("two lines");
});

test("where a file is in place of a folder, a lock in it says that the file is to be moved away", () => {
  using at = createScratch();
  at.files.write("x", at.path("run"), "");
  const locks = createLocks({ clock: createFakeClock() });
  let told: string | null = null;
  try {
    locks.tryTake(at.path("run/gateway.lock"));
  } catch (error) {
    told = tellStorageFault(error, "it");
  }
  expect(told).toBe(
    "it cannot be used: a file is where a folder of it belongs; move the file away (ENOTDIR)",
  );
});

test("where a file is in place of a folder that is to be made, it is to be moved away", () => {
  using at = createScratch();
  at.files.write("x", at.path("run"), "");
  let told: string | null = null;
  try {
    at.files.ensureDirectory("x", at.path("run"));
  } catch (error) {
    told = tellStorageFault(error, "it");
  }
  expect(told).toBe("it cannot be used: a file is where a folder of it belongs; move the file away (EEXIST)");
});
