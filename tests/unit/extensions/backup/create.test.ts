import { expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { BackupPlace } from "../../../../src/protocol/backup.ts";
import { createBackup } from "../../../../src/services/extensions/backup/create.ts";
import { readEntries } from "../../../../src/services/extensions/backup/tar.ts";
import { afterThisTurn } from "../../../../src/system/clock.ts";
import type { Files } from "../../../../src/system/files.ts";
import { createIds } from "../../../../src/system/ids.ts";
import { createLocks } from "../../../../src/system/locks.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { createScratch } from "../../../support/scratch.ts";

function machine() {
  const scratch = createScratch();
  const output = scratch.path("backup.tar");
  return {
    ...scratch,
    output,
    place: (kind: BackupPlace["kind"], path: string): BackupPlace => ({
      name: kind.split("_")[0] ?? "",
      kind,
      path: scratch.path(path),
    }),
    write(path: string, text = path) {
      mkdirSync(dirname(scratch.path(path)), { recursive: true });
      writeFileSync(scratch.path(path), text);
    },
    create: (
      places: BackupPlace[],
      {
        files = scratch.files as Files,
        signal = new AbortController().signal,
        whyNoMail = (_root: string): string | null => null,
      } = {},
    ) =>
      createBackup(
        { files, ids: createIds() },
        {
          output,
          manifest: {
            schema_version: 1,
            svc_version: "0",
            created_at_utc: "2026-01-01T00:00:00.000+00:00",
            home: scratch.folder,
            with_secrets: false,
            places,
          },
          signal,
          whyNoMail,
          onProgress: () => {},
        },
      ),
    names() {
      const bytes = readFileSync(output);
      const all = [...readEntries((start, end) => bytes.subarray(start, end), bytes.length)];
      return all
        .filter(({ kind }) => kind !== "folder")
        .map(({ path }) => path)
        .slice(1);
    },
  };
}

test("what lies in two places is in the archive once, under the inner one", async () => {
  using at = machine();
  at.write("state/teams/a");
  at.write("state/mailbox/protocol-version.txt");
  symlinkSync("state", at.path("way"));
  expect(
    (await at.create([at.place("state", "way"), at.place("mailbox", "state/mailbox")])).problems,
  ).toEqual([]);
  expect(at.names()).toEqual(["state/teams/a", "mailbox/protocol-version.txt"]);
});

test("a name that a restore would refuse and a folder that cannot be read are reported, and the rest is taken", async () => {
  using at = machine();
  for (const name of ["a", "b\nc", "shut/x"]) at.write(`state/teams/${name}`);
  const list = (path: string) => {
    if (path === at.path("state/teams/shut")) throw new Error("permission denied");
    return at.files.list(path);
  };
  const { problems } = await at.create([at.place("state", "state")], { files: { ...at.files, list } });
  expect(problems).toEqual([
    `${at.path("state/teams")}: the name "b\\nc" holds a control character; rename it`,
    `${at.path("state/teams/shut")}: permission denied`,
  ]);
  expect(at.names()).toEqual(["state/teams/a"]);
});

test.each([
  { kind: "state", path: "deliveries/0a/deliveries.lock" },
  { kind: "state", path: "hosts/fleet/build-1/lock" },
  { kind: "state", path: "nats/fleet/users.json.lock" },
  { kind: "registry", path: "locks/names/ann.lock" },
  { kind: "runtime", path: "coordinators/localhost-9891/run/coordinator.lock" },
  { kind: "runtime", path: "sessions/b/i/gateway/run/gateway.lock" },
  { kind: "session", path: "manifest.json.lock" },
  { kind: "mailbox", path: "locks/addresses/ann.lock" },
] as const)(
  "$kind/$path: a lock that a program holds is left out with its journal",
  async ({ kind, path }) => {
    using at = machine();
    mkdirSync(dirname(at.path(`place/${path}`)), { recursive: true });
    const lock = createLocks({ clock: createFakeClock() }).tryTake(at.path(`place/${path}`));
    writeFileSync(at.path(`place/${path}-journal`), "");
    const { problems } = await at.create([at.place(kind, "place")]);
    lock?.release();
    expect([problems, at.names()]).toEqual([[], []]);
  },
);

test("a name that is not UTF-8 is reported", async () => {
  using at = machine();
  at.write("state/teams/a");
  writeFileSync(Buffer.concat([Buffer.from(at.path("state/teams/b")), Buffer.from([0xff])]), "");
  const { problems } = await at.create([at.place("state", "state")]);
  expect(problems).toEqual([expect.stringContaining("is not UTF-8")]);
});

test("a file that becomes shorter while it is copied is reported, and the archive stays whole", async () => {
  using at = machine();
  at.write("state/teams/a", "x".repeat(5000));
  at.write("state/teams/b");
  const open: Files["open"] = (path, policy) => {
    const opened = at.files.open(path, policy);
    if (path === at.path("state/teams/a")) truncateSync(path, 10);
    return opened;
  };
  const { problems } = await at.create([at.place("state", "state")], { files: { ...at.files, open } });
  expect(problems).toEqual([expect.stringContaining("it became shorter while it was copied")]);
  expect(at.names()).toEqual(["state/teams/a", "state/teams/b"]);
});

test("a file whose size no header can say is reported", async () => {
  using at = machine();
  at.write("state/teams/a", "");
  truncateSync(at.path("state/teams/a"), 8 ** 12);
  at.write("state/teams/b");
  const { problems } = await at.create([at.place("state", "state")]);
  expect(problems).toEqual([`${at.path("state/teams/a")}: too_large`]);
  expect(at.names()).toEqual(["state/teams/b"]);
});

test("the archive is on disk before it has its name", async () => {
  using at = machine();
  at.write("state/teams/a");
  await at.create([at.place("state", "state")]);
  expect(at.labels.filter((label) => label.startsWith("file:backup")).slice(-3)).toEqual([
    "file:backup-archive",
    "file:backup-placed",
    "file:backup-folder",
  ]);
  expect(at.labels.filter((label) => label === "file:backup-archive").length).toBe(2);
});

test("a Ctrl-C that arrives while files are copied ends the backup, and leaves nothing", async () => {
  using at = machine();
  for (const name of ["a", "b", "c", "d"]) at.write(`state/teams/${name}`);
  const stop = new AbortController();
  afterThisTurn(() => stop.abort(new Error("interrupted")));
  await expect(at.create([at.place("state", "state")], { signal: stop.signal })).rejects.toThrow(
    "interrupted",
  );
  expect(existsSync(at.output)).toBe(false);
  expect(readdirSync(at.folder)).toEqual(["state"]);
});

test("sockets of ssh and the sign-in page of the console are left out without a problem", async () => {
  using at = machine();
  at.write("runtime/console-sign-in.html");
  at.write("runtime/ssh/build-1");
  at.write("runtime/sessions/b/i/transcript/screen-turns.jsonl");
  expect((await at.create([at.place("runtime", "runtime")])).problems).toEqual([]);
  expect(at.names()).toEqual([`runtime/${join("sessions/b/i/transcript", "screen-turns.jsonl")}`]);
});

test("what a restore would refuse is reported and left out", async () => {
  using at = machine();
  const names = ["mail/.git/config", "mail/notes.txt", "mail/rules/README.md", "state/teams/a"];
  for (const name of [...names, "state/note"]) at.write(name);
  symlinkSync("rules", at.path("mail/link"));
  const { problems } = await at.create([at.place("mailbox", "mail"), at.place("state", "state")]);
  expect(problems).toEqual(
    ["mail/.git", "mail/link", "mail/notes.txt", "state/note"].map((name) =>
      expect.stringContaining(`${at.path(name)}: svc did not make it`),
    ),
  );
  expect(at.names()).toEqual(["mailbox/rules/README.md", "state/teams/a"]);
});

test("a mailbox that no restore puts back is taken and reported", async () => {
  using at = machine();
  at.write("one/protocol-version.txt");
  at.write("other/protocol-version.txt");
  const other = at.place("mailbox", "other").path;
  const places = [at.place("mailbox", "one"), { ...at.place("mailbox", "other"), name: "mailbox-2" }];
  const { problems } = await at.create(places, {
    whyNoMail: (root) => (root === other ? "no mail goes there" : null),
  });
  expect(at.names()).toEqual(["mailbox/protocol-version.txt", "mailbox-2/protocol-version.txt"]);
  expect(problems).toEqual([
    `${other} is in the archive, but no mail goes there; unpack that mailbox with tar`,
  ]);
});
