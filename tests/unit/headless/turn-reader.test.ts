import { expect, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { createTurnReader } from "../../../src/services/headless/turn-reader.ts";
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
  const reader = createTurnReader({ files, turns });
  return {
    append: (text: string) => appendFileSync(`${folder}/canonical-events.jsonl`, text),
    messages: (after: number, limit: number) =>
      reader
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
