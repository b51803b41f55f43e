import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { createEventIndex, createTurnReader } from "../../../src/services/headless/turn-reader.ts";
import { createScratch } from "../../support/scratch.ts";

const line = (number: number) =>
  `${JSON.stringify({
    kind: "progress",
    message: `event ${number} ✓`,
    turn_index: 1,
    provider: "demo",
    provider_event_type: "piece",
    timestamp_utc: "2026-01-01T00:00:00.000+00:00",
  })}\n`;

function setup() {
  const scratch = createScratch();
  const turns = createTurnDirectories({ files: scratch.files, sessionRoot: scratch.folder });
  const folder = `${turns.root}/one`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/request.json`, "{}");
  let readBytes = 0;
  const files = {
    ...scratch.files,
    readPart(path: string, from: number, to: number) {
      const part = scratch.files.readPart(path, from, to);
      readBytes += part.length;
      return part;
    },
  };
  const index = createEventIndex();
  const events = `${folder}/canonical-events.jsonl`;
  return {
    append: (text: string) => appendFileSync(events, text),
    replace: (text: string) => writeFileSync(events, text),
    // A reader for each page, as the coordinator makes one for each request.
    messages: (after: number, limit: number) =>
      createTurnReader({ files, turns, index })
        .events("one", after)
        ?.take(limit)
        .map((event) => event.message)
        .toArray(),
    readBytes: () => readBytes,
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

const told = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `event ${from + index} ✓`);

test("a follower reads what is new, not the turn again", () => {
  using turn = setup();
  const head = Array.from({ length: 3000 }, (_, number) => line(number)).join("");
  turn.append(head);
  for (let after = 0; after < 3000; after += 100) {
    expect(turn.messages(after, 100)).toEqual(told(after, after + 100));
  }
  const before = turn.readBytes();
  expect(turn.messages(3000, 100)).toEqual([]);
  turn.append(line(3000) + line(3001).slice(0, 20));
  expect(turn.messages(3000, 100)).toEqual(told(3000, 3001));
  turn.append(line(3001).slice(20));
  expect(turn.messages(3001, 100)).toEqual(told(3001, 3002));
  expect(turn.readBytes() - before).toBeLessThan(line(3000).length * 4);
});

test("lines that are no events, and ends of another system, count as nothing", () => {
  using turn = setup();
  turn.append(`${line(0)}not an event\n\n${line(1).replace("\n", "\r\n")}${line(2)}`);
  for (const after of [0, 1, 2, 3])
    expect(turn.messages(after, 1)).toEqual(told(after, Math.min(3, after + 1)));
});

test("a page from anywhere is the same, whatever was read before", () => {
  using turn = setup();
  turn.append(Array.from({ length: 200 }, (_, number) => line(number)).join(""));
  for (const after of [150, 3, 199, 150, 0, 200, 250]) {
    expect(turn.messages(after, 7)).toEqual(told(after, Math.max(after, Math.min(200, after + 7))));
  }
});

test("a page costs what it holds, wherever in a long turn it begins", () => {
  using turn = setup();
  const count = 100_000;
  turn.append(Array.from({ length: count }, (_, number) => line(number)).join(""));
  expect(turn.messages(count, 100)).toEqual([]);
  const maxBytes = 100 * line(count).length + 2 * 64 * 1024;
  for (const after of [0, 99_900, 50_017, 63, 64, 65, 99_999, 12_345]) {
    const before = turn.readBytes();
    expect(turn.messages(after, 100)).toEqual(told(after, Math.min(count, after + 100)));
    expect(turn.readBytes() - before).toBeLessThan(maxBytes);
  }
});

test("more events than positions are kept for give the same pages", () => {
  using turn = setup();
  const count = 64 * 4096 + 500;
  const short = (number: number) =>
    line(number).replace("2026-01-01T00:00:00.000+00:00", "2026-01-01T00:00:00Z");
  turn.append(Array.from({ length: count }, (_, number) => short(number)).join(""));
  expect(turn.messages(count, 1)).toEqual([]);
  for (const after of [count - 3, 64 * 4096, 64 * 4095 + 1, 128, 127, 0]) {
    expect(turn.messages(after, 2)).toEqual(told(after, after + 2));
  }
});

test("a file of events that became shorter is read from its beginning", () => {
  using turn = setup();
  turn.append(Array.from({ length: 500 }, (_, number) => line(number)).join(""));
  expect(turn.messages(500, 1)).toEqual([]);
  turn.replace(Array.from({ length: 100 }, (_, number) => line(number)).join(""));
  expect(turn.messages(500, 1)).toEqual([]);
  expect(turn.messages(98, 5)).toEqual(told(98, 100));
});
