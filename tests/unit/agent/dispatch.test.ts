import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { dispatchText, submitAgain } from "../../../src/services/agent/dispatch.ts";
import type { CompiledProfile } from "../../../src/services/terminal/profiles/profile.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

async function finished<T>(clock: { advance(ms: number): Promise<void> }, work: Promise<T>): Promise<T> {
  await clock.advance(20_000);
  return work;
}

/** Well before a swallowed Enter would be pressed again. */
async function dispatchedAtOnce<T>(clock: { advance(ms: number): Promise<void> }, work: Promise<T>) {
  await clock.advance(350);
  return work;
}

describe("typing a prompt", () => {
  test("a composer with our text gets one Enter", async () => {
    const { deps, clock, pressed, told } = createFakeComposer();
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted", asked: false });
    expect({ pressed, told }).toEqual({ pressed: ["Enter"], told: ["typed", "submitted"] });
  });

  test("a person's first letter is never submitted with it, and is there again", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ person: "p" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["C-u", "p"], draft: "p" });
  });

  test("neither is one that is before a command, which would be no command any more", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ person: "p" });
    const outcome = await finished(clock, dispatchText(deps, "/clear"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["C-u", "p"], draft: "p" });
  });
});

describe("what the tool reports of the text", () => {
  test("exactly it: taken, whatever the screen still shows, and no second Enter", async () => {
    const { deps, clock, pressed, proofs } = createFakeComposer({
      swallows: 1,
      reports: { at: "enter", text: "exact" },
    });
    const submitted = await dispatchedAtOnce(clock, dispatchText(deps, "do it"));
    expect(submitted).toMatchObject({ outcome: "submitted", asked: false, note: { sawActivity: false } });
    expect({ pressed, proof: proofs.at(-1) }).toEqual({
      pressed: ["Enter"],
      proof: "the tool reported exactly this text after Enter 1",
    });
  });

  test("exactly it before our Enter, which a person pressed: none of ours", async () => {
    const { deps, clock, pressed, proofs } = createFakeComposer({ reports: { at: "paste", text: "exact" } });
    expect(await finished(clock, dispatchText(deps, "do it"))).toMatchObject({ outcome: "submitted" });
    expect({ pressed, proof: proofs.at(-1) }).toEqual({
      pressed: [],
      proof: "the tool reported exactly this text",
    });
  });

  test("another one: no proof, and mentioned beside the screen's", async () => {
    const { deps, clock, pressed, proofs } = createFakeComposer({
      swallows: 1,
      reports: { at: "enter", text: "other" },
    });
    expect(await finished(clock, dispatchText(deps, "do it"))).toMatchObject({ outcome: "submitted" });
    expect({ pressed, proof: proofs.at(-1) }).toEqual({
      pressed: ["Enter", "Enter"],
      proof: "the tool works after Enter 2; the tool reported that it took another text",
    });
  });
});

test.each([
  { id: "before Enter says nothing of the prompt", options: { lateFrame: true, quick: true }, saw: false },
  { id: "after Enter is the prompt's", options: {}, saw: true },
])("work that shows $id", async ({ options, saw }) => {
  const { deps, clock } = createFakeComposer(options);
  const outcome = await finished(clock, dispatchText(deps, "do it"));
  expect(outcome).toMatchObject({ outcome: "submitted", note: { sawActivity: saw } });
});

describe("a tool whose composer shows exactly the text", () => {
  /** The milliseconds from the paste to Enter, with a profile that allows it 40 ms after the echo. */
  async function enterAfter(options: Parameters<typeof createFakeComposer>[0]): Promise<number> {
    const { deps, clock, pressed } = createFakeComposer(options);
    const submit = { ...deps.profile.data.submit, enter_delay_ms: 300, enter_after_echo_ms: 40 };
    const data = { ...deps.profile.data, submit };
    const dispatched = dispatchText({ ...deps, profile: { ...deps.profile, data } }, "do it");
    for (let waitedMs = 0; ; waitedMs += 10) {
      if (pressed.length > 0 || waitedMs > 5000) {
        await finished(clock, dispatched);
        return waitedMs;
      }
      await clock.advance(10);
    }
  }
  test("gets Enter soon after it, where the version is proved", async () => {
    expect(await enterAfter({ version: "1" })).toBe(40);
  });

  test.each([
    { id: "a version that is not known", options: {} },
    { id: "more than the text in the composer", options: { version: "1", after: " now" } },
  ])("$id keeps the whole pause", async ({ options }) => {
    expect(await enterAfter(options)).toBe(300);
  });
});

test.each([
  { id: "a hint that was not taken", options: { shows: "do it" }, quote: 'behind the text was "now"' },
  { id: "words that were", options: {}, quote: 'a person typed at that moment, and "now" went along' },
])(
  "text behind the prompt when Enter was pressed is reported with the proof: $id",
  async ({ options, quote }) => {
    const { deps, clock, proofs } = createFakeComposer({ after: " now", ...options });
    await finished(clock, dispatchText(deps, "do it"));
    expect(proofs.at(-1)).toEndWith(`after Enter 1; ${quote}`);
  },
);

describe("a person who types at the moment of Enter", () => {
  test("is kept apart from the prompt as far as the tool has drawn it: the letter is there again", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ afterLook: "p" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["C-u", "p"], draft: "p" });
  });

  test("before the look is, too, where the cursor shows that it is no hint", async () => {
    const { deps, clock, pressed } = createFakeComposer({ after: "p", cursorAtEnd: true });
    expect(await finished(clock, dispatchText(deps, "do it"))).toMatchObject({ disturbed: true });
    expect(pressed).toEqual(["C-u", "p"]);
  });

  test("is quoted when the tool took the letter with the prompt before it drew it", async () => {
    const { deps, clock, proofs } = createFakeComposer({ undrawn: "p" });
    const evidence: unknown[] = [];
    const onEvidence: typeof deps.onEvidence = (one) => {
      deps.onEvidence(one);
      if (one.typed_along !== undefined) evidence.push(one.typed_along);
    };
    await finished(clock, dispatchText({ ...deps, onEvidence }, "do it"));
    expect(evidence).toEqual(["p"]);
    expect(proofs.at(-1)).toBe(
      'the tool works after Enter 1; a person typed at that moment, and "p" went along',
    );
  });
});

describe("what went along with a prompt is asked of that prompt", () => {
  /** The tool takes the prompt, shown or not, and shows others later. */
  async function submitted({ isShown }: { isShown: boolean }) {
    const { deps, clock } = createFakeComposer();
    let later: string | null = null;
    const shown = () => {
      const seen = deps.view.shown();
      return { ...seen, newestPrompt: later ?? (isShown ? seen.newestPrompt : null) };
    };
    const outcome = await finished(clock, dispatchText({ ...deps, view: { ...deps.view, shown } }, "do it"));
    if (outcome.outcome !== "submitted") throw new Error(outcome.outcome);
    return (prompt: string) => {
      later = prompt;
      return outcome.along?.();
    };
  }

  test("a later prompt that begins as it does is another one", async () => {
    const show = await submitted({ isShown: true });
    expect(show("do it again")).toBeNull();
  });

  test("the tool shows it after the proof of Enter, and another one after that", async () => {
    const show = await submitted({ isShown: false });
    expect([show("do it"), show("do it again")]).toEqual([null, null]);
  });

  test("the tool shows it with the words after the proof of Enter", async () => {
    const show = await submitted({ isShown: false });
    expect(show("do it again")).toBe("again");
  });
});

describe("a completion list over the text", () => {
  /**
   * A tool like gemini, which may open a list after it shows the text, and puts nothing beside it in the
   * composer.
   */
  function dispatched(text: string, options: Parameters<typeof createFakeComposer>[0]) {
    const fake = createFakeComposer(options);
    const { profile } = fake.deps;
    const popups = [{ draft: /^\//, where: "below" as const, row: /^$/, opens_within_ms: 1500 }];
    const outcome = dispatchText({ ...fake.deps, profile: { ...profile, popups } }, text);
    return { ...fake, outcome };
  }
  const path = "/home/user/project";

  test("that opens late and closes gets no Enter while it is open", async () => {
    const list = { entry: "clear   Clear the screen", opensMs: 400, closesMs: 1200 };
    const { clock, pressed, outcome } = dispatched(path, { list });
    await clock.advance(1190);
    expect(pressed).toEqual([]);
    expect(await finished(clock, outcome)).toMatchObject({ outcome: "submitted" });
    expect(pressed).toEqual(["Enter"]);
  });

  test("that is open at Enter's time is waited for, whatever the tool's profile expects", async () => {
    const list = { entry: "README.md", opensMs: 0, closesMs: 2000 };
    const { clock, pressed, outcome } = dispatched("see @READ", { list });
    await clock.advance(1990);
    expect(pressed).toEqual([]);
    expect(await finished(clock, outcome)).toMatchObject({ outcome: "submitted" });
  });

  test("that stays open gets no Enter at all: the text is cleared and the entry quoted", async () => {
    const list = { entry: "clear   Clear the screen", opensMs: 50 };
    const { clock, pressed, outcome } = dispatched(path, { list });
    expect(await finished(clock, outcome)).toEqual({
      outcome: "failed",
      typed: false,
      detail:
        'the tool keeps a completion list open with "clear   Clear the screen", which Enter would take in place of the text; ' +
        "the text was cleared and Enter was not pressed",
    });
    expect(pressed).not.toContain("Enter");
  });

  test.each([
    { id: "the command itself", text: "/clear", entry: "clear   Clear the screen" },
    { id: "an alias of it", text: "/exit", entry: "quit (exit)   Exit the cli" },
    { id: "the command with its glyph", text: "/model small", entry: "❯ /model   choose what model to use" },
  ])("that offers $id takes nothing else", async ({ text, entry }) => {
    const { clock, pressed, outcome } = dispatched(text, { list: { entry, opensMs: 50 } });
    await clock.advance(350);
    expect(pressed).toEqual(["Enter"]);
    await finished(clock, outcome);
  });
});

describe("what the tool took", () => {
  const path = "/home/user/project";
  async function outcomeOf(text: string, options: Parameters<typeof createFakeComposer>[0]) {
    const { deps, clock } = createFakeComposer(options);
    const popups = [{ draft: /^\//, where: "below" as const, row: /^$/, opens_within_ms: 10 }];
    return finished(clock, dispatchText({ ...deps, profile: { ...deps.profile, popups } }, text));
  }

  test.each([
    { id: "a command in the transcript", text: path, options: { shows: "/about" }, quote: ': "/about"' },
    {
      id: "a command that the tool reports",
      text: path,
      options: { reports: { at: "enter", text: "other", prompt: "/init" } },
      quote: ': "/init"',
    },
    {
      id: "the last word completed",
      text: "see @READ ",
      options: { shows: "see @README.md" },
      quote: ': "see @README.md"',
    },
    {
      id: "a new conversation without the text",
      text: path,
      options: { shows: "conversation" },
      quote: ": it began a new conversation, in which the text is not",
    },
  ] as const)("is another text: $id", async ({ text, options, quote }) => {
    expect(await outcomeOf(text, options)).toEqual({
      outcome: "failed",
      typed: true,
      detail: `the tool took another text${quote}`,
    });
  });

  test.each([
    { id: "the text", text: path, shows: path },
    { id: "its first row, wrapped", text: `${path} and more`, shows: "/home/user/proj" },
    { id: "a chip", text: "one\ntwo\nthree", shows: "[Pasted text #1 +2 lines]" },
    { id: "the text without its Markdown", text: "**all** of `it`", shows: "all of it" },
    { id: "its quoted command without the quote", text: "> /clear is broken", shows: "/clear is broken" },
    { id: "older words in front of it", text: "do it", shows: "an earlier prompt" },
    { id: "a letter of a person behind it", text: "do it", shows: "do itx" },
    { id: "the command behind an alias", text: "/quit", shows: "/exit" },
    { id: "the text without its last blank", text: "see @READ ", shows: "see @READ" },
  ])("is no proof of another text: $id", async ({ text, shows }) => {
    expect(await outcomeOf(text, { shows })).toMatchObject({ outcome: "submitted" });
  });
});

describe("an Enter that the tool swallows", () => {
  test("is pressed again while the same draft is there", async () => {
    const { deps, clock, pressed, proofs } = createFakeComposer({ swallows: 1 });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted" });
    expect({ pressed, proof: proofs.at(-1) }).toEqual({
      pressed: ["Enter", "Enter"],
      proof: "the tool works after Enter 2",
    });
  });

  test("is pressed again when the words behind the text are those of before: a hint of the tool's", async () => {
    const { deps, clock, pressed } = createFakeComposer({ swallows: 1, after: " (hint)" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect({ outcome, pressed }).toMatchObject({
      outcome: { outcome: "submitted" },
      pressed: ["Enter", "Enter"],
    });
  });

  test("is not pressed again on what a person typed behind the text meanwhile: their words are again", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ swallows: 1, afterEnter: " and" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["Enter", "C-u", "and"], draft: "and" });
  });

  test("is not pressed again once other words are there, and those are left alone", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ swallows: 1, replacedBy: "what next" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toEqual({
      outcome: "failed",
      typed: true,
      detail: "other words replaced the text in the composer; whether it was taken is not known",
    });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["Enter"], draft: "what next" });
  });

  test("only by its looks has taken the text, though a person types on already", async () => {
    const fake = createFakeComposer({ swallows: 1, replacedBy: "what next", worksAfterMs: 2500 });
    const outcome = await finished(fake.clock, dispatchText(fake.deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted" });
    expect({ pressed: fake.pressed, draft: fake.draft() }).toEqual({
      pressed: ["Enter"],
      draft: "what next",
    });
  });

  test("of a tool that was at work before is not proved by that work once other words are there", async () => {
    const { deps, clock, told, draft } = createFakeComposer({
      busy: true,
      swallows: 1,
      replacedBy: "what next",
    });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: true });
    expect({ told, draft: draft() }).toEqual({ told: ["typed"], draft: "what next" });
  });

  test("each time ends with the text cleared from the composer", async () => {
    const { deps, clock, draft } = createFakeComposer({ swallows: 99 });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect({ outcome, draft: draft() }).toMatchObject({
      outcome: { outcome: "failed", typed: false },
      draft: "",
    });
  });
});

describe("a composer that is cleared", () => {
  const otherwise = (...ways: ("C-u" | "C-e" | "C-c")[][]) => ({
    clear_draft_key: "C-u",
    clear_draft_otherwise: ways,
  });
  async function cleared(
    stubborn: NonNullable<Parameters<typeof createFakeComposer>[0]>["stubborn"],
    keys: ReturnType<typeof otherwise>,
  ) {
    const fake = createFakeComposer({ swallows: 99, ...(stubborn ? { stubborn } : {}) });
    const { profile } = fake.deps;
    const data = { ...profile.data, interrupt: { ...profile.data.interrupt, ...keys } };
    const work = dispatchText({ ...fake.deps, profile: { ...profile, data } }, "do it");
    await fake.clock.advance(40_000);
    const outcome = await work;
    return { outcome, draft: fake.draft(), keys: fake.pressed.filter((key) => key !== "Enter") };
  }
  const clean = { outcome: "failed", typed: false };

  test.each([
    {
      id: "spares the last letter in vim's normal mode",
      stubborn: "spares_last",
      keys: ["C-u", "C-u", "C-e", "C-u"],
    },
    {
      id: "clears nothing while the cursor is at the start",
      stubborn: "at_start",
      keys: ["C-u", "C-e", "C-u"],
    },
  ] as const)("in another way when the clearing key $id", async ({ stubborn, keys }) => {
    expect(await cleared(stubborn, otherwise(["C-e", "C-u"]))).toMatchObject({
      outcome: clean,
      draft: "",
      keys,
    });
  });

  test("with C-c once, at last and not before the draft was there for a second", async () => {
    const { outcome, draft, keys } = await cleared("always", otherwise(["C-e", "C-u"], ["C-c"]));
    expect({ outcome, draft }).toMatchObject({ outcome: clean, draft: "" });
    expect(keys.filter((key) => key === "C-c")).toEqual(["C-c"]);
    expect(keys.at(-1)).toBe("C-c");
  });

  test("in no way is said, and the text counts as left there", async () => {
    expect(await cleared("always", otherwise(["C-e", "C-u"]))).toMatchObject({
      outcome: { typed: true, left: true, detail: "Enter was not taken; the text is still in the composer" },
      draft: "do it",
    });
  });
});

describe("a tool that reads nothing", () => {
  test("gets no Enter before it shows the text, and then one", async () => {
    const { deps, clock, pressed, told } = createFakeComposer({ starvedMs: 20_000 });
    const dispatched = dispatchText(deps, "do it");
    await clock.advance(19_000);
    expect({ pressed, told }).toEqual({ pressed: [], told: [] });
    await clock.advance(2000);
    expect(await dispatched).toMatchObject({ outcome: "submitted" });
    expect({ pressed, told }).toEqual({ pressed: ["Enter"], told: ["typed", "submitted"] });
  });

  test("for a minute gets none at all, and the text counts as typed", async () => {
    const { deps, clock, pressed } = createFakeComposer({ starvedMs: 90_000 });
    const dispatched = dispatchText(deps, "do it");
    await clock.advance(65_000);
    expect(await dispatched).toMatchObject({ outcome: "failed", typed: true });
    expect(pressed).not.toContain("Enter");
  });
});

test("a tool that is killed before it reads a text ends the wait, and a shell gets no Enter", async () => {
  const { deps, clock, pressed } = createFakeComposer({ starvedMs: 90_000, killed: "paste" });
  const dispatched = dispatchText(deps, "do it");
  await clock.advance(5000);
  expect(await dispatched).toMatchObject({ outcome: "failed", detail: "the tool ended before Enter" });
  expect(pressed).toEqual([]);
});

test("a tool that is started again before it reads a text ends the wait, and the fresh composer gets no key", async () => {
  const { deps, clock, pressed } = createFakeComposer({ starvedMs: 5000, relaunched: true });
  const dispatched = dispatchText(deps, "do it");
  await clock.advance(10_000);
  const detail = "the tool was restarted meanwhile";
  expect(await dispatched).toMatchObject({ outcome: "failed", typed: true, detail });
  expect(pressed).toEqual([]);
});

test("a tool that shows a text late gets its second Enter late", async () => {
  const { deps, clock, pressed } = createFakeComposer({ starvedMs: 3000, swallows: 1 });
  const dispatched = dispatchText(deps, "do it");
  await clock.advance(16_000);
  expect(pressed).toEqual(["Enter"]);
  await clock.advance(5000);
  expect(await dispatched).toMatchObject({ outcome: "submitted" });
  expect(pressed).toEqual(["Enter", "Enter"]);
});

test("a command that is still visible gets no second Enter for two seconds: the tool may be about to end", async () => {
  const { deps, clock, pressed } = createFakeComposer({ swallows: 1 });
  const dispatched = dispatchText(deps, "/exit");
  await clock.advance(2000);
  expect(pressed).toEqual(["Enter"]);
  expect(await finished(clock, dispatched)).toMatchObject({ outcome: "submitted" });
  expect(pressed).toEqual(["Enter", "Enter"]);
});

describe("a composer in which the text is not a prompt", () => {
  test("gets no Enter: the text is cleared, the mode is left, and the reason is given", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({ shellLines: true });
    const outcome = await finished(clock, dispatchText(deps, " !rm -rf x"));
    expect(outcome).toEqual({
      outcome: "failed",
      typed: false,
      detail:
        "the composer is in shell mode, where the text would not be a prompt; the text was cleared and Enter was not pressed",
    });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["C-u", "BSpace"], draft: "" });
  });
});

describe("a composer that does not show the text", () => {
  test("of a version that its profile was not proved on gets no Enter", async () => {
    const { deps, clock, pressed } = createFakeComposer({ blind: true, version: "99.0" });
    const outcome = await finished(clock, dispatchText({ ...deps, profile: provedOn("1.0") }, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", detail: expect.stringContaining("unproved") });
    expect(pressed).not.toContain("Enter");
  });

  test("because its frame is half repainted gets its Enter once it shows it", async () => {
    const { deps, clock, pressed, told } = createFakeComposer({ version: "99.0" });
    let torn = 1;
    const look = async (): Promise<TerminalState> => {
      const state = await deps.view.look();
      if (state.surface.editing_input !== "yes" || !told.includes("typed") || torn-- <= 0) return state;
      return { ...state, surface: { ...state.surface, editing_input: "unknown" } };
    };
    const view = { ...deps.view, look };
    const outcome = await finished(clock, dispatchText({ ...deps, view, profile: provedOn("1.0") }, "do it"));
    expect([outcome.outcome, torn]).toEqual(["submitted", 0]);
    expect(pressed).toEqual(["Enter"]);
  });

  test("of a proved version gets its Enter", async () => {
    const { deps, clock, pressed } = createFakeComposer({ blind: true, version: "1.0" });
    await finished(clock, dispatchText({ ...deps, profile: provedOn("1.0") }, "do it"));
    expect(pressed).toContain("Enter");
  });

  function provedOn(version: string): CompiledProfile {
    const { profile } = createFakeComposer().deps;
    return { ...profile, data: { ...profile.data, proved_versions: [version] } };
  }
});

describe("a tool that is killed", () => {
  test("between the text and its Enter gets no Enter: a shell may are there now", async () => {
    const { deps, clock, pressed } = createFakeComposer({ killed: "paste" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toEqual({ outcome: "failed", typed: true, detail: "the tool ended before Enter" });
    expect(pressed).toEqual([]);
  });

  test("and started again after the text gets no Enter: the fresh composer proves nothing", async () => {
    const { deps, clock, pressed } = createFakeComposer({ relaunched: true });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toEqual({
      outcome: "failed",
      typed: true,
      detail: "the tool was restarted meanwhile",
    });
    expect(pressed).toEqual([]);
  });

  test("at Enter, before it was seen to work, has not taken the prompt", async () => {
    const { deps, clock, told } = createFakeComposer({ killed: "enter" });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: true });
    expect(told).toEqual(["typed"]);
  });

  test("ended by a command that ends it has taken that", async () => {
    const { deps, clock, told } = createFakeComposer({ killed: "enter" });
    expect(await finished(clock, dispatchText(deps, "/exit"))).toMatchObject({ outcome: "submitted" });
    expect(told).toEqual(["typed", "submitted"]);
  });
});

describe("a question that comes up between the text and its Enter", () => {
  test("is not answered by that Enter; the prompt waits to be handed back", async () => {
    const { deps, clock, pressed, told } = createFakeComposer({ menu: true });
    const outcome = await finished(clock, dispatchText(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted", asked: true });
    expect({ pressed, told }).toEqual({ pressed: [], told: ["typed", "submitted"] });
  });

  test("fails a command, which is not taken up again", async () => {
    const { deps, clock, pressed } = createFakeComposer({ menu: true });
    expect(await finished(clock, dispatchText(deps, "/clear"))).toMatchObject({
      outcome: "failed",
      typed: true,
    });
    expect(pressed).toEqual([]);
  });
});

describe("a prompt that came back from a question", () => {
  test("is submitted when the composer holds exactly it", async () => {
    const { deps, clock, pressed } = createFakeComposer({ draft: "do it" });
    const outcome = await finished(clock, submitAgain(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "submitted" });
    expect(pressed).toEqual(["Enter"]);
  });

  test("is taken back when a person types behind it while its Enter is swallowed", async () => {
    const { deps, clock, pressed, draft } = createFakeComposer({
      draft: "do it",
      swallows: 1,
      afterEnter: " not",
    });
    const outcome = await finished(clock, submitAgain(deps, "do it"));
    expect(outcome).toMatchObject({ outcome: "failed", typed: false, disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["Enter", "C-u", "not"], draft: "not" });
  });

  test("is left alone once a person has changed it", async () => {
    const { deps, clock, pressed } = createFakeComposer({ draft: "do it not" });
    expect(await finished(clock, submitAgain(deps, "do it"))).toBeNull();
    expect(pressed).toEqual([]);
  });
});
