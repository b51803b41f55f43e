import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createFileLog, createRotatingFile } from "../../../src/services/diagnostics/gateway-log.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

function setup(limits?: { maxBytes: number; backups: number }) {
  const scratch = createScratch();
  const clock = createFakeClock();
  const path = scratch.path("logs/gateway.log");
  const echoed: string[] = [];
  const log = createFileLog({
    files: scratch.files,
    clock,
    path,
    echo: (line) => void echoed.push(line),
    ...(limits ? { limits } : {}),
  });
  const text = () => (existsSync(path) ? readFileSync(path, "utf8") : "");
  const lines = () =>
    text()
      .split("\n")
      .slice(0, -1)
      .map((line) => line.slice("2026-01-01T00:00:00.000+00:00 ".length));
  return {
    scratch,
    clock,
    path,
    log,
    text,
    lines,
    echoed,
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

test("a line has its time, its text and its fields, on one line whatever they hold", () => {
  using one = setup();
  one.log.line("accepted request", {
    request_id: "r1",
    error: 'a "b"\nc',
    none: null,
    absent: undefined,
    n: 5,
  });
  expect(one.text()).toBe(
    '2026-01-01T00:00:00.000+00:00 accepted request request_id=r1 error="a \\"b\\" c" n=5\n',
  );
  expect(one.echoed).toEqual([one.text().trimEnd()]);
});

test("a line that repeats is held back for 30 s and then reported once with how often", async () => {
  using one = setup();
  for (let second = 0; second < 10; second++) {
    one.log.line("reminder deferred", { reminder_id: "a" });
    await one.clock.advance(1000);
  }
  one.log.line("reminder deferred", { reminder_id: "b" });
  expect(one.lines()).toEqual(["reminder deferred reminder_id=a", "reminder deferred reminder_id=b"]);
  await one.clock.advance(20_000);
  expect(one.lines().slice(2)).toEqual(["reminder deferred reminder_id=a suppressed=9"]);
  one.log.line("reminder deferred", { reminder_id: "a" });
  expect(one.lines().slice(3)).toEqual(["reminder deferred reminder_id=a"]);
});

test("a line that comes again after 30 s was never held back", async () => {
  using one = setup();
  for (let round = 0; round < 3; round++) {
    one.log.line("poll");
    await one.clock.advance(30_000);
  }
  expect([one.lines(), one.clock.pending()]).toEqual([["poll", "poll", "poll"], 0]);
});

test("closing says what was held back and leaves no timer", () => {
  using one = setup();
  for (let round = 0; round < 3; round++) one.log.line("poll");
  one.log.close();
  one.log.line("bye");
  one.log.line("bye");
  expect([one.lines(), one.clock.pending()]).toEqual([["poll", "poll suppressed=2", "bye", "bye"], 0]);
});

test("a log that cannot be written stops nobody", () => {
  using one = setup();
  writeFileSync(one.scratch.path("logs"), "in the way");
  expect(() => one.log.line("x")).not.toThrow();
  rmSync(one.scratch.path("logs"));
  one.log.line("y");
  expect(one.lines()).toEqual(["y"]);
});

test("the log and its backups stay within their size, and no line is torn", () => {
  using one = setup({ maxBytes: 500, backups: 2 });
  for (let index = 0; index < 100; index++) one.log.line(`line ${index}`);
  expect(one.scratch.files.list(one.scratch.path("logs"))).toEqual([
    "gateway.log",
    "gateway.log.1",
    "gateway.log.2",
  ]);
  const kept = ["gateway.log.2", "gateway.log.1", "gateway.log"].map((name) =>
    one.scratch.path(`logs/${name}`),
  );
  for (const path of kept) expect(statSync(path).size).toBeLessThanOrEqual(500);
  const numbers = kept
    .flatMap((path) => readFileSync(path, "utf8").trimEnd().split("\n"))
    .map((line) => Number(/ line (\d+)$/.exec(line)?.[1]));
  expect(numbers).toEqual(numbers.map((_, index) => 100 - numbers.length + index));
});

const rotations = [
  { id: "without backups the file starts anew", backups: 0, names: ["f"] },
  { id: "with one backup", backups: 1, names: ["f", "f.1"] },
  { id: "with more backups than were ever needed", backups: 100, names: ["f", "f.1", "f.2", "f.3"] },
];
test.each(rotations)("a file is rotated before it grows too large: $id", ({ backups, names }) => {
  using scratch = createScratch();
  const file = createRotatingFile({
    files: scratch.files,
    label: "file:x",
    path: scratch.path("f"),
    maxBytes: 10,
    backups,
  });
  for (const letter of "abcd") file.append(`${letter.repeat(7)}\n`);
  expect(scratch.files.list(scratch.folder)).toEqual(names);
  expect(scratch.files.read(scratch.path("f"))).toBe("ddddddd\n");
});

test("a file may be exactly as large as allowed, and what could never fit is dropped", () => {
  using scratch = createScratch();
  const file = createRotatingFile({
    files: scratch.files,
    label: "file:x",
    path: scratch.path("f"),
    maxBytes: 8,
    backups: 1,
  });
  for (const text of ["1234\n", "12\n", "123456789\n", "é234567\n"]) file.append(text);
  expect(scratch.files.list(scratch.folder)).toEqual(["f"]);
  expect(scratch.files.read(scratch.path("f"))).toBe("1234\n12\n");
});

test("backups beyond a number that was lowered go, and files of other names stay", () => {
  using scratch = createScratch();
  for (const name of ["f.1", "f.2", "f.7", "f.old", "f.01", "fx.1"]) writeFileSync(scratch.path(name), name);
  const file = createRotatingFile({
    files: scratch.files,
    label: "file:x",
    path: scratch.path("f"),
    maxBytes: 4,
    backups: 2,
  });
  file.append("abc\n");
  file.append("def\n");
  expect(scratch.files.list(scratch.folder)).toEqual(["f", "f.01", "f.1", "f.2", "f.old", "fx.1"]);
  expect([scratch.files.read(scratch.path("f.1")), scratch.files.read(scratch.path("f.2"))]).toEqual([
    "abc\n",
    "f.1",
  ]);
});
