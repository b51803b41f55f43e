import { describe, expect, test } from "bun:test";
import {
  createTranscript,
  cutText,
  toAskedRequest,
} from "../../../../../src/services/extensions/observe/transcript/transcript.ts";
import { fakeTurn, fakeTurns } from "../../../../support/fake-transcript.ts";

const at = (ms: number) => new Date(ms).toISOString();
const evidence = (typedMs: number, endMs: number) => [
  { step: "typed" as const, at_utc: at(typedMs), proof: "x" },
  { step: "turn_ended" as const, at_utc: at(endMs), proof: "x" },
];
const defaults = { limit: 20, max_bytes: 65_536 };
const open = (sources: Parameters<typeof fakeTurns>[0][], request: unknown = null) =>
  createTranscript({
    sources: () => sources.map((turns) => fakeTurns(turns)),
    request: () => toAskedRequest(request as Parameters<typeof toAskedRequest>[0]),
  });
const ids = (page: { turns: { turn_id: string }[] }) => page.turns.map(({ turn_id }) => turn_id);

test("a turn that the tool began by itself is no request's, also where no other fits", async () => {
  const asked = {
    payload: { prompt: "go on" },
    result: null,
    startedAtUtc: at(1000),
    evidence: evidence(1000, 9000),
  };
  const own = { ...fakeTurn("own", { startedMs: 5000, prompt: "Agent finished" }), own: true as const };
  const page = await open([[own]], asked).page({ ...defaults, request_id: "r1" });
  expect(ids(page)).toEqual([]);
  const other = fakeTurn("other", { startedMs: 5000, prompt: "typed otherwise" });
  expect(ids(await open([[other]], asked).page({ ...defaults, request_id: "r1" }))).toEqual(["other"]);
});

describe("a page", () => {
  const turns = Array.from({ length: 7 }, (_, index) => fakeTurn(`t${index}`, { startedMs: index * 1000 }));

  test("has the newest turns first, and every turn once by following its cursor", async () => {
    const transcript = open([turns]);
    const seen: string[] = [];
    let before: string | undefined;
    for (let pages = 0; pages < 10; pages++) {
      const page = await transcript.page({
        ...defaults,
        limit: 3,
        ...(before === undefined ? {} : { before }),
      });
      seen.push(...ids(page));
      if (page.next === null) break;
      before = page.next;
    }
    expect(seen).toEqual(["t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    expect(transcript.page({ ...defaults, before: "canary" })).rejects.toThrow(
      /^no turn of this transcript is `before`: begin again without it$/,
    );
  });

  test("joins sources by time and says what is missing", async () => {
    const tool = [
      fakeTurn("a", { startedMs: 1000 }),
      fakeTurn("b", { startedMs: null }),
      fakeTurn("c", { startedMs: 5000 }),
    ];
    const screen = [fakeTurn("s", { startedMs: 3000, source: "screen" })];
    const transcript = createTranscript({
      sources: () => [fakeTurns(tool, "the record of fake is not there any more"), fakeTurns(screen)],
      request: () => null,
    });
    const page = await transcript.page(defaults);
    expect([ids(page), page.gaps]).toEqual([
      ["c", "s", "b", "a"],
      ["the record of fake is not there any more"],
    ]);
  });

  test("ends early where answers are large", async () => {
    const large = Array.from({ length: 10 }, (_, index) => {
      return fakeTurn(`t${index}`, { startedMs: index, answer: "x".repeat(1_000_000) });
    });
    const page = await open([large]).page({ ...defaults, max_bytes: 1_000_000 });
    expect([ids(page).length, page.next]).toEqual([5, "t5"]);
  });

  test("of a search has turns with every word, in any case, and the line that has the first", async () => {
    const said = [
      fakeTurn("a", { prompt: "Fix the PARSER", answer: "done\nthe lexer was broken" }),
      fakeTurn("b", { prompt: "fix it", answer: "ok" }),
      fakeTurn("c", { prompt: null, answer: "Der Parser fix und fertig Ä" }),
    ];
    const found = await open([said]).page({ ...defaults, q: "LEXER fix" });
    expect(found.turns.map(({ turn_id, match }) => [turn_id, match])).toEqual([
      ["a", "the lexer was broken"],
    ]);
    expect(ids(await open([said]).page({ ...defaults, q: "a\u0308" }))).toEqual(["c"]);
    expect(ids(await open([said]).page({ ...defaults, q: "nowhere" }))).toEqual([]);
  });
});

describe("the turn of a request", () => {
  const turns = [
    fakeTurn("early", { prompt: "again", startedMs: 1_000 }),
    fakeTurn("other", { prompt: "else", startedMs: 20_000 }),
    fakeTurn("ours", { prompt: " again\n", startedMs: 30_000 }),
  ];
  const ask = (payload: object, typedMs: number, endMs: number, result: object | null = null) =>
    open([turns], { payload, result, startedAtUtc: null, evidence: evidence(typedMs, endMs) }).page({
      ...defaults,
      request_id: "r",
    });

  test("is the first of its text since it was typed", async () => {
    const page = await ask({ prompt: "again" }, 19_000, 40_000);
    expect(page.turns.map(({ turn_id, evidence: why }) => [turn_id, why])).toEqual([
      ["ours", "the record of fake; found by the text of the prompt"],
    ]);
  });

  test("is the only one of its time where the tool changed the text", async () => {
    const page = await ask({ prompt: "other words" }, 19_500, 21_000);
    expect(page.turns[0]).toMatchObject({
      turn_id: "other",
      evidence: "the record of fake; found by the time of the prompt",
    });
    expect(ids(await ask({ prompt: "other words" }, 19_500, 40_000))).toEqual([]);
  });

  test("is none that the screen showed with another text", async () => {
    const busyStart = fakeTurn("start", { startedMs: 18_500, prompt: "Ask for anything", source: "screen" });
    const asked = {
      payload: { prompt: "words" },
      result: null,
      startedAtUtc: null,
      evidence: evidence(20_000, 21_000),
    };
    const page = await open([[busyStart]], asked).page({ ...defaults, request_id: "r" });
    expect(ids(page)).toEqual([]);
  });

  test.each([
    ["another text", "first"],
    ["the same text", "second"],
  ])("is never the one before, of %s, whose record is the newest yet", async (_, before) => {
    const earlier = fakeTurn("before", { prompt: before, startedMs: 10_000 });
    const own = fakeTurn("own", { prompt: "second", startedMs: 10_600 });
    const asked = {
      payload: { prompt: "second" },
      result: null,
      startedAtUtc: at(10_450),
      evidence: evidence(10_500, 10_700),
    };
    expect(ids(await open([[earlier]], asked).page({ ...defaults, request_id: "r" }))).toEqual([]);
    expect(ids(await open([[earlier, own]], asked).page({ ...defaults, request_id: "r" }))).toEqual(["own"]);
  });

  test("is the headless turn that it names or began", async () => {
    expect(ids(await ask({ prompt: "x", turn_id: "other" }, 0, 1))).toEqual(["other"]);
    expect(ids(await ask({ prompt: "x" }, 0, 1, { turn_id: "early" }))).toEqual(["early"]);
  });

  test("is nothing before it was typed; a request that is unknown is refused", async () => {
    const waiting = open([turns], {
      payload: { prompt: "again" },
      result: null,
      startedAtUtc: null,
      evidence: [],
    });
    expect(ids(await waiting.page({ ...defaults, request_id: "r" }))).toEqual([]);
    expect(open([turns]).page({ ...defaults, request_id: "r" })).rejects.toThrow(
      "no request of this agent has this `request_id`",
    );
  });
});

describe("a long answer", () => {
  const text = "漢字 and 👩‍👩‍👧 then\n".repeat(50);
  const transcript = open([[fakeTurn("t", { answer: text })]]);

  test("is whole when its parts are joined, whatever their size", async () => {
    for (const max_bytes of [1, 2, 3, 5, 7, 64, 1000, 100_000]) {
      let said = "";
      let offset = 0;
      for (;;) {
        const part = await transcript.turn("t", { offset, max_bytes });
        expect(part.answer_bytes).toBe(Buffer.byteLength(text));
        said += part.answer;
        if (part.answer_next === null) break;
        expect([part.truncated, part.answer_next > offset]).toEqual([true, true]);
        offset = part.answer_next;
      }
      expect([max_bytes, said === text]).toEqual([max_bytes, true]);
    }
  });

  test("is cut on a page and says where it goes on", async () => {
    const page = await transcript.page({ ...defaults, max_bytes: 10 });
    expect(page.turns[0]).toMatchObject({ answer: "漢字 and", truncated: true, answer_next: 10 });
  });

  test("has nothing after its end, and a turn that there is not is refused", async () => {
    expect(await transcript.turn("t", { offset: 1e9, max_bytes: 10 })).toMatchObject({
      answer: "",
      answer_next: null,
    });
    expect(transcript.turn("nothing", { offset: 0, max_bytes: 10 })).rejects.toThrow("no turn nothing");
    expect(cutText("", 0, 1)).toEqual({ text: "", bytes: 0, next: null });
  });
});
