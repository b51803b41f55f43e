import { expect, test } from "bun:test";
import { UsageError } from "../../../src/cli/command.ts";
import { readFileFlag } from "../../../src/cli/file-flag.ts";

const failing = (code: string) => () => {
  throw Object.assign(new Error(`${code}: the system's own words`), { code });
};

test.each([
  { id: "is not there", read: () => null, says: "--role-file: there is no file notes/role.md" },
  {
    id: "is a folder",
    read: failing("EISDIR"),
    says: "--role-file: notes/role.md is a folder, not a file: name a file",
  },
  {
    id: "is another user's",
    read: failing("EACCES"),
    says: "--role-file: notes/role.md may not be read by this user: make it readable, or name another",
  },
])("a file of a flag that $id is named, and the flag with it", ({ read, says }) => {
  const reading = () => readFileFlag("role-file", "notes/role.md", { files: { read }, cwd: "/work" });
  expect(reading).toThrow(new UsageError(says));
});

test("a file of a flag is looked for from where the command line was typed", () => {
  const files = { read: (path: string) => `at ${path}` };
  expect(readFileFlag("screen", "../a", { files, cwd: "/desk/here" })).toBe("at /desk/a");
});

test("a disk that fails is told as itself", () => {
  const reading = () => readFileFlag("screen", "a", { files: { read: failing("EIO") }, cwd: "/" });
  expect(reading).toThrow("EIO");
});
