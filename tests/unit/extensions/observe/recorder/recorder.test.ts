import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readMoment } from "../../../../../src/services/extensions/observe/recorder/reader.ts";
import { nothingKnown } from "../../../../../src/services/extensions/observe/recorder/records.ts";
import { toTimestamp } from "../../../../../src/system/clock.ts";
import { castOf, createRecorderFixture, decision, terminal } from "../../../../support/recorder-fixture.ts";

const agentName = "worker";

test("a segment is an asciicast that begins with the whole screen, and times are those of the output", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  const startMs = fixture.clock.nowMs();
  await fixture.written(() => recorder.start());
  await fixture.clock.advance(5_000 - (fixture.clock.nowMs() - startMs));
  await fixture.written(() => fixture.pane.write("hello \x1b[31mred\x1b[0m \r\n"));
  await recorder.stop();
  const [cast = ""] = fixture.text("cast");
  const [head, ...events] = cast
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(head).toMatchObject({
    version: 2,
    width: 80,
    height: 24,
    timestamp: startMs / 1000,
    title: "worker",
  });
  expect(events).toEqual([
    [0, "o", "\x1bcscreen of then "],
    [5, "o", "hello \x1b[31mred\x1b[0m \r\n"],
  ]);
  expect(fixture.problems).toEqual([]);
});

test("the files are for this user alone", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  await recorder.stop();
  expect(statSync(fixture.folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(fixture.folder)) {
    expect([name, statSync(join(fixture.folder, name)).mode & 0o777]).toEqual([name, 0o600]);
  }
});

test("a moment says which facts held, what the queue chose and what was in it", async () => {
  const fixture = createRecorderFixture();
  const { clock, tell } = fixture;
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  const accept = (id: string) =>
    tell.event({ kind: "accepted", request_id: id, request_kind: "submit_prompt", accepted_at_utc: id });
  await fixture.written(() => tell.terminal(terminal()));
  const readyMs = clock.nowMs();
  await clock.advance(1000);
  const busy = terminal({
    turn_phase: "active",
    ready: false,
    blocking: "turn.phase=active",
    facts: [{ name: "turn.phase", value: "active", wanted: "ready", holds: false }],
  });
  const busyFromMs = clock.nowMs();
  await fixture.written(() => {
    tell.terminal(busy);
    accept("r-1");
    accept("r-2");
    tell.event({ kind: "executing", request_id: "r-1" });
    tell.decision(decision({ request_id: "r-2" }));
  });
  const busyMs = clock.nowMs();
  await clock.advance(1000);
  await fixture.written(() => {
    tell.event({ kind: "completed", request_id: "r-1" });
    tell.terminal(terminal());
  });
  await recorder.stop();

  expect(fixture.why(readyMs)).toMatchObject({
    recorded: "yes",
    terminal: { ready: true, blocking: null },
    decision: null,
    queue: { queue_depth: 0, requests: [] },
  });
  expect(fixture.why(busyMs)).toMatchObject({
    recorded: "yes",
    terminal: { ready: false, blocking: "turn.phase=active" },
    decision: { do: "wait", request_id: "r-2", reason: "not_ready" },
    queue: {
      queue_depth: 2,
      requests: [
        { request_id: "r-1", state: "running" },
        { request_id: "r-2", state: "accepted" },
      ],
    },
  });
  expect(Date.parse(fixture.why(busyMs).terminal_since_utc ?? "")).toBe(busyFromMs);
  expect(fixture.why(busyMs).events.map(({ kind }) => kind)).toEqual(["accepted", "accepted", "executing"]);
  const end = fixture.why(clock.nowMs());
  expect(end).toMatchObject({ queue: { queue_depth: 1 }, terminal: { ready: true }, recorded: "gap" });
  expect(end.gap).toContain("switched off");
  expect(() => fixture.why(0)).toThrow("nothing is recorded before");
});

test("a moment after the last record and before the end is recorded, and the gap says who ended it", async () => {
  const fixture = createRecorderFixture();
  const { clock, tell } = fixture;
  for (const [ends, why] of [
    ["off", "the recorder was switched off at "],
    ["gateway_stopped", "its gateway was stopped at "],
  ] as const) {
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    await fixture.written(() => tell.terminal(terminal()));
    await clock.advance(30_000);
    const quietMs = clock.nowMs() - 1;
    if (ends !== "off") await fixture.written(() => tell.event({ kind: ends }));
    const endMs = clock.nowMs();
    await recorder.stop();
    await clock.advance(5_000);
    expect(fixture.why(quietMs)).toMatchObject({ recorded: "yes", gap: null });
    expect(fixture.why()).toMatchObject({ gap: `${why}${toTimestamp(endMs)}` });
    expect(fixture.why(clock.nowMs() + 1)).toMatchObject({ gap: "this moment has not come yet" });
  }
});

test.each([
  ["a checkpoint without content", { k: "checkpoint" }],
  ["a checkpoint of another form", { k: "checkpoint", known: { ...nothingKnown, queue: 5 } }],
  ["an event without content", { k: "event" }],
  ["a state without facts", { k: "terminal", terminal: { ready: true } }],
  ["a choice of another form", { k: "decision", decision: [] }],
  ["a gap without a reason", { k: "gap", fromMs: 1 }],
  ["a time that no date can have", { k: "alive", t: 1e300 }],
])("%s in a damaged recording is passed over", async (_name, damage) => {
  const fixture = createRecorderFixture();
  const { clock, tell } = fixture;
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  await fixture.written(() => tell.terminal(terminal()));
  const atMs = clock.nowMs();
  const [name = ""] = readdirSync(fixture.folder).filter((one) => one.endsWith(".jsonl"));
  const path = join(fixture.folder, name);
  const before = readMoment(fixture.scratch.files, fixture.gatewayRoot, { atMs, nowMs: atMs, agentName });
  appendFileSync(path, `${JSON.stringify({ t: atMs, ...damage })}\n`);
  const moment = readMoment(fixture.scratch.files, fixture.gatewayRoot, { atMs, nowMs: atMs, agentName });
  expect(moment).toEqual(before);
  expect(moment.terminal?.ready).toBe(true);
  await recorder.stop();
});

test("each secret is overwritten before it is written, in the screen and in records", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  const secret = `sk-ant-${"a1B2c3D4".repeat(4)}`;
  await fixture.written(() => {
    fixture.pane.write(`$ echo ${secret.slice(0, 9)}`);
    fixture.pane.write(`${secret.slice(9)}\r\n`);
    fixture.tell.event({ kind: "failed", request_id: "r", error_detail: `refused ${secret}` });
    fixture.tell.terminal(terminal({ question: `Use ${secret}?` }));
  });
  await recorder.stop();
  const all = [...fixture.text("cast"), ...fixture.text("jsonl")].join("");
  expect(all).not.toContain("a1B2c3D4");
  const events = castOf(fixture, 0, fixture.clock.nowMs()).slice(1) as unknown[][];
  expect(events.map(([, , data]) => data).join("")).toContain(`$ echo ${"*".repeat(secret.length)}\r\n`);
  expect(all).toContain(`Use ${"*".repeat(secret.length)}`);
});

test("a megabyte at once is read in parts, and the event loop turns between them", async () => {
  let turns = 0;
  const written: { turn: number; bytes: number }[] = [];
  const fixture = createRecorderFixture({}, (files) => ({
    async createInBackground(label, path) {
      const appender = await files.createInBackground(label, path);
      if (!path.endsWith(".cast")) return appender;
      return {
        ...appender,
        write(bytes) {
          written.push({ turn: turns, bytes: bytes.length });
          return appender.write(bytes);
        },
      };
    },
  }));
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  let counting = true;
  const count = () => {
    turns += 1;
    if (counting) setImmediate(count);
  };
  setImmediate(count);
  const line = "key sk-abcdefgh1234567890 \r\n";
  fixture.pane.write(`${line.repeat(Math.ceil((1024 * 1024) / line.length))}the end\r\n`);
  await fixture.pass(250);
  expect(fixture.text("cast").at(-1)).toContain("the end");
  counting = false;
  await recorder.stop();
  const most = Math.max(...written.map(({ bytes }) => bytes));
  // Escaped as JSON.
  expect(most).toBeLessThan(32 * 1024);
  expect(new Set(written.map(({ turn }) => turn)).size).toBeGreaterThan(60);
  expect(fixture.text("cast").join("")).not.toContain("sk-abcdefgh");
}, 30_000);

test("what may begin a secret is written when the terminal is quiet", async () => {
  const fixture = createRecorderFixture();
  const recorder = fixture.open();
  await fixture.written(() => recorder.start());
  await fixture.written(() => fixture.pane.write("done prompt>"));
  expect(fixture.text("cast").join("")).not.toContain("prompt>");
  await fixture.pass(1000);
  expect(fixture.text("cast").join("")).toContain("prompt>");
  await recorder.stop();
});

describe("segments", () => {
  const small = { maxBytes: 1024 * 1024, maxAgeMs: 600_000 };

  async function fill(fixture: ReturnType<typeof createRecorderFixture>, kilobytes: number) {
    for (let count = 0; count < kilobytes; count += 32) {
      await fixture.written(() => fixture.pane.write(`${"line of text. ".repeat(2340)}\r\n`));
    }
  }

  test("a large one is followed by another, which begins with the screen; the oldest go beyond the size", async () => {
    const fixture = createRecorderFixture({ limits: small });
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    await fill(fixture, 3 * 1024);
    await recorder.stop();
    const casts = fixture.text("cast");
    expect(casts.length).toBeGreaterThan(5);
    for (const cast of casts) expect(cast.split("\n")[1]).toContain("screen of then");
    const bytes = readdirSync(fixture.folder).reduce(
      (sum, name) => sum + statSync(join(fixture.folder, name)).size,
      0,
    );
    expect(bytes).toBeLessThan(small.maxBytes * 1.15);
    expect(bytes).toBeGreaterThan(small.maxBytes * 0.7);
    expect(recorder.facts()).toMatchObject({ problem: null, segments: fixture.names("jsonl").length });
    // The numbers go on, and what is kept fits together.
    const first = Number(fixture.names("jsonl")[0]?.slice(0, 8));
    expect(first).toBeGreaterThan(3);
    const from = Number(fixture.names("jsonl")[0]?.slice(9, -6));
    const [head, ...events] = castOf(fixture, from, fixture.clock.nowMs()) as [object, ...unknown[][]];
    expect(head).toMatchObject({ version: 2, width: 80 });
    expect(events.map(([seconds]) => Number(seconds))).toEqual(
      events.map(([seconds]) => Number(seconds)).sort((one, other) => one - other),
    );
  });

  test("those that ended too long ago go, also while nothing happens", async () => {
    const fixture = createRecorderFixture({ limits: { ...small, maxAgeMs: 60_000 } });
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    const [first = ""] = fixture.names("jsonl");
    while (fixture.names("jsonl").includes(first)) await fixture.pass(1_000);
    const oldest = Number(fixture.names("jsonl")[0]?.slice(9, -6));
    expect(fixture.clock.nowMs() - oldest).toBeLessThan(90_000);
    await recorder.stop();
  });

  test("another size of the terminal is a separate event", async () => {
    const fixture = createRecorderFixture({ limits: small });
    const recorder = fixture.open();
    await fixture.written(() => recorder.start());
    await fill(fixture, 32);
    fixture.pane.resize({ width: 100, height: 30 });
    await fill(fixture, 128);
    await recorder.stop();
    const events = castOf(fixture, 0, fixture.clock.nowMs()).slice(1) as unknown[][];
    expect(events.filter(([, code]) => code === "r").map(([, , size]) => size)).toEqual(["100x30"]);
    const later = castOf(fixture, fixture.clock.nowMs(), fixture.clock.nowMs());
    expect(later[0]).toMatchObject({ width: 100, height: 30 });
  });

  test("a clock that was set back begins another one, and a moment is found in the later", async () => {
    const fixture = createRecorderFixture();
    const { clock } = fixture;
    const back = { ...clock, nowMs: () => clock.nowMs() - shift };
    let shift = 0;
    const moved = createRecorderFixture({ clock: back });
    const recorder = moved.open();
    const write = async (act: () => void) => {
      act();
      await fixture.pass(250);
    };
    await write(() => recorder.start());
    await write(() => moved.tell.terminal(terminal({ turn_phase: "active" })));
    const atMs = back.nowMs();
    await clock.advance(3_600_000);
    shift = 3_600_000;
    await write(() => moved.tell.terminal(terminal({ turn_phase: "unknown" })));
    await recorder.stop();
    expect(moved.names("jsonl").length).toBeGreaterThan(1);
    const { terminal: known } = readMoment(moved.scratch.files, moved.gatewayRoot, {
      atMs: atMs + 2_000,
      nowMs: atMs + 2_000,
      agentName,
    });
    expect(known?.turn_phase).toBe("unknown");
  });
});
