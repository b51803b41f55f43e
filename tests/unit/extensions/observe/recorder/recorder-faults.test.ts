import { describe, expect, test } from "bun:test";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import type { BackgroundAppender } from "../../../../../src/system/own-file.ts";
import { settle } from "../../../../support/fake-clock.ts";
import { castOf, createRecorderFixture, terminal } from "../../../../support/recorder-fixture.ts";

describe("what a crash leaves", () => {
  test("a torn last line is left out, and the next recorder goes on in another segment", async () => {
    const fixture = createRecorderFixture();
    const { clock } = fixture;
    let alive = true;
    const first = fixture.open({
      clock: { ...clock, after: (delayMs, run) => clock.after(delayMs, () => alive && run()) },
    });
    await fixture.written(() => first.start());
    await fixture.written(() => {
      fixture.tell.terminal(terminal());
      fixture.tell.terminal(terminal({ turn_phase: "active" }));
      fixture.pane.write("one \r\ntwo \r\n");
    });
    // Killed: nothing is ended, and each file may be cut anywhere.
    alive = false;
    const [records = "", cast = ""] = [fixture.names("jsonl")[0], fixture.names("cast")[0]];
    const whole = statSync(join(fixture.folder, records)).size;
    const screen = statSync(join(fixture.folder, cast)).size;
    const killedMs = fixture.clock.nowMs();
    for (const cut of [1, 5, 60, 400]) {
      truncateSync(join(fixture.folder, records), Math.max(0, whole - cut));
      truncateSync(join(fixture.folder, cast), Math.max(0, screen - cut));
      expect(fixture.why(killedMs).queue.queue_depth).toBe(0);
    }
    appendFileSync(join(fixture.folder, records), '{"k":"terminal","t":17');
    await fixture.clock.advance(600_000);
    expect(fixture.why().gap).toContain("ended without a word");
    const second = fixture.open();
    await fixture.written(() => second.start());
    await fixture.written(() => fixture.tell.terminal(terminal({ turn_phase: "unknown" })));
    expect(fixture.names("jsonl").map((name) => Number(name.slice(0, 8)))).toEqual([1, 2]);
    expect(fixture.why()).toMatchObject({ recorded: "yes", terminal: { turn_phase: "unknown" } });
    await second.stop();
  });

  test("files that are no recordings are passed over, and empty ones are no moment", async () => {
    const fixture = createRecorderFixture();
    mkdirSync(fixture.folder, { mode: 0o700 });
    appendFileSync(join(fixture.folder, "00000001-1000.jsonl"), "");
    appendFileSync(join(fixture.folder, "00000001-1000.cast"), "no json\n");
    appendFileSync(join(fixture.folder, "notes.txt"), "mine");
    expect(fixture.why(2000)).toMatchObject({ recorded: "gap", terminal: null });
    expect(() => castOf(fixture, 2000, 3000)).toThrow("cannot be read");
  });
});

describe("a disk that refuses", () => {
  test("is a gap, the state is right afterwards, and nobody waits for it", async () => {
    let full = false;
    const refuse = () => {
      if (full) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    };
    const fixture = createRecorderFixture({}, (files) => ({
      async createInBackground(label, path) {
        refuse();
        const appender = await files.createInBackground(label, path);
        return {
          ...appender,
          async write(bytes) {
            refuse();
            await appender.write(bytes);
          },
        };
      },
    }));
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    full = true;
    const fromMs = fixture.clock.nowMs();
    for (let count = 0; count < 20; count++) {
      fixture.tell.event({ kind: "accepted", request_id: `r-${count}`, request_kind: "submit_prompt" });
      fixture.pane.write("lost \r\n");
      await fixture.clock.advance(500);
    }
    await fixture.clock.atRest();
    expect(fixture.problems.length).toBeGreaterThan(0);
    expect(recorder.facts().problem).toContain("ENOSPC");
    const lostMs = fixture.clock.nowMs();
    full = false;
    while (recorder.facts().problem !== null) {
      fixture.tell.event({ kind: "gateway_started" });
      await fixture.pass(5_000);
    }
    await fixture.written(() => fixture.tell.terminal(terminal()));
    expect(fixture.why()).toMatchObject({ recorded: "yes", queue: { queue_depth: 20 } });
    const lost = fixture.why(lostMs - 1_000);
    expect(lost.recorded).toBe("gap");
    expect(lost.gap).toContain("ENOSPC");
    expect(fixture.why(fromMs - 1).recorded).toBe("yes");
    expect(fixture.text("cast").at(-1)).toContain("screen of then");
    await recorder.stop();
  });

  test("that hangs costs bounded memory, and does not keep the recorder from ending", async () => {
    let hang = false;
    const never = new Promise<never>(() => {});
    const appenders: BackgroundAppender[] = [];
    const fixture = createRecorderFixture({}, (files) => ({
      async createInBackground(label, path) {
        const appender = await files.createInBackground(label, path);
        appenders.push(appender);
        return { ...appender, write: (bytes) => (hang ? never : appender.write(bytes)) };
      },
    }));
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    hang = true;
    fixture.pane.write("x ".repeat(1000));
    await fixture.clock.advance(1_000);
    // Far more than what may wait: the source is taken from at once all the same.
    const before = process.memoryUsage().rss;
    for (let count = 0; count < 64; count++) {
      fixture.pane.write("y ".repeat(512 * 1024));
      await settle();
      // What was let go of is not what is kept, and a busy machine collects late.
      if (count % 8 === 7) Bun.gc(true);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(120 * 1024 * 1024);
    const stopped = recorder.stop();
    await fixture.clock.advance(2_000);
    await stopped;
    // A handle that is collected open is an error of the test that runs then.
    for (const appender of appenders) await appender.close();
  });

  test("that is nearly full is left to others", async () => {
    const fixture = createRecorderFixture({ reserveBytes: 2 ** 60 });
    const recorder = fixture.open();
    recorder.start();
    await fixture.pass(250);
    expect(fixture.problems).toEqual([expect.stringContaining("MiB are free")]);
    expect(fixture.names("jsonl")).toEqual([]);
    await recorder.stop();
  });
});

describe("a folder that is not ours to write", () => {
  test.each([
    {
      id: "a link",
      plant: (folder: string, elsewhere: string) => symlinkSync(elsewhere, folder),
      told: "is no folder of this user",
    },
    {
      id: "one that others may write",
      plant: (folder: string) => {
        mkdirSync(folder);
        chmodSync(folder, 0o777);
      },
      told: "writable by",
    },
  ])("$id takes nothing", async ({ plant, told }) => {
    const fixture = createRecorderFixture();
    const elsewhere = fixture.scratch.path("elsewhere");
    mkdirSync(elsewhere);
    plant(fixture.folder, elsewhere);
    const recorder = fixture.open();
    recorder.start();
    await fixture.pass(250);
    expect(fixture.problems).toEqual([expect.stringContaining(told)]);
    await recorder.stop();
    expect([readdirSync(elsewhere), fixture.names("jsonl")]).toEqual([[], []]);
  });

  test("a folder that becomes a link while it records takes nothing more, and is not read", async () => {
    const fixture = createRecorderFixture({ limits: { maxBytes: 1024 * 1024, maxAgeMs: 600_000 } });
    const elsewhere = fixture.scratch.path("elsewhere");
    mkdirSync(elsewhere);
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    renameSync(fixture.folder, fixture.scratch.path("moved"));
    symlinkSync(elsewhere, fixture.folder);
    while (fixture.problems.length === 0) {
      fixture.pane.write(`${"line of text. ".repeat(2340)}\r\n`);
      await fixture.pass(1_000);
    }
    await recorder.stop();
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(() => fixture.why()).toThrow("is no folder of this user");
  });
});
