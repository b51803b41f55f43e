import { describe, expect, test } from "bun:test";
import {
  chmodSync,
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
import {
  createOverlays,
  judgeOverlay,
  prepareOverlay,
  withAdoptions,
} from "../../../src/services/sessions/overlays.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createIds } from "../../../src/system/ids.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createScratch } from "../../support/scratch.ts";

function setup() {
  const scratch = createScratch();
  mkdirSync(scratch.path("project/.git"), { recursive: true });
  const project = scratch.path("project");
  const overlay = join(project, ".svc");
  const { files } = scratch;
  const clock = createClock();
  const overlays = createOverlays({
    files,
    clock,
    ids: createIds(),
    locks: createLocks({ clock }),
    stateRoot: scratch.path("state"),
  });
  return {
    scratch,
    files,
    project,
    overlay,
    overlays,
    state: scratch.path("state/overlays"),
    guarded: withAdoptions(files, overlays),
    why: () => overlays.exposure(overlay)?.reason ?? null,
    met: (env = {}) => judgeOverlay(files, overlays, env, project),
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

describe("an overlay", () => {
  test("that exists is refused, with the command that adopts it, until it is adopted", () => {
    using at = setup();
    mkdirSync(at.overlay);
    expect(at.met()).toEqual({
      path: at.overlay,
      named: false,
      refusal: `${at.overlay} is a project overlay that you have not adopted; run: svc-mgr overlay adopt ${at.overlay}`,
    });
    expect(readdirSync(at.overlay)).toEqual([]);
    const adoption = at.overlays.adopt(at.overlay, "command");
    const { dev, ino } = statSync(at.overlay);
    expect(adoption).toMatchObject({ path: at.overlay, device: `${dev}`, inode: `${ino}` });
    expect(at.overlays.adopt(at.overlay, "command")).toEqual(adoption);
    expect([at.why(), at.met()?.refusal, at.overlays.list()]).toEqual([null, null, [adoption]]);
  });

  test("that our own command makes is adopted, and one that was there is not", () => {
    using at = setup();
    const wish = { path: at.overlay, named: false };
    prepareOverlay(at.files, at.overlays, wish);
    expect([at.why(), at.overlays.list()[0]?.adopted_by]).toEqual([null, "created"]);
    at.overlays.forget(at.overlay);
    expect(at.why()).toContain("not adopted");
    prepareOverlay(at.files, at.overlays, wish);
    expect(at.why()).toContain("not adopted");
    expect(() => at.overlays.create(at.overlay)).toThrow("exists and was not adopted");
  });

  test("that is named in the environment is used, and adopted when it is written to", () => {
    using at = setup();
    mkdirSync(at.overlay);
    const env = { SVC_PROJECT_OVERLAY_DIR: at.overlay };
    expect(at.met(env)?.refusal).toBeNull();
    expect(at.overlays.list()).toEqual([]);
    prepareOverlay(at.files, at.overlays, { path: at.overlay, named: true });
    expect([at.why(), at.overlays.list()[0]?.adopted_by]).toEqual([null, "named"]);
    chmodSync(at.overlay, 0o777);
    expect(at.met(env)?.refusal).toContain(`run: chmod go-w ${at.overlay}`);
  });

  test.each<{ id: string; change: (at: ReturnType<typeof setup>) => void; why: string }>([
    {
      id: "replaced by another folder",
      change: ({ overlay, scratch }) => {
        renameSync(overlay, scratch.path("old"));
        mkdirSync(overlay);
        writeFileSync(join(overlay, "adoption-key"), "guessed", { mode: 0o600 });
      },
      why: "is not the project overlay that you adopted there",
    },
    {
      id: "replaced by a folder that got its inode number",
      change: ({ overlay, state }) => {
        rmSync(overlay, { recursive: true });
        mkdirSync(overlay);
        writeFileSync(join(overlay, "adoption-key"), "guessed", { mode: 0o600 });
        const record = join(state, readdirSync(state)[0] ?? "");
        const { dev, ino } = statSync(overlay);
        const adoption = JSON.parse(readFileSync(record, "utf8"));
        writeFileSync(record, JSON.stringify({ ...adoption, device: `${dev}`, inode: `${ino}` }));
      },
      why: "is not the project overlay that you adopted there",
    },
    {
      id: "replaced by a link",
      change: ({ overlay, scratch }) => {
        renameSync(overlay, scratch.path("old"));
        symlinkSync(scratch.path("old"), overlay);
      },
      why: "is a symbolic link",
    },
    { id: "open to its group", change: ({ overlay }) => chmodSync(overlay, 0o770), why: "is writable" },
    {
      id: "open to all, and sticky",
      change: ({ overlay }) => chmodSync(overlay, 0o1777),
      why: "is writable",
    },
    { id: "in an open project", change: ({ project }) => chmodSync(project, 0o777), why: "is writable" },
    {
      id: "adopted in a record that others may write",
      change: ({ state }) => chmodSync(join(state, readdirSync(state)[0] ?? ""), 0o666),
      why: "have not adopted",
    },
    {
      id: "adopted in a folder that others may write",
      change: ({ state }) => chmodSync(state, 0o777),
      why: "have not adopted",
    },
    {
      id: "adopted in a damaged record",
      change: ({ state }) => writeFileSync(join(state, readdirSync(state)[0] ?? ""), "{"),
      why: "have not adopted",
    },
  ])("that was adopted is refused once it is $id", ({ change, why }) => {
    using at = setup();
    at.overlays.create(at.overlay);
    expect(at.why()).toBeNull();
    change(at);
    expect(at.why()).toContain(why);
    expect(at.guarded.exposure(join(at.overlay, "runtime/one/manifest.json"))?.reason).toContain(why);
  });

  test("that is a link, absent or open to others cannot be adopted", () => {
    using at = setup();
    expect(() => at.overlays.adopt(at.overlay, "command")).toThrow("there is no folder");
    mkdirSync(at.scratch.path("elsewhere"));
    symlinkSync(at.scratch.path("elsewhere"), at.overlay);
    expect(() => at.overlays.adopt(at.overlay, "command")).toThrow("is a symbolic link");
    chmodSync(at.scratch.path("elsewhere"), 0o775);
    expect(() => at.overlays.adopt(at.scratch.path("elsewhere"), "command")).toThrow("chmod go-w");
    expect(at.overlays.list()).toEqual([]);
  });
});

describe("what lies in an overlay", () => {
  test("is refused also through a link from elsewhere, until the overlay is adopted", () => {
    using at = setup();
    mkdirSync(join(at.overlay, "runtime"), { recursive: true });
    symlinkSync(at.overlay, at.scratch.path("innocent"));
    const through = at.scratch.path("innocent/runtime");
    expect(at.guarded.exposure(through)?.command).toEqual(["svc-mgr", "overlay", "adopt", at.overlay]);
    at.overlays.adopt(at.overlay, "command");
    expect(at.guarded.exposure(through)).toBeNull();
  });

  test("that does not exist yet is not refused", () => {
    using at = setup();
    expect(at.guarded.exposure(join(at.overlay, "mailbox"))).toBeNull();
  });
});

describe("the .gitignore of an overlay", () => {
  test.each([
    { id: "is made", before: null, after: "*\n" },
    { id: "of a person who ignores all stays", before: "# mine\n*\n", after: "# mine\n*\n" },
    { id: "that lets mail through is replaced", before: "*\n!mailbox/\n", after: "*\n" },
    { id: "that ignores a part is replaced", before: "runtime/\n", after: "*\n" },
  ])("$id", ({ before, after }) => {
    using at = setup();
    mkdirSync(at.overlay);
    const ignore = join(at.overlay, ".gitignore");
    if (before !== null) writeFileSync(ignore, before);
    at.overlays.adopt(at.overlay, "command");
    expect(readFileSync(ignore, "utf8")).toBe(after);
    rmSync(ignore);
    prepareOverlay(at.files, at.overlays, { path: at.overlay, named: false });
    expect(readFileSync(ignore, "utf8")).toBe("*\n");
  });

  test("takes the place of a link, and nothing behind the link changes", () => {
    using at = setup();
    mkdirSync(at.overlay);
    writeFileSync(at.scratch.path("diary"), "text");
    symlinkSync(at.scratch.path("diary"), join(at.overlay, ".gitignore"));
    at.overlays.adopt(at.overlay, "command");
    expect(readFileSync(at.scratch.path("diary"), "utf8")).toBe("text");
    expect(readFileSync(join(at.overlay, ".gitignore"), "utf8")).toBe("*\n");
  });
});
