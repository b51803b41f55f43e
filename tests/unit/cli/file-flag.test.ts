import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { UsageError } from "../../../src/cli/command-line/command.ts";
import {
  maxInputBytes,
  readFileFlag,
  readPrompt,
  readStdin,
} from "../../../src/cli/command-line/flag-values.ts";
import { readContent } from "../../../src/cli/mail/mail-flags.ts";
import { createFakeIo } from "../../support/fake-io.ts";
import { createScratch } from "../../support/scratch.ts";

const why = {
  folder: "is a folder, not a file: name a file",
  device: "is a device, not a file: name a file",
  large: "is larger than 8 MiB: give less text",
  text: "is not UTF-8 text: convert it, for example with iconv",
};

test.each([
  { id: "is not there", name: "absent", says: "--role-file: there is no file absent" },
  { id: "is a folder", name: "folder", says: `--role-file: folder ${why.folder}` },
  { id: "is a device without an end", name: "/dev/zero", says: `--role-file: /dev/zero ${why.device}` },
  { id: "is a link to a device", name: "link", says: `--role-file: link ${why.device}` },
  { id: "is an empty device", name: "/dev/null", says: `--role-file: /dev/null ${why.device}` },
  { id: "is larger than the limit", name: "large", says: `--role-file: large ${why.large}` },
  { id: "is no UTF-8", name: "latin1", says: `--role-file: latin1 ${why.text}` },
])("a file of a flag that $id is refused, with the flag and the file named", async ({ name, says }) => {
  using at = createScratch();
  mkdirSync(at.path("folder"));
  symlinkSync("/dev/zero", at.path("link"));
  writeFileSync(at.path("large"), Buffer.alloc(maxInputBytes + 1, "a"));
  writeFileSync(at.path("latin1"), Buffer.from("na\xefve", "latin1"));
  const reading = readFileFlag("role-file", name, { files: at.files, cwd: at.folder });
  expect(await reading.catch((error) => error)).toEqual(new UsageError(says));
});

test("a file of a flag is looked for from where the command line was typed, and may be of the full size", async () => {
  using at = createScratch();
  mkdirSync(at.path("here"));
  writeFileSync(at.path("a"), Buffer.alloc(maxInputBytes, "a"));
  const text = await readFileFlag("screen", "../a", { files: at.files, cwd: at.path("here") });
  expect(text).toHaveLength(maxInputBytes);
});

test("a character that lies across two pieces that are read is one", async () => {
  using at = createScratch();
  const text = `${"a".repeat(65_535)}é${"ü".repeat(70_000)}`;
  writeFileSync(at.path("a"), text);
  expect(await readFileFlag("screen", "a", { files: at.files, cwd: at.folder })).toBe(text);
});

test("a recorded screen may hold bytes that are no text", async () => {
  using at = createScratch();
  writeFileSync(at.path("a"), Buffer.from("na\xefve", "latin1"));
  const read = readFileFlag("screen", "a", { files: at.files, cwd: at.folder, lossy: true });
  expect(await read).toBe("na\ufffdve");
});

test("a pipe is read as a file is, and no further than the limit", async () => {
  using at = createScratch();
  const read = (script: string) => {
    const reader = Bun.spawnSync({
      cmd: ["bash", "-c", `exec "${process.execPath}" "$1" <(${script})`, "bash", at.path("read.ts")],
      cwd: at.folder,
      timeout: 20_000,
    });
    return reader.stdout.toString() || reader.stderr.toString();
  };
  const source = new URL("../../../src/system/read-input.ts", import.meta.url).pathname;
  writeFileSync(
    at.path("read.ts"),
    `import { readInputFile } from ${JSON.stringify(source)};
     console.log(JSON.stringify(await readInputFile(process.argv[2], { maxBytes: 1000 })));
     process.exit(0);`,
  );
  expect(JSON.parse(read("echo one; echo two"))).toEqual({ ok: true, text: "one\ntwo\n" });
  expect(JSON.parse(read("yes"))).toEqual({ ok: false, why: "too_large" });
});

test("a file that this user may not read is reported as that", async () => {
  using at = createScratch();
  writeFileSync(at.path("a"), "secret");
  chmodSync(at.path("a"), 0o000);
  const reading = await readFileFlag("screen", "a", { files: at.files, cwd: at.folder }).catch(String);
  // Root reads everything.
  expect(reading).toMatch(process.getuid?.() === 0 ? /^secret$/ : /may not be read by this user/);
});

test.each(["too_large", "device", "folder", "not_text"] as const)(
  "standard input that is %s is refused",
  async (reason) => {
    const reading = readStdin({ readInput: async () => ({ ok: false, why: reason }) });
    expect(await reading.catch((error) => error)).toBeInstanceOf(UsageError);
  },
);

const none = {
  "body-content": undefined,
  "body-file": undefined,
  attach: [],
  "notify-block": undefined,
  "notify-block-placement": undefined,
};

test("a message without a text is sent only when that was asked for", async () => {
  using at = createScratch();
  writeFileSync(at.path("empty.md"), "\n");
  const content = (args: Partial<Parameters<typeof readContent>[0]>, input?: string) =>
    readContent(
      { ...none, ...args },
      createFakeIo({ cwd: at.folder, ...(input === undefined ? {} : { input }) }),
      at.files,
    ).catch(String);
  expect(await content({}, "")).toContain('standard input is empty: give the text, or --body-content ""');
  expect(await content({}, " \n")).toContain("standard input is empty");
  expect(await content({ "body-file": "empty.md" })).toContain("--body-file: empty.md is empty");
  expect(await content({}, "hello\n")).toMatchObject({ body_content: "hello\n" });
  expect(await content({ "body-content": "" }, "")).toMatchObject({ body_content: "" });
  expect(await readPrompt(undefined, createFakeIo({ input: "" })).catch(String)).toContain(
    "the prompt is empty",
  );
});
