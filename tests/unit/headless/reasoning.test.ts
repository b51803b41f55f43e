import { expect, test } from "bun:test";
import fc from "fast-check";
import { modelIn, presetOf, refuseModel, saturate } from "../../../src/services/headless/provider.ts";
import { providerOf } from "./recorded-streams.ts";

test.each([
  { tool: "claude", model: null, levels: "low medium high", off: null },
  { tool: "claude", model: "claude-opus-4-8", levels: "low medium high max", off: null },
  { tool: "codex", model: null, levels: "low medium high xhigh", off: null },
  { tool: "codex", model: "gpt-5.1-codex", levels: "low medium high xhigh", off: null },
  { tool: "codex", model: "gpt-6-codex", levels: "low medium high xhigh max ultra", off: null },
  { tool: "gemini", model: null, levels: "", off: null },
  { tool: "opencode", model: "mock/m", levels: "", off: null },
  { tool: "demo", model: null, levels: "low medium high", off: "none" },
])("the ladder of $tool with model $model is [$levels]", ({ tool, model, levels, off }) => {
  const ladder = providerOf(tool).ladder(model);
  expect({ levels: ladder.levels.join(" "), off: ladder.off }).toEqual({ levels, off });
});

const ladder = { levels: ["low", "medium", "high"], off: null };

test.each([
  { id: "level 1 is the lowest preset", level: 1, want: "low" },
  { id: "a level within the ladder is its preset", level: 3, want: "high" },
  { id: "a larger number saturates to the highest", level: 99, want: "high" },
])("$id", ({ level, want }) => {
  expect(saturate(level, ladder)).toEqual({ ok: true, preset: want });
});

test("level 0 is off where the ladder has an off, and is refused elsewhere", () => {
  expect(saturate(0, { ...ladder, off: "none" })).toEqual({ ok: true, preset: "none" });
  expect(saturate(0, ladder)).toMatchObject({ ok: false, reason: expect.stringContaining("turned off") });
});

test("no level is taken by a ladder without rungs, and none below 0 or between two", () => {
  expect(saturate(1, { levels: [], off: null })).toMatchObject({ ok: false });
  for (const level of [-1, 1.5, Number.NaN]) expect(saturate(level, ladder)).toMatchObject({ ok: false });
});

test("a higher level never gives a lower preset", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: 1000 }), (one, other) => {
      const rung = (level: number) => {
        const choice = saturate(level, ladder);
        return choice.ok ? ladder.levels.indexOf(choice.preset) : -1;
      };
      expect(rung(Math.max(one, other))).toBeGreaterThanOrEqual(rung(Math.min(one, other)));
    }),
  );
});

test("what cannot be chosen is refused before the turn, and a mere name never", () => {
  const refuse = (tool: string, name: string | null, level: number | null) =>
    refuseModel(providerOf(tool), { model: { name, level }, args: [] });
  expect(refuse("claude", null, 0)).toContain("turned off");
  expect(refuse("gemini", "flash", 1)).toContain("no reasoning levels");
  expect(refuse("gemini", "flash", null)).toBeNull();
  expect(refuse("demo", null, 0)).toBeNull();
});

test.each(["--yolo", "-m", " sonnet", "son\u0000net", "a\nb"])("%j is no name of a model", (name) => {
  const model = { name, level: null };
  expect(refuseModel(providerOf("gemini"), { model, args: [] })).toContain("model.name");
});

test.each([
  { args: ["--model", "opus"], want: "opus" },
  { args: ["--model=sonnet", "-m", "opus"], want: "opus" },
  { args: ["-m=flash"], want: "flash" },
  { args: ["-c", 'model="gpt-6"', "--config", "sandbox_mode=x"], want: "gpt-6" },
  { args: ["--config=model=gpt-6"], want: "gpt-6" },
  { args: ["--verbose", "-c", "model_reasoning_effort=high", "--model"], want: null },
])("a launch with $args has the model $want", ({ args, want }) => {
  expect(modelIn(args)).toBe(want);
});

test("the ladder is that of the model that the launch named, unless the turn names its own", () => {
  const preset = (name: string | null) =>
    presetOf(providerOf("claude"), { model: { name, level: 9 }, args: ["--model", "opus"] });
  expect([preset(null), preset("sonnet")]).toEqual(["max", "high"]);
});

test("no wish is no preset", () => {
  expect(presetOf(providerOf("claude"), { model: null, args: [] })).toBeNull();
  expect(presetOf(providerOf("claude"), { model: { name: "sonnet", level: null }, args: [] })).toBeNull();
});
