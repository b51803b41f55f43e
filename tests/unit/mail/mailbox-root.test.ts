import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { chooseMailboxRoot, prepareMailboxRoot } from "../../../src/services/mail/mailbox-root.ts";
import { createOverlays } from "../../../src/services/sessions/overlays.ts";
import { createClock } from "../../../src/system/clock.ts";
import { createIds } from "../../../src/system/ids.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

function overlaysIn({ files, path }: Scratch) {
  const clock = createClock();
  const locks = createLocks({ clock });
  return createOverlays({ files, clock, ids: createIds(), locks, stateRoot: path("state") });
}

const cases = [
  {
    id: "a flag wins over the environment and the overlay",
    given: { flag: "/by/flag", env: { SVC_GLOBAL_MAILBOX_DIR: "/by/env" }, overlay: true },
    want: { mailboxRoot: "/by/flag", source: "flag" },
  },
  {
    id: "the environment wins over the overlay",
    given: { flag: undefined, env: { SVC_GLOBAL_MAILBOX_DIR: "/by/env" }, overlay: true },
    want: { mailboxRoot: "/by/env", source: "environment" },
  },
  {
    id: "the overlay of a folder above is taken",
    given: { flag: undefined, env: {}, overlay: true },
    want: { mailboxRoot: "<project>/.svc/mailbox", source: "overlay" },
  },
  {
    id: "without any, a new overlay in the working directory is meant",
    given: { flag: undefined, env: {}, overlay: false },
    want: { mailboxRoot: "<project>/deep/.svc/mailbox", source: "new_overlay" },
  },
] as const;

describe("which mailbox root is used", () => {
  test.each(cases)("$id", ({ given, want }) => {
    using scratch = createScratch();
    const workdir = scratch.path("deep");
    mkdirSync(workdir);
    // Nothing above the scratch folder may answer for it.
    mkdirSync(scratch.path(".git"));
    const overlays = overlaysIn(scratch);
    if (given.overlay) overlays.create(scratch.path(".svc"));
    scratch.labels.length = 0;
    const { flag, env } = given;
    const choice = chooseMailboxRoot(scratch.files, { overlays, flag, env, home: "/home/ann", workdir });
    const shown = choice.mailboxRoot.replace(scratch.folder, "<project>");
    expect({ mailboxRoot: shown, source: choice.source }).toEqual(want);
    expect(scratch.labels).toEqual([]);
  });

  test("a relative value is refused", () => {
    using scratch = createScratch();
    const overlays = overlaysIn(scratch);
    const env = { SVC_GLOBAL_MAILBOX_DIR: "mail" };
    const facts = { overlays, flag: undefined, env, home: "/h", workdir: "/" };
    expect(() => chooseMailboxRoot(scratch.files, facts)).toThrow("must be an absolute path");
  });
});

describe("the overlay that a root needs", () => {
  test("is made where none exists, out of version control, and left alone the next time", () => {
    using scratch = createScratch();
    mkdirSync(scratch.path(".git"));
    const overlays = overlaysIn(scratch);
    const facts = { overlays, flag: undefined, env: {}, home: "/h", workdir: scratch.folder };
    expect(prepareMailboxRoot(scratch.files, facts).source).toBe("new_overlay");
    expect(scratch.files.read(scratch.path(".svc/.gitignore"))).toBe("*\n");
    const steps = scratch.labels.length;
    expect(prepareMailboxRoot(scratch.files, facts).source).toBe("overlay");
    expect(scratch.labels).toHaveLength(steps);
  });

  test("is not made for a root that was named", () => {
    using scratch = createScratch();
    const where = { home: "/h", workdir: scratch.folder };
    prepareMailboxRoot(scratch.files, {
      ...where,
      overlays: overlaysIn(scratch),
      flag: "/elsewhere",
      env: {},
    });
    expect(scratch.files.list(scratch.folder)).toEqual([]);
  });
});
