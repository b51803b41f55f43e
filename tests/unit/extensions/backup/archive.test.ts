import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { BackupManifest } from "../../../../src/protocol/backup.ts";
import { manifestName } from "../../../../src/services/extensions/backup/create.ts";
import { isLeftFolder, judgeFile } from "../../../../src/services/extensions/backup/places.ts";
import { planRestore } from "../../../../src/services/extensions/backup/plan-restore.ts";
import { replaceIn, restoreBackup } from "../../../../src/services/extensions/backup/restore.ts";
import {
  endOfArchive,
  paddingOf,
  readEntries,
  renderHeader,
  type TarEntry,
} from "../../../../src/services/extensions/backup/tar.ts";
import { createOverlays } from "../../../../src/services/sessions/overlays.ts";
import { afterThisTurn } from "../../../../src/system/clock.ts";
import { createRegistryFixture } from "../../../support/session-deps.ts";

type Item = Pick<TarEntry, "path"> & { text?: string; target?: string };

function archiveOf(items: readonly Item[]): Uint8Array {
  const parts = items.map(({ path, text = "", target = "" }) => {
    const content = new TextEncoder().encode(text);
    const kind = target ? "link" : "file";
    const header = renderHeader({ path, kind, size: content.length, modifiedMs: 0, target });
    return [header, content, new Uint8Array(paddingOf(content.length))];
  });
  return Buffer.concat([...parts.flat(), endOfArchive]);
}

const entriesOf = (bytes: Uint8Array) => [
  ...readEntries((start, end) => bytes.subarray(start, end), bytes.length),
];

describe("an archive", () => {
  test("gives back names and targets of any length, as tar does", async () => {
    const long = `runtime/${"folder/".repeat(40)}ünïcode.md`;
    const bytes = archiveOf([
      { path: "a", text: "x".repeat(513) },
      { path: long, text: "text" },
      { path: "link", target: `../${"deep/".repeat(30)}end` },
    ]);
    expect(entriesOf(bytes).map(({ path, size, target }) => [path, size, target])).toEqual([
      ["a", 513, ""],
      [long, 4, ""],
      ["link", 0, `../${"deep/".repeat(30)}end`],
    ]);
    const listed = Bun.spawn(["tar", "-tf", "-", "--quoting-style=literal"], { stdin: bytes });
    expect(await new Response(listed.stdout).text()).toBe(`a\n${long}\nlink\n`);
  });

  test.each([
    { id: "cut off", spoil: (bytes: Uint8Array) => bytes.subarray(0, 700) },
    { id: "without its end", spoil: (bytes: Uint8Array) => bytes.subarray(0, 1024) },
    { id: "overwritten", spoil: (bytes: Uint8Array) => bytes.map((byte, at) => (at === 3 ? 65 : byte)) },
    { id: "empty", spoil: () => new Uint8Array() },
  ])("that is $id is none", ({ spoil }) => {
    const whole = archiveOf([{ path: "a", text: "x" }]);
    expect(() => entriesOf(spoil(whole))).toThrow(/cut off|damaged/);
  });

  test("with a name longer than any path is none", () => {
    expect(() => entriesOf(archiveOf([{ path: "a".repeat(70_000) }]))).toThrow("a name is too long");
  });
});

test.each([
  { kind: "runtime", path: "sessions/b/i/gateway/queue.sqlite", want: "database" },
  { kind: "runtime", path: "sessions/b/i/gateway/queue.sqlite-wal", want: "leave" },
  { kind: "runtime", path: "sessions/b/i/gateway/run/token", want: "secret" },
  { kind: "mailbox", path: "mailboxes/ann@svc.localhost/attestation.key", want: "secret" },
  { kind: "runtime", path: "sessions/b/i/launch-environment.json", want: "secret" },
  { kind: "runtime", path: "sessions/b/i/gateway/run/challenge-key", want: "leave" },
  { kind: "runtime", path: "sessions/b/i/gateway/run/current-instance.json", want: "leave" },
  { kind: "runtime", path: "sessions/b/i/gateway/run/reminders.json", want: "take" },
  { kind: "session", path: "gateway/attach.lock", want: "leave" },
  { kind: "session", path: "mailbox-secrets/jmap-a.json", want: "secret" },
  { kind: "runtime", path: "mailbox-credentials/jmap/jmap-a.json", want: "secret" },
  { kind: "runtime", path: "coordinators/localhost-9891/run/token", want: "secret" },
  { kind: "runtime", path: "sessions/b/i/manifest.turn-artifacts/t/turn.lock", want: "leave" },
  { kind: "runtime", path: "sessions/b/i/gateway/.12-0123456789ab.tmp", want: "leave" },
  { kind: "registry", path: "locks/names/ann.lock", want: "leave" },
  { kind: "state", path: "deliveries/0a/deliveries.sqlite", want: "database" },
  { kind: "state", path: "deliveries/0a/deliveries.lock", want: "leave" },
  { kind: "state", path: "hosts/fleet/build-1/lock", want: "leave" },
  { kind: "state", path: "nats/fleet/operator.nk", want: "secret" },
  { kind: "state", path: "nats/fleet/hosts/build-1.nk", want: "secret" },
  { kind: "state", path: "nats/fleet/server.key", want: "secret" },
  { kind: "state", path: "nats/fleet/server.crt", want: "take" },
  { kind: "mailbox", path: "index.sqlite-wal", want: "leave" },
  { kind: "mailbox", path: "mailboxes/ann@svc.localhost/mailbox.sqlite", want: "database" },
  { kind: "mailbox", path: "staging/att-1/index.sqlite", want: "take" },
  { kind: "mailbox", path: "rules/token", want: "take" },
  { kind: "linked_mailbox", path: "mailbox.sqlite", want: "database" },
  { kind: "linked_mailbox", path: "attestation.key", want: "secret" },
  { kind: "linked_mailbox", path: "notes/index.sqlite", want: "take" },
  { kind: "mailbox", path: "messages/2026/a.md", want: "take" },
] as const)("$kind: $path: $want", ({ kind, path, want }) => {
  expect(judgeFile({ kind }, path)).toBe(want);
});

test("of the state folder, what other places hold is left out", () => {
  const folders = ["overlays", "registry", "runtime", "teams", "teams/runtime"];
  expect(folders.filter((path) => isLeftFolder({ kind: "state" }, path))).toEqual(folders.slice(0, 3));
  expect(isLeftFolder({ kind: "mailbox" }, "registry")).toBe(false);
});

test("paths below a place that moved are replaced, and nothing that only begins alike", () => {
  const moves = [
    ["/home/ann/.svc", "/r"],
    ["/home/ann", "/home/bob"],
  ] as const;
  const before = { a: ["/home/ann", "/home/anna/x", "/home/ann/.svc/s"], b: { c: 1, d: "x /home/ann" } };
  expect(replaceIn(before, moves)).toEqual({
    a: ["/home/bob", "/home/anna/x", "/r/s"],
    b: { c: 1, d: "x /home/ann" },
  });
});

describe("restoring an archive that somebody else made", () => {
  function machine(items: readonly Item[], places: BackupManifest["places"]) {
    const fixture = createRegistryFixture();
    const { system, folder } = fixture;
    const home = join(folder, "home");
    const roots = {
      registryRoot: fixture.root,
      runtimeRoot: join(home, "state/runtime"),
      stateRoot: join(home, "state"),
    };
    mkdirSync(home);
    const manifest: BackupManifest = {
      schema_version: 1,
      svc_version: "0",
      created_at_utc: "2026-11-23T00:00:00.000+00:00",
      home: "/home/ann",
      with_secrets: false,
      places,
    };
    const path = join(folder, "archive.tar");
    const all = [{ path: manifestName, text: JSON.stringify(manifest) }, ...items];
    writeFileSync(path, archiveOf(all), { mode: 0o600 });
    const overlays = createOverlays({ ...system, stateRoot: roots.stateRoot });
    const configRoot = join(home, ".config/svc");
    const deps = { ...system, registry: fixture.registry, overlays, roots, configRoot, home };
    const plan = () => planRestore(deps, path);
    const restore = async (signal = new AbortController().signal) =>
      restoreBackup(deps, plan(), { signal, onProgress: () => {} });
    return { ...fixture, home, roots, plan, restore };
  }
  const runtime = { name: "runtime", kind: "runtime", path: "/home/ann/state/runtime" } as const;

  test.each([
    { id: "climbs out of its place", path: "runtime/../../escaped" },
    { id: "is an absolute path", path: "runtime//etc/escaped" },
    { id: "belongs to no place", path: "other/escaped" },
    { id: "is its place", path: "runtime" },
  ])("a name that $id is refused", async ({ path }) => {
    using at = machine([{ path, text: "x" }], [runtime]);
    await expect(at.restore()).rejects.toThrow(/refused the path|none of its places/);
    expect(existsSync(join(at.home, "escaped"))).toBe(false);
  });

  test("a link that leads out of its place is not made, and none is followed", async () => {
    using at = machine(
      [
        { path: "runtime/sessions/out", target: "../../.." },
        { path: "runtime/sessions/up", target: "/tmp" },
        { path: "runtime/sessions/in", target: "sub" },
        { path: "runtime/sessions/in/file", text: "x" },
      ],
      [runtime],
    );
    await expect(at.restore()).rejects.toThrow("refused the path");
    expect(existsSync(join(at.roots.runtimeRoot, "sessions"))).toBe(false);
    expect(existsSync(join(at.roots.runtimeRoot, "sessions/sub"))).toBe(false);
  });

  test("a link of a mailbox leads to a mailbox that is restored, or is left out and reported", async () => {
    const root = { name: "mailbox", kind: "mailbox", path: "/home/ann/mail" } as const;
    const linked = { name: "linked-1", kind: "linked_mailbox", path: "/home/ann/out" } as const;
    using at = machine(
      [
        { path: "mailbox/mailboxes/ann", target: "/home/ann/out" },
        { path: "linked-1/inbox/a.md", target: "/home/ann/mail/messages/a.md" },
        { path: "linked-1/inbox/b.md", target: "/home/ann/mail/../.ssh/id" },
        { path: "linked-1/inbox/c.md", target: "/etc/passwd" },
        { path: "runtime/sessions/d", target: "/home/ann/mail" },
      ],
      [root, linked, runtime],
    );
    const { problems } = await at.restore();
    expect(readlinkSync(join(at.home, "mail/mailboxes/ann"))).toBe(join(at.home, "out"));
    expect(readlinkSync(join(at.home, "out/inbox/a.md"))).toBe(join(at.home, "mail/messages/a.md"));
    expect(readdirSync(join(at.home, "out/inbox"))).toEqual(["a.md"]);
    expect(problems.map((one) => one.split(": ")[0])).toEqual([
      join(at.home, "out/inbox/b.md"),
      join(at.home, "out/inbox/c.md"),
      join(at.roots.runtimeRoot, "sessions/d"),
    ]);
  });

  test("a record and a manifest that are damaged keep nothing else from being restored", async () => {
    const registry = { name: "registry", kind: "registry", path: "/home/ann/registry" } as const;
    using at = machine(
      [
        { path: "registry/live_agents/ann-1/record.json", text: "{" },
        { path: "runtime/sessions/b/i/manifest.json", text: "{" },
        { path: "runtime/sessions/b/i/gateway/events.jsonl", text: "x" },
      ],
      [registry, runtime],
    );
    const { agents, problems, files } = await at.restore();
    expect([agents, files]).toEqual([[], 2]);
    expect(problems).toEqual([expect.stringContaining("the record of agent ann-1: ")]);
    expect(readFileSync(join(at.roots.runtimeRoot, "sessions/b/i/manifest.json"), "utf8")).toBe("{");
  });

  test("a Ctrl-C within a file leaves no part of it", async () => {
    using at = machine(
      [{ path: "state/teams/t/agents.json", text: "x".repeat(1 << 20) }],
      [{ name: "state", kind: "state", path: "/home/ann/state" }],
    );
    const stop = new AbortController();
    const path = join(at.roots.stateRoot, "teams/t/agents.json");
    const watch = () => (existsSync(path) ? stop.abort(new Error("interrupted")) : afterThisTurn(watch));
    watch();
    await expect(at.restore(stop.signal)).rejects.toThrow("interrupted");
    expect(existsSync(path)).toBe(false);
  });

  test("a Ctrl-C ends it while files are written", async () => {
    using at = machine(
      ["a", "b", "c", "d"].map((name) => ({ path: `runtime/sessions/${name}`, text: "x" })),
      [runtime],
    );
    const stop = new AbortController();
    afterThisTurn(() => stop.abort(new Error("interrupted")));
    await expect(at.restore(stop.signal)).rejects.toThrow("interrupted");
  });

  test("a dangling link that is there stays", async () => {
    using at = machine([{ path: "runtime/sessions/kept", text: "new" }], [runtime]);
    const path = join(at.roots.runtimeRoot, "sessions/kept");
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync("nothing", path);
    expect((await at.restore()).kept).toEqual([path]);
    expect(readlinkSync(path)).toBe("nothing");
  });

  test("a mailbox in an overlay that was not adopted is refused", async () => {
    const place = { name: "mailbox-1", kind: "mailbox", path: "/home/ann/project/.svc/mailbox" } as const;
    using at = machine([{ path: "mailbox-1/messages/a.md", text: "x" }], [place]);
    const overlay = join(at.home, "project/.svc");
    mkdirSync(overlay, { recursive: true });
    await expect(at.restore()).rejects.toThrow("not adopted");
    expect(existsSync(join(overlay, "mailbox"))).toBe(false);
  });

  test("a file that is there stays as it is", async () => {
    using at = machine([{ path: "runtime/sessions/kept", text: "new" }], [runtime]);
    const path = join(at.roots.runtimeRoot, "sessions/kept");
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "old");
    expect((await at.restore()).kept).toEqual([path]);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  test.each([
    { id: "svc's configuration", path: "/home/ann/.config/svc", entry: "rules/a.md" },
    { id: "the configuration of another program", path: "/home/ann/.config/git", entry: "rules/a.md" },
    { id: "the keys of ssh", path: "/home/ann/.ssh", entry: "rules/authorized_keys" },
    { id: "the programs of the user", path: "/home/ann/.local/bin", entry: "rules/ls" },
    { id: "the adoptions", path: "/home/ann/state/overlays", entry: "rules/a" },
    { id: "the state folder", path: "/home/ann/state", entry: "rules/a" },
    { id: "the home folder", path: "/home/ann/../ann", entry: "rules/a" },
    { id: "a hidden folder outside of the home", path: "/tmp/svc-none/.ssh", entry: "rules/a" },
    { id: "a folder above the home", path: "/", entry: "rules/a" },
  ])("a mailbox in $id is left out, and the rest is restored", async ({ path, entry }) => {
    for (const kind of ["mailbox", "linked_mailbox"] as const) {
      using at = machine(
        [
          { path: `place-1/${entry}`, text: "x" },
          { path: "mailbox-2/rules/a", text: "x" },
        ],
        [
          { name: "place-1", kind, path },
          { name: "mailbox-2", kind: "mailbox", path: "/home/ann/mail" },
        ],
      );
      const done = await at.restore().catch((error: Error) => error.message);
      if (typeof done === "string") {
        expect(done).toContain("refused the path");
        expect(readdirSync(at.home)).toEqual([]);
        continue;
      }
      expect(done.problems).toEqual([expect.stringMatching(/^the mailbox .* unpack it with tar/)]);
      expect([readdirSync(at.home), done.places.length]).toEqual([["mail"], 1]);
    }
  });

  test("a link in the home does not hide where a mailbox goes", async () => {
    const path = "/home/ann/settings/svc/mail";
    using at = machine(
      [{ path: "mailbox-1/rules/a", text: "x" }],
      [{ name: "mailbox-1", kind: "mailbox", path }],
    );
    mkdirSync(join(at.home, "settings"));
    symlinkSync("settings", join(at.home, ".config"));
    const { problems } = await at.restore();
    expect(problems).toEqual([expect.stringContaining("svc's own files")]);
    expect(readdirSync(join(at.home, "settings"))).toEqual([]);
  });

  const kinds = ["registry", "runtime", "state", "mailbox", "linked_mailbox"] as const;
  test.each([
    { kind: "mailbox", path: "deliveries.yaml" },
    { kind: "mailbox", path: "authorized_keys" },
    { kind: "mailbox", path: ".git/config" },
    { kind: "linked_mailbox", path: ".profile" },
    { kind: "linked_mailbox", path: "inbox/run.sh" },
    { kind: "linked_mailbox", path: ".git/a.md" },
    { kind: "state", path: "adopted.json" },
    { kind: "state", path: "overlays/0a.json" },
    { kind: "state", path: "nats/evil" },
    { kind: "state", path: "hosts/fleet/a/other.json" },
    { kind: "registry", path: "other/record.json" },
    { kind: "runtime", path: "other/file" },
  ] as const)("$path is refused in a $kind, before anything is written", async ({ kind, path }) => {
    const places = kinds.map((one) => ({
      name: one.replace("_", ""),
      kind: one,
      path: `/home/ann/${one}`,
    }));
    using at = machine(
      [
        { path: "state/teams/first", text: "x" },
        { path: "mailbox/rules/first", text: "x" },
        { path: `${kind.replace("_", "")}/${path}`, text: "x" },
      ],
      places,
    );
    await expect(at.restore()).rejects.toThrow(`is no part of a ${kind}`);
    expect(readdirSync(at.home)).toEqual([]);
  });

  test.each([
    { id: "a name that is refused", items: [{ path: "state/../../.bashrc2", text: "x" }] },
    { id: "an entry of no place", items: [{ path: "other/a", text: "x" }] },
    {
      id: "a file below a link",
      items: [
        { path: "mailbox-1/mailboxes/a", target: ".." },
        { path: "mailbox-1/mailboxes/a/b", text: "x" },
      ],
    },
    {
      id: "a mailbox below a link of another one",
      items: [{ path: "mailbox-1/mailboxes/a", target: ".." }],
      more: [{ name: "mailbox-2", kind: "mailbox", path: "/home/ann/mail/mailboxes/a/x" } as const],
    },
    {
      id: "one name as a file and a link",
      items: [
        { path: "state/teams/b", text: "x" },
        { path: "state/teams/b", target: "a" },
      ],
    },
    {
      id: "a record that is a link",
      items: [{ path: "registry/live_agents/a/record.json", target: "b" }],
      more: [{ name: "registry", kind: "registry", path: "/home/ann/registry" } as const],
    },
  ] as { id: string; items: Item[]; more?: BackupManifest["places"] }[])(
    "$id is met before anything is written",
    async ({ items, more = [] }) => {
      const state = { name: "state", kind: "state", path: "/home/ann/state" } as const;
      const mailbox = { name: "mailbox-1", kind: "mailbox", path: "/home/ann/mail" } as const;
      const first = [
        { path: "state/teams/a", text: "x" },
        { path: "mailbox-1/rules/a", text: "x" },
      ];
      using at = machine([...first, ...items], [state, mailbox, ...more]);
      await expect(at.restore()).rejects.toThrow(/refused the path|none of its places|as svc makes it/);
      expect(readdirSync(at.home)).toEqual([]);
    },
  );

  test("a link that leads out through another link is not made", async () => {
    using at = machine(
      [
        { path: "mailbox-1/mailboxes/d/f", text: "x" },
        { path: "mailbox-1/mailboxes/d/l1", target: "../.." },
        { path: "mailbox-1/mailboxes/d/l2", target: "l1/../../etc" },
        { path: "mailbox-1/mailboxes/d/l3", target: "./f/./.." },
        { path: "mailbox-1/mailboxes/d/l4", target: "../../../.." },
        { path: "mailbox-1/mailboxes/d/l5", target: "../d/f" },
      ],
      [{ name: "mailbox-1", kind: "mailbox", path: "/home/ann/mail" }],
    );
    const { problems } = await at.restore();
    expect(readdirSync(join(at.home, "mail/mailboxes/d")).sort()).toEqual(["f", "l1", "l5"]);
    expect(problems.length).toBe(3);
  });

  test("a plan names agents, folders of mail, overlays and what decides about trust, and writes nothing", () => {
    using at = machine(
      [
        { path: "state/nats/fleet/users.json", text: "{}" },
        { path: "state/nats/fleet/nats.conf", text: "x" },
        { path: "state/teams/t-0a/worktrees/w/.claude/settings.json", text: "{}" },
        { path: "mailbox-1/rules/a", text: "x" },
      ],
      [
        { name: "state", kind: "state", path: "/home/ann/state" },
        { name: "mailbox-1", kind: "mailbox", path: "/home/ann/project/.svc/mailbox" },
        { name: "mailbox-2", kind: "mailbox", path: "/tmp/svc-none/mail" },
      ],
    );
    const { agents, mail, overlays, trust } = at.plan();
    expect({ agents, mail, overlays, trust }).toEqual({
      agents: [],
      mail: [
        { path: join(at.home, "project/.svc/mailbox"), outsideHome: false },
        { path: "/tmp/svc-none/mail", outsideHome: true },
      ],
      overlays: [join(at.home, "project/.svc")],
      trust: [
        "keys and users of NATS servers",
        "working folders of the agents of teams, with the code in them",
        "records and budgets of teams",
      ],
    });
    expect(readdirSync(at.home)).toEqual([]);
  });

  test("files of a process that ran are left out", async () => {
    const place = { name: "state", kind: "state", path: "/home/ann/state" } as const;
    const names = ["nats.conf", "server.json", "lock", "operator.nk"];
    using at = machine(
      names.map((name) => ({ path: `state/nats/fleet/${name}`, text: "x" })),
      [place],
    );
    await at.restore();
    expect(readdirSync(join(at.roots.stateRoot, "nats/fleet"))).toEqual(["operator.nk"]);
  });
});
