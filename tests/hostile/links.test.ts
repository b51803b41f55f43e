import { describe, expect, test } from "bun:test";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createTurnDirectories } from "../../src/services/headless/turn-directory.ts";
import { readManifest } from "../../src/services/sessions/manifest.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createScratch, type Scratch } from "../support/scratch.ts";
import { sampleManifest } from "../support/session-samples.ts";

const outsideText = "what lies outside";

/** A folder of ours and, beside it, a file of the same user's that is none of our business. */
function setup() {
  const at = createScratch();
  mkdirSync(at.path("ours"), { mode: 0o700 });
  mkdirSync(at.path("outside"));
  const outside = at.path("outside/diary");
  writeFileSync(outside, outsideText, { mode: 0o644 });
  return {
    at,
    files: at.files,
    outside,
    place: at.path("ours/file"),
    /** Puts a link to the outside in the place of a file, or where none is. */
    link(place: string, target = outside) {
      rmSync(place, { recursive: true, force: true });
      symlinkSync(target, place);
    },
    untouched: () => {
      expect([readFileSync(outside, "utf8"), statSync(outside).mode & 0o777]).toEqual([outsideText, 0o644]);
      expect(readdirSync(at.path("outside"))).toEqual(["diary"]);
    },
    [Symbol.dispose]: () => at[Symbol.dispose](),
  };
}

/** Calls `swap` once, when the step is about to take effect: after all that was checked before it. */
function swapBefore(at: Scratch, label: string, swap: () => void): void {
  let swapped = false;
  at.beforeStep = (step) => {
    if (step !== label || swapped) return;
    swapped = true;
    swap();
  };
}

type Fixture = ReturnType<typeof setup>;

describe("a file that becomes a link between the look and the step", () => {
  test.each<{ id: string; label: string; act: (fixture: Fixture) => unknown }>([
    { id: "adding a line", label: "x", act: ({ files, place }) => files.append("x", place, "line") },
    { id: "opening to add", label: "x", act: ({ files, place }) => files.openAppend("x", place) },
    { id: "cutting off", label: "x", act: ({ files, place }) => files.truncate("x", place, 0) },
    { id: "making a new file", label: "x", act: ({ files, place }) => files.create("x", place, "text") },
    {
      id: "copying to it",
      label: "x",
      act: ({ files, place, at }) => {
        writeFileSync(at.path("ours/source"), "text");
        return files.copy("x", at.path("ours/source"), place, { maxBytes: 100 });
      },
    },
  ])("$id fails, and nothing changes behind it", ({ label, act }) => {
    using fixture = setup();
    writeFileSync(fixture.place, "ours");
    swapBefore(fixture.at, label, () => fixture.link(fixture.place));
    expect(() => act(fixture)).toThrow();
    fixture.untouched();
  });

  test.each(["x", "x.rename"])("replacing it takes the link's place, swapped before %s", (label) => {
    using fixture = setup();
    writeFileSync(fixture.place, "ours");
    swapBefore(fixture.at, label, () => fixture.link(fixture.place));
    fixture.files.write("x", fixture.place, "new");
    expect([fixture.files.isLink(fixture.place), fixture.files.read(fixture.place)]).toEqual([false, "new"]);
    fixture.untouched();
  });

  test("copying from it is refused and makes nothing", () => {
    using fixture = setup();
    writeFileSync(fixture.place, "ours");
    swapBefore(fixture.at, "x", () => fixture.link(fixture.place));
    const copy = fixture.at.path("ours/copy");
    expect(fixture.files.copy("x", fixture.place, copy, { maxBytes: 100 })).toEqual({
      ok: false,
      why: "not_regular",
    });
    expect(fixture.files.exists(copy)).toBe(false);
  });

  test("a link that leads nowhere makes no file there", () => {
    using fixture = setup();
    const nowhere = fixture.at.path("outside/new");
    fixture.link(fixture.place, nowhere);
    for (const act of [
      () => fixture.files.append("x", fixture.place, "line"),
      () => fixture.files.openAppend("x", fixture.place),
      () => fixture.files.create("x", fixture.place, "text"),
    ]) {
      expect(act).toThrow();
    }
    fixture.untouched();
  });

  test("what is ours reads as absent once it is a link, a pipe or a folder", () => {
    using fixture = setup();
    fixture.link(fixture.place);
    expect([fixture.files.read(fixture.place), fixture.files.readPart(fixture.place, 0, 100).length]).toEqual(
      [null, 0],
    );
    rmSync(fixture.place);
    expect(Bun.spawnSync(["mkfifo", fixture.place]).exitCode).toBe(0);
    expect(fixture.files.read(fixture.place)).toBeNull();
    expect(fixture.files.read(fixture.at.path("ours"))).toBeNull();
  });
});

/** The folder of one session with a manifest and one turn, and the same again elsewhere. */
function sessions() {
  const fixture = setup();
  const make = (root: string) => {
    const paths = sessionPaths(root);
    for (const folder of [paths.runRoot, paths.logRoot]) mkdirSync(folder, { recursive: true });
    writeFileSync(paths.manifest, JSON.stringify(sampleManifest()));
    const turn = join(root, "manifest.turn-artifacts", "one");
    mkdirSync(turn, { recursive: true });
    writeFileSync(join(turn, "request.json"), JSON.stringify(turnRequest("one")));
    return root;
  };
  const root = make(fixture.at.path("ours/session"));
  const elsewhere = make(fixture.at.path("elsewhere"));
  const paths = sessionPaths(root);
  return { ...fixture, root, elsewhere, paths, read: () => readManifest(fixture.files, paths.manifest) };
}

const turnRequest = (turnId: string) => ({
  schema_version: 1 as const,
  turn_id: turnId,
  turn_index: 1,
  tracked_agent_id: "session-1",
  request_id: null,
  requested_at_utc: "2026-11-21T04:47:00.000+00:00",
  life: "life-1",
  tool: "demo",
  executable: "/bin/demo",
  args: [],
  working_directory: "/home/user/project",
  role_prompt: null,
  prompt: outsideText,
  session: { mode: "new" as const },
  model: null,
  display_style: "plain" as const,
  display_detail: "concise" as const,
});

const placesOf = (root: string) => {
  const paths = sessionPaths(root);
  return [root, ...Object.values(paths), `${paths.queue}-wal`, `${paths.queue}-shm`];
};

describe("a session in which something of ours became a link", () => {
  const named = placesOf("/sessions/s").map((path) => path.slice("/sessions/s".length));
  test.each(named)("at session%s: is refused by name, whatever leads to it", (name) => {
    using session = sessions();
    const at = `${session.root}${name}`;
    rmSync(at, { recursive: true, force: true });
    symlinkSync(`${session.elsewhere}${name}`, at);
    expect(session.read).toThrow(`session${name} is a symbolic link`);
    expect(session.read).not.toThrow(session.elsewhere);
  });

  test("is served where only a folder above it is a link: where sessions live is the user's choice", () => {
    using session = sessions();
    const parent = session.at.path("ours");
    renameSync(parent, session.at.path("moved"));
    symlinkSync(session.at.path("moved"), parent);
    expect(session.read().agent_name).toBe("worker");
  });
});

describe("turns of which something became a link", () => {
  test("a linked folder is no turn: not found, not listed, and no new turn goes there", () => {
    using session = sessions();
    const turns = createTurnDirectories({ files: session.files, sessionRoot: session.root });
    expect(turns.find("one")?.request()?.turn_id).toBe("one");
    session.link(join(turns.root, "one"), join(session.elsewhere, "manifest.turn-artifacts", "one"));
    expect([turns.find("one"), turns.all(), turns.list(10)]).toEqual([null, [], []]);
    expect(() => turns.create(turnRequest("one"))).toThrow("exists already");
    session.link(join(turns.root, "two"), session.at.path("outside/two"));
    expect(() => turns.create(turnRequest("two"))).toThrow("exists already");
    session.untouched();
  });

  test("a linked folder of all turns holds none, and none is made in it", () => {
    using session = sessions();
    const turns = createTurnDirectories({ files: session.files, sessionRoot: session.root });
    session.link(turns.root, session.at.path("outside"));
    mkdirSync(session.at.path("elsewhere/manifest.turn-artifacts/two"));
    expect([turns.find("one"), turns.all(), turns.list(10)]).toEqual([null, [], []]);
    expect(() => turns.create(turnRequest("two"))).toThrow("symbolic link");
    session.untouched();
  });

  test("a linked file of a turn is not there", () => {
    using session = sessions();
    const turns = createTurnDirectories({ files: session.files, sessionRoot: session.root });
    const turn = turns.find("one");
    const elsewhere = join(session.elsewhere, "manifest.turn-artifacts", "one", "request.json");
    session.link(turn?.paths.request ?? "", elsewhere);
    expect(turn?.request()).toBeNull();
  });
});
