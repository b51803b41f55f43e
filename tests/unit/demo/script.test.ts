import { describe, expect, test } from "bun:test";
import { parseCommand, parseDirective } from "../../../src/services/demo/script.ts";
import { planTurn } from "../../../src/services/demo/turn.ts";
import { createInterference } from "../../support/hostile/interference.ts";
import { isChosen } from "../../support/hostile/occasions.ts";
import { parseHostileScript } from "../../support/hostile/script.ts";

const parse = (script: object) => parseHostileScript(JSON.stringify({ schema_version: 1, ...script }));

describe("the script file", () => {
  test("every behaviour may be given with each kind of occasion", () => {
    const hostile = {
      swallow_enter: { every: 3, in_a_row: 1 },
      split_paste: { on: [1, 4], pieces: 5 },
      person_draft: { probability: 0.5, ending: "submit" },
      queue_merge: true,
      busy_title: false,
    };
    expect(parse({ seed: 7, startup: { trust_dialog: true }, hostile })).toMatchObject({
      interference: { mergesQueue: true, hidesWork: true },
    });
  });

  test.each([
    {
      id: "an unknown behaviour is named",
      given: { hostile: { swalow: { every: 1 } } },
      want: "/hostile/swalow",
    },
    {
      id: "a wrong number is named",
      given: { hostile: { split_paste: { every: 0 } } },
      want: "/hostile/split_paste/every",
    },
    {
      id: "a behaviour without an occasion is refused",
      given: { hostile: { late_repaint: { delay_ms: 9 } } },
      want: "/hostile/late_repaint: exactly one of",
    },
    {
      id: "two kinds of occasion are refused",
      given: { hostile: { swallow_enter: { every: 1, on: [1] } } },
      want: "/hostile/swallow_enter: exactly one of",
    },
    {
      id: "a rule may go without an occasion but not with two",
      given: { rules: [{ directive: "FAST" }, { directive: "FAST", every: 1, probability: 1 }] },
      want: "/rules/1: at most one of",
    },
    {
      id: "a rule's directive must be one",
      given: { rules: [{ directive: "SLOW down" }] },
      want: '/rules/0/directive: "SLOW down"',
    },
    { id: "another version is refused", given: { schema_version: 2 }, want: "/schema_version" },
  ])("$id", ({ given, want }) => {
    const { errors } = parse(given) as { errors: string[] };
    expect(errors.join("; ")).toContain(want);
  });

  test("text that is no JSON is refused", () => {
    expect(parseHostileScript("{")).toHaveProperty("errors");
  });
});

describe("occasions", () => {
  test("a random choice depends on seed, name and ordinal alone, and keeps its rate", () => {
    const chosen = (seed: number, name: string) =>
      Array.from({ length: 2000 }, (_, n) => isChosen({ probability: 0.3 }, seed, name, n + 1));
    expect(chosen(1, "a")).toEqual(chosen(1, "a"));
    expect(chosen(1, "a")).not.toEqual(chosen(2, "a"));
    expect(chosen(1, "a")).not.toEqual(chosen(1, "b"));
    const rate = chosen(5, "swallow_enter").filter(Boolean).length / 2000;
    expect(rate).toBeGreaterThan(0.26);
    expect(rate).toBeLessThan(0.34);
  });

  test("every counts from the first, on names ordinals", () => {
    const ordinals = [1, 2, 3, 4, 5, 6];
    expect(ordinals.filter((n) => isChosen({ every: 3 }, 0, "", n))).toEqual([3, 6]);
    expect(ordinals.filter((n) => isChosen({ on: [1, 5] }, 0, "", n))).toEqual([1, 5]);
  });
});

describe("directives", () => {
  test.each([
    { given: "FAST", want: { durationMs: 30, streams: true, ending: { kind: "success" } } },
    { given: " SLOW 250 ", want: { durationMs: 250, streams: true, ending: { kind: "success" } } },
    { given: "SILENT 40", want: { durationMs: 40, streams: false, ending: { kind: "success" } } },
    { given: "FAIL no net", want: { ending: { kind: "error", text: "error: no net" } } },
    { given: "LIMIT 3pm", want: { ending: { kind: "error", text: "usage limit reached · resets 3pm" } } },
    { given: "MENU really?", want: { ending: { kind: "menu", question: "really?" } } },
    { given: "EXIT", want: { ending: { kind: "exit" } } },
    { given: "CRASH", want: { ending: { kind: "crash" } } },
    { given: "FAST please", want: null },
    { given: "SLOW down", want: null },
    { given: "EXIT strategy", want: null },
    { given: "fast", want: null },
    { given: "", want: null },
  ])("`$given` is read", ({ given, want }) => {
    const plan = parseDirective(given);
    if (want === null) expect(plan).toBeNull();
    else expect(plan).toMatchObject(want);
  });

  test("the last line directs, then a leading MENU, then the rules", () => {
    const rules = [{ contains: "slow", every: 2, directive: "SLOW 9" }, { directive: "SLOW 5" }];
    const misbehaving = createInterference({ rules });
    const durationOf = (prompt: string) => planTurn(prompt, misbehaving).durationMs;
    expect(durationOf("do it slow\nFAST\n")).toBe(30);
    expect(planTurn("MENU a\nb", misbehaving).ending).toEqual({ kind: "menu", question: "a" });
    expect(["do it slow", "slowly", "as slow", "at once"].map(durationOf)).toEqual([5, 9, 5, 5]);
    expect(planTurn("plain").durationMs).toBe(1500);
  });

  test.each([
    { given: "/new", want: "/new" },
    { given: "/nope at all ", want: "/nope" },
    { given: "/etc/passwd", want: null },
    { given: " /new", want: null },
    { given: "/new\nand more", want: null },
    { given: "new", want: null },
  ])("`$given` is a command or not", ({ given, want }) => {
    expect(parseCommand(given)).toBe(want);
  });
});
