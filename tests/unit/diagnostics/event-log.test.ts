import { describe, expect, test } from "bun:test";
import { appendFileSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { createEventLog } from "../../../src/services/diagnostics/event-log.ts";
import { createFakeClock, settle } from "../../support/fake-clock.ts";
import { createScratch, type Scratch } from "../../support/scratch.ts";

function openLog(scratch: Scratch, limits = { maxBytes: 1000, count: 3 }) {
  const errors: unknown[] = [];
  const log = createEventLog({
    files: scratch.files,
    clock: createFakeClock(),
    path: scratch.path("events.jsonl"),
    onError: (error) => void errors.push(error),
    limits,
  });
  return { ...log, errors };
}

function write(log: ReturnType<typeof openLog>, count: number, text = "x".repeat(60)) {
  for (let index = 0; index < count; index++) {
    log.append("gateway_started", { text });
    log.flush();
  }
}

const seqs = (log: ReturnType<typeof openLog>, afterSeq = 0, limit = 1000) =>
  log.readEvents({ afterSeq, limit }).events.map((event) => event.seq);
const range = (first: number, last: number) =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

describe("events.jsonl", () => {
  test("a line is flat, with sorted keys, its position and its time", () => {
    using scratch = createScratch();
    const log = openLog(scratch);
    log.append("accepted", { request_id: "r", b: 1, a: 2 });
    log.flush();
    expect(readFileSync(scratch.path("events.jsonl"), "utf8")).toBe(
      '{"a":2,"at_utc":"2026-01-01T00:00:00.000+00:00","b":1,"kind":"accepted","request_id":"r","seq":1}\n',
    );
  });

  test("events of one turn of the event loop share one write, and listeners hear of them after it", async () => {
    using scratch = createScratch();
    const log = openLog(scratch);
    const heard: number[] = [];
    const stop = log.subscribe((event) => {
      heard.push(event.seq);
      expect(scratch.labels).toEqual(["file:events"]);
    });
    for (let index = 0; index < 5; index++) log.append("gateway_started");
    expect(heard).toEqual([]);
    await settle();
    expect([heard, scratch.labels]).toEqual([range(1, 5), ["file:events"]]);
    stop();
    log.append("gateway_started");
    log.flush();
    expect(heard).toHaveLength(5);
  });

  test("a full file is closed under the position it begins with, and the oldest goes", () => {
    using scratch = createScratch();
    const log = openLog(scratch);
    write(log, 40);
    const names = scratch.files.list(scratch.folder);
    expect(names).toHaveLength(3);
    for (const name of names) expect(statSync(scratch.path(name)).size).toBeLessThanOrEqual(1000);
    const { firstSeq, lastSeq } = log.readEvents({ afterSeq: 0, limit: 1 });
    expect([names.includes(`events.${firstSeq}.jsonl`), firstSeq > 1, lastSeq]).toEqual([true, true, 40]);
    expect(seqs(log)).toEqual(range(firstSeq, 40));
  });

  test("a reader goes on wherever it was, across files and restarts", () => {
    using scratch = createScratch();
    write(openLog(scratch, { maxBytes: 1000, count: 100 }), 30);
    const log = openLog(scratch, { maxBytes: 1000, count: 100 });
    write(log, 30);
    const read: number[] = [];
    for (;;) {
      const page = seqs(log, read.at(-1) ?? 0, 7);
      if (page.length === 0) break;
      read.push(...page);
    }
    expect(read).toEqual(range(1, 60));
    for (const after of range(0, 61)) expect(seqs(log, after)).toEqual(range(after + 1, 60));
    expect(seqs(log, 3, 0)).toEqual([]);
  });

  test("the events that contain a text are found newest first, across files, chunks and lines longer than one", () => {
    using scratch = createScratch();
    const log = openLog(scratch, { maxBytes: 3_000_000, count: 3 });
    for (let nth = 1; nth <= 400; nth++) {
      const length = nth === 300 ? 2_500_000 : 20_000;
      log.append("gateway_started", {
        text: "é".repeat(length / 2),
        ...(nth % 100 === 0 ? { request_id: "r" } : {}),
      });
      log.flush();
    }
    expect(scratch.files.list(scratch.folder)).toHaveLength(3);
    const { firstSeq } = log.readEvents({ afterSeq: 0, limit: 0 });
    const wanted = (text: string) => [...log.storedWith(text)].map((event) => event.seq);
    expect(wanted("request_id")).toEqual([400, 300, 200, 100].filter((seq) => seq >= firstSeq));
    expect(wanted("at_utc")).toEqual(range(firstSeq, 400).reverse());
    expect(wanted("nowhere")).toEqual([]);
  });

  test("positions go on after a crash between closing a file and opening the next", () => {
    using scratch = createScratch();
    write(openLog(scratch), 20);
    const before = openLog(scratch);
    const first = JSON.parse(readFileSync(scratch.path("events.jsonl"), "utf8").split("\n")[0] ?? "") as {
      seq: number;
    };
    renameSync(scratch.path("events.jsonl"), scratch.path(`events.${first.seq}.jsonl`));
    const log = openLog(scratch);
    write(log, 1);
    expect([before.readEvents({ afterSeq: 0, limit: 1 }).lastSeq, seqs(log).at(-1)]).toEqual([20, 21]);
  });

  const torn: { id: string; tail: string; kept: number[] }[] = [
    { id: "half a line is cut away", tail: '{"at_utc":"2026-01-01T00:00:00.000+0', kept: [1, 2, 3] },
    { id: "one byte is cut away", tail: "{", kept: [1, 2, 3] },
    { id: "blocks that were never written are cut away", tail: "\0".repeat(5000), kept: [1, 2, 3] },
    {
      id: "half a character is cut away",
      tail: Buffer.from('{"kind":"é').subarray(0, -1).toString("latin1"),
      kept: [1, 2, 3],
    },
    {
      id: "a whole event gets its end of line",
      tail: '{"at_utc":"2026-01-01T00:00:00.000+00:00","kind":"x","seq":9}',
      kept: [1, 2, 3, 9],
    },
    { id: "a longer tail than is read at once is cut away", tail: "y".repeat(300_000), kept: [1, 2, 3] },
  ];
  test.each(torn)("of a torn end, $id", ({ tail, kept }) => {
    using scratch = createScratch();
    write(openLog(scratch), 3);
    appendFileSync(scratch.path("events.jsonl"), tail, "latin1");
    const log = openLog(scratch);
    const text = readFileSync(scratch.path("events.jsonl"), "utf8");
    expect(text).toEndWith("}\n");
    expect(text.split("\n").slice(0, -1)).toHaveLength(kept.length);
    expect(seqs(log)).toEqual(kept);
    write(log, 1);
    expect(seqs(log)).toEqual([...kept, (kept.at(-1) ?? 0) + 1]);
  });

  test("a line that is no event is passed over and kept", () => {
    using scratch = createScratch();
    write(openLog(scratch), 2);
    appendFileSync(scratch.path("events.jsonl"), 'rubbish\n{"kind":"no position"}\n\n');
    const log = openLog(scratch);
    write(log, 1);
    expect(seqs(log)).toEqual([1, 2, 3]);
    expect(readFileSync(scratch.path("events.jsonl"), "utf8")).toContain("rubbish");
  });

  test("a write that fails is reported; its events are reported, and written once with the next one", () => {
    using scratch = createScratch();
    const log = openLog(scratch);
    write(log, 1);
    scratch.beforeStep = (label) => {
      if (label !== "file:events") return;
      appendFileSync(
        scratch.path("events.jsonl"),
        '{"kind":"gateway_started","seq":2,"at_utc":"x"}\n{"half":',
      );
      throw new Error("disk full");
    };
    const heard: number[] = [];
    log.subscribe((event) => void heard.push(event.seq));
    write(log, 2);
    expect([seqs(log), seqs(log, 2), seqs(log, 0, 2)]).toEqual([[1, 2, 3], [3], [1, 2]]);
    scratch.beforeStep = () => {};
    write(log, 1);
    expect(heard).toEqual([2, 3, 4]);
    expect(log.errors.length).toBeGreaterThanOrEqual(2);
    expect(seqs(log)).toEqual([1, 2, 3, 4]);
    const lines = readFileSync(scratch.path("events.jsonl"), "utf8").trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual([1, 2, 3, 4]);
  });

  test("of more events than are kept while the disk is full the newest are written afterwards", () => {
    using scratch = createScratch();
    const log = openLog(scratch, { maxBytes: 1_000_000, count: 3 });
    scratch.beforeStep = () => {
      throw new Error("disk full");
    };
    write(log, 1005, "");
    scratch.beforeStep = () => {};
    write(log, 1);
    expect(seqs(log, 0, 2000)).toEqual(range(6, 1006));
  });

  test("a file that a person takes away is begun again, with positions that go on", () => {
    using scratch = createScratch();
    const log = openLog(scratch);
    write(log, 8);
    rmSync(scratch.path("events.jsonl"));
    write(log, 12);
    expect(seqs(log).at(-1)).toBe(20);
    expect(log.errors).toEqual([]);
  });

  test("a listener that throws is reported and stops nobody", () => {
    using scratch = createScratch();
    const log = openLog(scratch);
    const heard: number[] = [];
    log.subscribe(() => {
      throw new Error("mine");
    });
    log.subscribe((event) => void heard.push(event.seq));
    write(log, 2);
    expect([heard, log.errors.length]).toEqual([[1, 2], 2]);
  });

  test("who follows the newest events reads no file, and gets what the file has", () => {
    using scratch = createScratch();
    const log = openLog(scratch, { maxBytes: 1e9, count: 2 });
    write(log, 300);
    const stored = openLog(scratch, { maxBytes: 1e9, count: 2 });
    const page = (of: typeof log, afterSeq: number) => of.readEvents({ afterSeq, limit: 500 });
    const fromFile = [250, 299, 300, 400].map((after) => page(stored, after));
    let reads = 0;
    const readPart = scratch.files.readPart;
    scratch.files.readPart = (...args) => {
      reads += 1;
      return readPart(...args);
    };
    expect([250, 299, 300, 400].map((after) => page(log, after))).toEqual(fromFile);
    expect(reads).toBe(0);
    expect(seqs(log, 100, 3)).toEqual([101, 102, 103]);
    expect(reads).toBeGreaterThan(0);
  });

  test("a position in a large file is found without reading the file", () => {
    using scratch = createScratch();
    const path = scratch.path("events.jsonl");
    const line = (seq: number) =>
      `{"at_utc":"2026-01-01T00:00:00.000+00:00","kind":"k","pad":"${"p".repeat(seq % 900)}","seq":${seq}}\n`;
    writeFileSync(path, range(1, 8000).map(line).join(""));
    const log = openLog(scratch, { maxBytes: 1e9, count: 2 });
    let bytes = 0;
    const readPart = scratch.files.readPart;
    scratch.files.readPart = (...args) => {
      const part = readPart(...args);
      bytes += part.length;
      return part;
    };
    expect(seqs(log, 7900, 3)).toEqual([7901, 7902, 7903]);
    expect(bytes).toBeLessThan(statSync(path).size / 3);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8001 }), (after) => {
        expect(seqs(log, after, 2)).toEqual(range(after + 1, Math.min(after + 2, 8000)));
      }),
      { numRuns: 100 },
    );
  });
});
