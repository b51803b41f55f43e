import { describe, expect, test } from "bun:test";
import allowed from "./plain-words.json" with { type: "json" };
import {
  countWords,
  findEverywhere,
  findExcess,
  findInDocument,
  findInSource,
  findInTests,
  findInTitles,
  lowered,
} from "./plain-words.ts";
import { plantedTree } from "./tree.ts";

// `bun scripts/lower-plain-words.ts` lowers the counts of plain-words.json. They never rise.
test("no folder uses more banned words than it did", () => {
  expect(findExcess(findEverywhere(), allowed)).toEqual([]);
}, 60_000);

const named = (found: { banned: { name: string } }[]) => found.map(({ banned }) => banned.name);

describe("a planted word is found", () => {
  test.each([
    { id: "in a comment", source: "/** Whoever calls waits. */\nexport const a = 1;", want: ["whoever"] },
    { id: "in a message", source: 'throw new Error("the disk stands still");', want: ["stand"] },
    { id: "in a template", source: "const a = `nobody is told ${b}`;", want: ["tell"] },
    { id: "in a name", source: "const toldAt = createPaneDoor();", want: ["told", "door"] },
    { id: "in a type", source: "interface Glance {}", want: ["glance"] },
    {
      id: "as a form of names",
      source: "const mostRows = 2, lookEveryMs = beginLife();",
      want: ["most*", "*EveryMs", "life"],
    },
    { id: "not in another word", source: "const doorbell = understand(standard, headroom);", want: [] },
    { id: "not as code", source: "const low = Math.floor(stand);", want: [] },
    { id: "not room for something", source: "// It makes room for the next.", want: [] },
    { id: "not what stands for something", source: "// `…` stands for a value.", want: [] },
  ] as { id: string; source: string; want: string[] }[])("$id", ({ source, want }) => {
    expect(named(findInSource(plantedTree({ "src/a.ts": source })))).toEqual(want);
  });

  test("in the code of a test, but not of the lab with the real CLIs", () => {
    const source = "await using lab = createCliLab();";
    const found = findInTests(plantedTree({ "tests/unit/a.ts": source, "tests/live/b.ts": source }));
    expect(found.map(({ place }) => place)).toEqual(["tests/unit/a.ts:1", "tests/unit/a.ts:1"]);
  });

  test("in the title of a test", () => {
    const tree = plantedTree({ "tests/a.test.ts": 'test.each(rows)("$id is told", () => say("anew"));' });
    expect(named(findInTitles(tree))).toEqual(["tell"]);
  });

  test("in a document, outside its blocks", () => {
    expect(named(findInDocument("docs/a.md", "It is made anew.\n\n```sh\necho told\n```\n"))).toEqual([
      "anew",
    ]);
  });
});

test("counts are of a folder, above them is an excess, and they only fall", () => {
  const tree = plantedTree({ "src/services/queue/a.ts": "// told, told and anew" });
  const found = findInSource(tree);
  expect(countWords(found)).toEqual({ "src/services/queue": { tell: 2, anew: 1 } });
  expect(findExcess(found, { "src/services/queue": { tell: 2, anew: 1 } })).toEqual([]);
  expect(findExcess(found, { "src/services/queue": { tell: 1, anew: 1 } })[0]).toContain('"tell" 2 times, 1');
  expect(lowered(countWords(found), { "src/services/queue": { tell: 1 } })).toEqual({
    "src/services/queue": { tell: 1 },
  });
});
