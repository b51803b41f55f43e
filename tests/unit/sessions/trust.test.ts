import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createOverlays, withAdoptions } from "../../../src/services/sessions/overlays.ts";
import { judgingFoldersOnce } from "../../../src/services/sessions/trust.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createIds } from "../../../src/system/ids.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

/** Files as a command has them, and a session whose manifest lies in `folder` of the scratch folder. */
function sessionIn(scratch: Scratch, folder = "sessions") {
  const { files, path } = scratch;
  const stateRoot = path("state");
  const clock = createClock();
  const locks = createLocks({ clock });
  const overlays = createOverlays({ files, clock, ids: createIds(), locks, stateRoot });
  const session = path(`${folder}/one`);
  mkdirSync(session, { recursive: true });
  const manifest = `${session}/manifest.json`;
  writeFileSync(manifest, "{}");
  return { files: withAdoptions(files, overlays), session, manifest };
}

type Given = { scratch: Scratch; session: string; manifest: string };

describe("a look at many sessions refuses what a look at one refuses", () => {
  const cases: { id: string; folder?: string; spoil: (given: Given) => void; refused: boolean }[] = [
    { id: "nothing of a session that is ours", spoil: () => {}, refused: false },
    {
      id: "a manifest that others may write",
      spoil: ({ manifest }) => chmodSync(manifest, 0o666),
      refused: true,
    },
    {
      id: "a session that others may write",
      spoil: ({ session }) => chmodSync(session, 0o777),
      refused: true,
    },
    {
      id: "a folder of sessions that others may write",
      spoil: ({ session }) => chmodSync(dirname(session), 0o777),
      refused: true,
    },
    {
      id: "a folder far above that others may write",
      folder: "open/deep/sessions",
      spoil: ({ scratch }) => chmodSync(scratch.path("open"), 0o777),
      refused: true,
    },
    {
      id: "a link to a session that others may write",
      spoil: ({ scratch, session }) => {
        mkdirSync(scratch.path("elsewhere"));
        renameSync(session, scratch.path("elsewhere/one"));
        chmodSync(scratch.path("elsewhere"), 0o777);
        symlinkSync(scratch.path("elsewhere/one"), session);
      },
      refused: true,
    },
    {
      id: "a session of a project that was not adopted",
      folder: ".svc/runtime",
      spoil: () => {},
      refused: true,
    },
    {
      id: "a link to a session of a project that was not adopted",
      spoil: ({ scratch, session }) => {
        mkdirSync(scratch.path(".svc"), { recursive: true });
        renameSync(session, scratch.path(".svc/one"));
        symlinkSync(scratch.path(".svc/one"), session);
      },
      refused: true,
    },
  ];
  test.each(cases)("$id", ({ folder, spoil, refused }) => {
    using scratch = createScratch();
    const { files, session, manifest } = sessionIn(scratch, folder);
    spoil({ scratch, session, manifest });
    const exposure = judgingFoldersOnce(files).exposure(manifest);
    expect(exposure).toEqual(files.exposure(manifest));
    expect(exposure !== null).toBe(refused);
  });

  test("and judges the folder of the sessions once", () => {
    using scratch = createScratch();
    const { files, session, manifest } = sessionIn(scratch);
    const other = `${dirname(session)}/two`;
    mkdirSync(other);
    const judged: string[] = [];
    const look = judgingFoldersOnce({
      ...files,
      exposure(path, options) {
        judged.push(path);
        return files.exposure(path, options);
      },
    });
    look.exposure(manifest);
    look.exposure(other);
    look.exposure(`${other}/manifest.json`);
    expect(judged.filter((path) => path === dirname(session))).toHaveLength(1);
  });

  test("and looks for nothing in a folder that is not there", () => {
    using scratch = createScratch();
    const { files, session } = sessionIn(scratch);
    const gateway = `${session}/gateway`;
    const opened: string[] = [];
    const look = judgingFoldersOnce({
      ...files,
      read(path) {
        opened.push(path);
        return files.read(path);
      },
    });
    const inside = [`${gateway}/state.json`, `${gateway}/run/current-instance.json`];
    const see = () => inside.map((path) => [look.read(path), look.stat(path), look.exists(path)]);
    const nothing = inside.map(() => [null, null, false]);
    expect(see()).toEqual(nothing);
    expect(look.exists(gateway)).toBe(false);
    mkdirSync(`${gateway}/run`, { recursive: true });
    for (const path of inside) writeFileSync(path, "{}", { mode: 0o600 });
    opened.length = 0;
    expect(see()).toEqual(nothing);
    expect(opened).toEqual([]);
    expect(look.read(`${session}/manifest.json`)).toBe(files.read(`${session}/manifest.json`));
    const later = judgingFoldersOnce(files);
    expect(inside.map((path) => [later.read(path), later.exists(path)])).toEqual([
      ["{}", true],
      ["{}", true],
    ]);
  });
});
