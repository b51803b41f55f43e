import { describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { planKeep } from "../../../src/services/mail/filesystem/repair/mended-database.ts";
import { planLinks } from "../../../src/services/mail/filesystem/repair/repair-mailbox.ts";
import { liesBelow, whyOutside } from "../../../src/services/mail/filesystem/root-paths.ts";
import {
  applyFileStep,
  applyPlan,
  done,
  type Outcome,
  type PlannedStep,
  type Progress,
} from "../../../src/services/mail/filesystem/upkeep/maintenance.ts";
import { createScratch } from "../../support/scratch.ts";

describe("what lies below a folder", () => {
  test.each([
    { path: "/mail/messages/a.md", below: true },
    { path: "/mail/..hidden", below: true },
    { path: "/mail", below: false },
    { path: "/mail/../etc/passwd", below: false },
    { path: "/mailbox/a", below: false },
    { path: "/", below: false },
  ])("$path below /mail: $below", ({ path, below }) => expect(liesBelow("/mail", path)).toBe(below));
});

test("a link on the way to a path is named, a link at its end is harmless", () => {
  using scratch = createScratch();
  mkdirSync(scratch.path("root/real"), { recursive: true });
  symlinkSync("/etc", scratch.path("root/link"));
  const root = scratch.path("root");
  expect(whyOutside(scratch.files, root, scratch.path("root/real/a.md"))).toBeNull();
  expect(whyOutside(scratch.files, root, scratch.path("root/link"))).toBeNull();
  expect(whyOutside(scratch.files, root, scratch.path("root/link/passwd"))).toContain("is a symbolic link");
  expect(whyOutside(scratch.files, root, "/etc/passwd")).toBe("it lies outside of the mailbox root");
});

describe("a plan", () => {
  const refusal = () => {
    using scratch = createScratch();
    try {
      applyFileStep(scratch.files, {
        kind: "remove",
        label: "test",
        at: { base: scratch.folder, names: ["..", "outside"] },
      });
    } catch (error) {
      return error;
    }
    throw new Error("the path was not refused");
  };

  function run(
    plan: Omit<PlannedStep<() => Outcome>, "phase">[],
    options: Parameters<typeof applyPlan>[2] = {},
  ) {
    return applyPlan(
      plan.map((one) => ({ phase: "testing", ...one })),
      (step) => step(),
      options,
    );
  }

  test("is applied in order, one outcome for each step", async () => {
    const seen: number[] = [];
    const note = (nth: number) => () => {
      seen.push(nth);
      return done;
    };
    const outcomes = await run([0, 1, 2].map((nth) => ({ step: note(nth), tolerates: "nothing" })));
    expect(seen).toEqual([0, 1, 2]);
    expect(outcomes).toEqual([done, done, done]);
  });

  test("skips a step whose precondition was not done", async () => {
    const failed: Outcome = { result: "failed", why: "it is missing" };
    const never = () => {
      throw new Error("applied without its precondition");
    };
    const outcomes = await run([
      { step: () => failed, tolerates: "nothing" },
      { step: never, needs: 0, tolerates: "nothing" },
      { step: never, needs: 1, tolerates: "nothing" },
    ]);
    expect(outcomes.map(({ result }) => result)).toEqual(["failed", "skipped", "skipped"]);
  });

  test.each([
    { id: "a refusal, tolerated", error: refusal, tolerates: "refusals", ends: false },
    { id: "a refusal, everything tolerated", error: refusal, tolerates: "everything", ends: false },
    { id: "a refusal, not tolerated", error: refusal, tolerates: "nothing", ends: true },
    { id: "a fault, refusals tolerated", error: () => new Error("disk"), tolerates: "refusals", ends: true },
    { id: "a fault, tolerated", error: () => new Error("disk"), tolerates: "everything", ends: false },
  ] as const)("$id: ends the run $ends", async ({ error, tolerates, ends }) => {
    const thrown = error();
    const throws = () => {
      throw thrown;
    };
    const outcomes = run([
      { step: throws, tolerates },
      { step: () => done, tolerates: "nothing" },
    ]);
    if (ends) {
      expect(outcomes).rejects.toBe(thrown);
      await outcomes.catch(() => {});
    } else {
      expect((await outcomes).map(({ result }) => result)).toEqual(["failed", "done"]);
    }
  });

  test("reports progress by phase and ends between two steps when it is aborted", async () => {
    const stop = new AbortController();
    const progress: Progress[] = [];
    let applied = 0;
    const step = () => {
      applied += 1;
      return done;
    };
    const plan = Array.from({ length: 500 }, () => ({ step, phase: "many", tolerates: "nothing" as const }));
    const aborted = applyPlan(plan, (one) => one(), {
      signal: stop.signal,
      onProgress(one) {
        progress.push(one);
        if (one.done > 0) stop.abort();
      },
    });
    expect(aborted).rejects.toThrow();
    await aborted.catch(() => {});
    expect(progress).toEqual([
      { step: "many", done: 0, total: 500 },
      { step: "many", done: 200, total: 500 },
    ]);
    expect(applied).toBe(200);
  });
});

describe("a step on disk", () => {
  test("goes through no link that was put there after the plan was made", () => {
    using scratch = createScratch();
    mkdirSync(scratch.path("root"));
    mkdirSync(scratch.path("elsewhere"));
    writeFileSync(scratch.path("elsewhere/a.md"), "mine");
    symlinkSync(scratch.path("elsewhere"), scratch.path("root/messages"));
    const at = { base: scratch.path("root"), names: "messages/a.md" };
    for (const step of [
      { kind: "remove", label: "test", at },
      { kind: "write", label: "test", at, text: "", durable: false },
      { kind: "rename", label: "test", from: at, to: { base: at.base, names: "b.md" } },
      { kind: "make_folder", label: "test", at },
    ] as const) {
      expect(() => applyFileStep(scratch.files, step)).toThrow("is a symbolic link");
    }
    expect(readFileSync(scratch.path("elsewhere/a.md"), "utf8")).toBe("mine");
  });

  test("says why a file cannot be copied, and makes the folders of those that can", () => {
    using scratch = createScratch();
    const base = scratch.folder;
    const copy = (name: string) =>
      applyFileStep(scratch.files, {
        kind: "copy",
        label: "test",
        folderLabel: "test-folder",
        from: { base, names: name, expected: "file" },
        to: { base, names: `new/deep/${name}` },
      });
    writeFileSync(scratch.path("a.md"), "text");
    expect(copy("a.md")).toEqual(done);
    expect(readFileSync(scratch.path("new/deep/a.md"), "utf8")).toBe("text");
    expect(copy("b.md")).toEqual({ result: "failed", why: "it is missing" });
  });

  test("renames what is there, and skips what is not", () => {
    using scratch = createScratch();
    const base = scratch.folder;
    writeFileSync(scratch.path("index.sqlite"), "old");
    symlinkSync("/nowhere", scratch.path("index.sqlite-wal"));
    const labels = { dropped: "", kept: "test", placed: "" };
    const plan = planKeep({ base, name: "index.sqlite", keptAt: ["kept", "index.sqlite"], labels });
    const results = plan.map((step) => applyFileStep(scratch.files, step).result);
    expect(results).toEqual(["done", "skipped", "done", "done"]);
    expect(readFileSync(scratch.path("kept/index.sqlite"), "utf8")).toBe("old");
    expect(lstatSync(scratch.path("kept/index.sqlite-wal")).isSymbolicLink()).toBe(true);
    expect(existsSync(scratch.path("index.sqlite"))).toBe(false);
  });
});

test.each([
  { id: "none", links: {}, kept: null, removed: [] },
  { id: "one", links: { inbox: "sound" }, kept: "inbox", removed: [] },
  { id: "two", links: { archive: "sound", inbox: "sound" }, kept: "archive", removed: ["inbox"] },
  {
    id: "a dangling one before a sound one",
    links: { archive: "dangling", sent: "absent", inbox: "sound" },
    kept: "inbox",
    removed: ["archive"],
  },
] as const)("links of a message: $id", ({ links, kept, removed }) => {
  expect(planLinks(new Map(Object.entries(links)))).toEqual({ kept, removed: [...removed] });
});
