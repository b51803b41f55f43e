import { describe, expect, test } from "bun:test";
import { submitAtOnce } from "../../../src/services/agent/agent.ts";
import {
  isDraftOf,
  isRemainderOf,
  personsWords,
  wordsAlong,
  wordsBehind,
} from "../../../src/services/agent/prompt-text.ts";
import { createTerminalAgent } from "../../../src/services/agent/terminal-agent.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

const long = Array.from({ length: 12 }, (_, index) => `line ${index}`).join("\n");
const cases = [
  { id: "one line is recognised", draft: "do it", text: "do it", want: true },
  {
    id: "wrapped and indented rows are the same words",
    draft: "do\n  it now",
    text: "do it\nnow",
    want: true,
  },
  { id: "the blank that keeps a text plain is no difference", draft: "!ls", text: " !ls", want: true },
  {
    id: "a person's words behind it make it another draft",
    draft: "do it please",
    text: "do it",
    want: false,
  },
  { id: "a beginning of it is not all of it", draft: "do", text: "do it", want: false },
  { id: "an empty composer is no draft", draft: "", text: "", want: false },
  {
    id: "a chip of its lines is recognised as gemini shows it",
    draft: "[Pasted Text: 12 lines]",
    text: long,
    want: true,
  },
  { id: "and as opencode shows it", draft: "[Pasted ~12 lines]", text: long, want: true },
  { id: "and as the scripted agent shows it", draft: "[Pasted #1 · 12 lines]", text: long, want: true },
  { id: "claude counts line breaks", draft: "[Pasted text #1 +11 lines]", text: long, want: true },
  {
    id: "codex counts characters",
    draft: `[Pasted Content ${long.length} chars]`,
    text: long,
    want: true,
  },
  { id: "a chip of other lines is another paste", draft: "[Pasted ~40 lines]", text: long, want: false },
  { id: "words beside a chip are not ours", draft: "see [Pasted ~12 lines]", text: long, want: false },
  {
    id: "two chips are more than one paste",
    draft: "[Pasted ~12 lines][Pasted ~12 lines]",
    text: long,
    want: false,
  },
  { id: "one short line never stands as a chip", draft: "[Pasted ~1 lines]", text: "do it", want: false },
  { id: "one long line may", draft: "[Pasted ~1 lines]", text: "do it ".repeat(50), want: true },
];

describe("a draft that a dead gateway left", () => {
  test.each(cases)("$id", ({ draft, text, want }) => {
    expect(isDraftOf(draft, text)).toBe(want);
  });
});

describe("a person's words before ours", () => {
  const cases = [
    { id: "nothing of a person's", draft: "do it", text: "do it", want: null },
    { id: "one letter", draft: "pdo it", text: "do it", want: "p" },
    {
      id: "words around it stand as one line",
      draft: "please do\n it now",
      text: "do it",
      want: "please now",
    },
    {
      id: "words only behind it may be a hint of the tool",
      draft: "do it [optional]",
      text: "do it",
      want: null,
    },
    { id: "a text that is not seen whole proves nothing", draft: "please do", text: "do it", want: null },
    { id: "a letter before a chip", draft: "p[Pasted #1 · 12 lines]", text: long, want: "p" },
    { id: "a chip of another paste proves nothing", draft: "p[Pasted #1 · 3 lines]", text: long, want: null },
  ];
  test.each(cases)("$id", ({ draft, text, want }) => {
    expect(personsWords(draft, text)).toBe(want);
  });
});

describe("what is behind our text", () => {
  const cases = [
    { id: "nothing but our text", draft: "do it", text: "do it", want: null },
    { id: "a letter", draft: "do itp", text: "do it", want: "p" },
    {
      id: "words on several rows stand as one line",
      draft: "do\n it please\n now",
      text: "do it",
      want: "please now",
    },
    { id: "words behind a chip", draft: "[Pasted #1 · 12 lines] too", text: long, want: "too" },
    { id: "words before it are another matter", draft: "please do it now", text: "do it", want: null },
    { id: "a text that is not seen whole proves nothing", draft: "do", text: "do it", want: null },
  ];
  test.each(cases)("$id", ({ draft, text, want }) => {
    expect(wordsBehind(draft, text)).toBe(want);
  });
});

test.each([
  { id: "its last letter", draft: "t", want: true },
  { id: "its first row", draft: "do", want: true },
  { id: "words of its middle", draft: "o i", want: false },
  { id: "nothing", draft: "", want: false },
  { id: "other words", draft: "do that", want: false },
])("what clearing may spare of a text: $id", ({ draft, want }) => {
  expect(isRemainderOf(draft, "do it")).toBe(want);
});

test.each([
  { id: "one letter", taken: "do itp", want: "p" },
  { id: "words over rows", taken: "do\nit please\nnow", want: "please now" },
  { id: "nothing", taken: "do it", want: null },
  { id: "a cut prompt", taken: "do", want: null },
  { id: "another prompt", taken: "see: do it now", want: null },
  { id: "a chip", taken: "[Pasted text #1 +2 lines] now", want: null },
])("what went along with a prompt: $id", ({ taken, want }) => {
  expect(wordsAlong(taken, "do it")).toBe(want);
});

describe("a text that this gateway left in the composer", () => {
  /** A tool that swallows three Enters, and whose composer cannot be cleared until `yields`. */
  function leaving(options: Parameters<typeof createFakeComposer>[0] = {}) {
    const fake = createFakeComposer({ swallows: 4, stubborn: "always", ...options });
    const { profile } = fake.deps;
    const agent = createTerminalAgent({
      backend: "tmux",
      tool: "demo",
      view: fake.deps.view,
      clock: fake.clock,
      profile,
      exclusivePane: { exclusive: (task) => task(fake.deps.pane), busy: () => false },
      log: { line: () => {} },
    });
    const submit = async (prompt: string) => {
      const outcome = submitAtOnce(agent, { prompt, policy: "turn_boundary", onEvidence: () => {} });
      await fake.clock.advance(30_000);
      return outcome;
    };
    return { ...fake, agent, submit };
  }
  const quoted =
    'the composer holds "do it", which this gateway typed and cannot clear; clear it in the terminal';

  test("is cleared before the next prompt, which does not wait", async () => {
    const { agent, submit, draft, pressed, yieldToClearing } = leaving();
    expect(await submit("do it")).toMatchObject({ outcome: "failed", typed: true });
    expect(draft()).toBe("do it");
    yieldToClearing();
    expect(agent.readiness("turn_boundary")).toEqual({ ready: true });
    expect(await submit("and that")).toMatchObject({ outcome: "submitted" });
    expect(pressed.slice(-2)).toEqual(["C-u", "Enter"]);
  });

  test("is named as the reason for waiting when it cannot be cleared, and no key is pressed again", async () => {
    const { agent, submit, pressed } = leaving();
    await submit("do it");
    expect(await submit("and that")).toMatchObject({ outcome: "refused", refusal: { detail: quoted } });
    const keys = pressed.length;
    expect(agent.readiness("turn_boundary")).toMatchObject({
      ready: false,
      code: "not_ready",
      detail: quoted,
    });
    expect(pressed).toHaveLength(keys);
  });

  test("that a person has changed is theirs", async () => {
    const { agent, submit, typeByHand } = leaving();
    await submit("do it");
    typeByHand(" later");
    expect(agent.readiness("turn_boundary")).toMatchObject({
      ready: false,
      detail: expect.stringContaining("editing_input=yes"),
    });
  });

  test("that a person has cleared is gone: what they type then is theirs, also its first letters", async () => {
    const { agent, submit, clearByHand, typeByHand, clock } = leaving();
    await submit("do it");
    clearByHand();
    await clock.advance(2000);
    expect(agent.readiness("turn_boundary")).toEqual({ ready: true });
    typeByHand("do");
    expect(agent.readiness("turn_boundary")).toMatchObject({
      ready: false,
      detail: expect.stringContaining("editing_input=yes"),
    });
  });

  test("because the tool handed it back is named as the reason for waiting", async () => {
    const { agent, submit, endTurn, typeByHand } = leaving({ swallows: 0 });
    expect(await submit("do it")).toMatchObject({ outcome: "submitted" });
    endTurn();
    typeByHand("do it");
    expect(agent.readiness("turn_boundary")).toMatchObject({
      ready: false,
      detail: expect.stringContaining("the composer holds the prompt that was submitted last"),
    });
  });

  test("because the tool handed it back is cleared by an interrupt", async () => {
    const { agent, submit, typeByHand, yieldToClearing, draft, clock } = leaving({ swallows: 0 });
    await submit("do it");
    typeByHand("do it");
    yieldToClearing();
    const outcome = agent.interrupt().then((permit) => permit.submit());
    await clock.advance(5000);
    expect(await outcome).toMatchObject({ outcome: "interrupted" });
    expect(draft()).toBe("");
  });
});
