import { describe, expect, test } from "bun:test";
import { parseCommandLine } from "../../../src/cli/command-line/parse.ts";
import { managerCommands } from "../../../src/cli/mgr.ts";
import { guideSkills } from "../../support/loop-guide.ts";
import { fillIn, placeholdersOf, skillCommands } from "../../support/skill-commands.ts";
import { brokenRules, type LoopRule, onEventRules, onTickRules } from "./loop-rules.ts";

const [onEvent, onTick] = guideSkills();

/** A rule, and the smallest change of the example that breaks it. */
type Breach = [rule: string, find: string | RegExp, put: string];

const inBoth: Breach[] = [
  ["never sleeps, polls, tails a log or keeps the turn open", /```sh\n/, "```sh\n   sleep 60\n"],
  ["ends by stopping, without waiting for another agent", /\d\. Stop[\s\S]*$/, "6. Wait for the answer.\n"],
  [
    "prompts nobody and sets no clock",
    /svc-mgr agents self mail \w+ /,
    "svc-mgr agents self gateway prompt ",
  ],
];

const eventBreaches: Breach[] = [
  ["is triggered by mail of one named family", "with the subject check.request/1", "of any kind"],
  ["inspects that mail only", "Only mail with", "Mail with"],
  ["validates before it acts", "2. Validate.", "2. Trust it."],
  ["does one thing, bounded in time", "timeout 300 sh", "sh"],
  ["replies, then archives, after success alone", /\n5\. [\s\S]*?\n6\. /, "\n6. "],
  ["answers what it refuses", /\n {3}```sh\n[^`]*"error"[\s\S]*?```\n/, "\n"],
  ["drives no other part of the loop", /mail reply --message-ref REF/, "mail send --to x"],
  ["takes references as they are given", "--message-ref REF --json", "--message-ref filesystem:REF --json"],
  ...inBoth,
];

const tickBreaches: Breach[] = [
  ["is triggered by a prompt that says to run it", "Use when a prompt says to run", "Use now and then for"],
  ["reads the state first, and changes nothing by that", "cat loop/checks.txt", "rm loop/checks.txt"],
  [
    "chooses the first thing to do or reports none",
    "report that there is nothing to do and stop",
    "begin again",
  ],
  ["sends one mail, then records it", ">> loop/log.txt", "to yourself"],
  ["stops after one pass", "Stop after this one pass", "Stop or go on"],
  ...inBoth,
];

const examples: { kind: string; text: string; rules: readonly LoopRule[]; breaches: Breach[] }[] = [
  { kind: "on event", text: onEvent?.text ?? "", rules: onEventRules, breaches: eventBreaches },
  { kind: "on tick", text: onTick?.text ?? "", rules: onTickRules, breaches: tickBreaches },
];

describe.each(examples)("the example $kind", ({ text, rules, breaches }) => {
  test("keeps every rule of its row", () => {
    expect(brokenRules(rules, text)).toEqual([]);
  });

  test.each(breaches)("is seen to break: %s", (rule, find, put) => {
    const broken = text.replace(find, put);
    expect(broken).not.toBe(text);
    expect(brokenRules(rules, broken)).toContain(rule);
  });

  test("is a skill as tools read them", () => {
    expect(text).toMatch(/^---\nname: [a-z]+(?:-[a-z]+)*\ndescription: [^:]+\n---\n/);
  });

  test("shows commands that can be typed", async () => {
    const shown = skillCommands(text).filter((command) => command.startsWith("svc-mgr "));
    expect(shown.length).toBeGreaterThan(0);
    for (const command of shown) {
      const filled = fillIn(command, Object.fromEntries(placeholdersOf(command).map((name) => [name, "x"])));
      const words = (filled.split(" <<")[0] ?? "").replaceAll("'", "").split(" ").slice(1);
      expect((await parseCommandLine(managerCommands, words)).kind).toBe("run");
    }
  });
});

test("each rule is broken by one of the changes", () => {
  for (const { rules, breaches } of examples) {
    const tried = breaches.map(([rule]) => rule);
    const common = ["takes references as they are given"];
    expect(rules.map(({ rule }) => rule).filter((rule) => ![...tried, ...common].includes(rule))).toEqual([]);
  }
});
