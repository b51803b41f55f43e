import { describe, expect, test } from "bun:test";
import {
  type ForwardedPrompt,
  type ListedAgent,
  mailProblems,
  promptProblems,
  recoveryProblems,
  type SentMail,
} from "../../support/chaos/judgement.ts";

const row = { requestId: "r1", state: "completed", errorDetail: null };
const good: ForwardedPrompt = {
  agent: "a@one",
  key: "k1",
  requestIds: ["r1"],
  answer: "accepted",
  reported: "completed",
  rows: [row],
  heard: 1,
};

describe("judges a prompt", () => {
  test.each<{ id: string; given: Partial<ForwardedPrompt>; want: string[] }>([
    { id: "accepted and done", given: {}, want: [] },
    { id: "lost", given: { rows: [], heard: 0, reported: null }, want: ["was accepted and is lost"] },
    { id: "heard twice", given: { heard: 2 }, want: ["was heard 2 times"] },
    {
      id: "accepted twice",
      given: { rows: [row, { ...row, requestId: "r2" }] },
      want: ["was accepted 2 times"],
    },
    {
      id: "two answers",
      given: { requestIds: ["r1", "r2"] },
      want: ["has several requests: r1, r2", "is r1 and was reported as r1, r2"],
    },
    { id: "completed unheard", given: { heard: 0 }, want: ["completed unheard"] },
    {
      id: "not ended",
      given: { rows: [{ ...row, state: "running" }], reported: "running" },
      want: ["stays running"],
    },
    {
      id: "failed silently",
      given: { rows: [{ ...row, state: "failed" }], reported: "failed" },
      want: ["failed without a reason"],
    },
    {
      id: "failed with its reason",
      given: { rows: [{ ...row, state: "failed", errorDetail: "killed" }], reported: "failed", heard: 0 },
      want: [],
    },
    {
      id: "reported as completed",
      given: { rows: [{ ...row, state: "failed", errorDetail: "killed" }] },
      want: ["is failed and is reported as completed"],
    },
    {
      id: "refused and not done",
      given: { answer: "refused", requestIds: [], rows: [], heard: 0, reported: null },
      want: [],
    },
    {
      id: "refused and done",
      given: { answer: "refused", refusal: "503: no gateway", requestIds: [] },
      want: ["was refused (503: no gateway), and was done all the same"],
    },
    { id: "not known for ever", given: { answer: "unknown", requestIds: [] }, want: ["stays not known"] },
    { id: "found out", given: { answer: "unknown", requestIds: [], outcome: "r1" }, want: [] },
    {
      id: "found out as not done",
      given: { answer: "unknown", requestIds: [], outcome: null, rows: [], heard: 0, reported: null },
      want: [],
    },
    {
      id: "found out wrongly",
      given: { answer: "unknown", requestIds: [], outcome: null },
      want: ["was reported as not done, and was done"],
    },
    {
      id: "found out as one that is nowhere",
      given: { answer: "unknown", requestIds: [], outcome: "r9", rows: [], heard: 0, reported: null },
      want: ["was reported as r9, which is nowhere"],
    },
    {
      id: "heard without a record",
      given: { answer: "unknown", requestIds: [], outcome: null, rows: [], reported: null },
      want: ["was heard and is not recorded", "was reported as not done, and was done"],
    },
  ])("$id", ({ given, want }) => {
    expect(promptProblems({ ...good, ...given })).toEqual(want.map((problem) => `k1 of a@one ${problem}`));
  });
});

describe("judges the mail", () => {
  const way = { from: "a@one", to: "b@two" };
  const sent: SentMail[] = [
    { ...way, subject: "0", answer: "refused" },
    { ...way, subject: "1", answer: "accepted" },
    { ...way, subject: "2", answer: "unknown" },
    { ...way, subject: "3", answer: "accepted" },
  ];
  test.each<{ id: string; arrived: string[]; want: string[] }>([
    { id: "all of it", arrived: ["1", "2", "3"], want: [] },
    { id: "without what was not known", arrived: ["1", "3"], want: [] },
    { id: "refused", arrived: ["0", "1", "3"], want: [`"0" from a@one to b@two was refused and arrived`] },
    { id: "lost", arrived: ["1", "2"], want: [`"3" from a@one to b@two was accepted and is lost`] },
    { id: "doubled", arrived: ["1", "2", "2", "3"], want: [`"2" from a@one to b@two arrived 2 times`] },
    {
      id: "out of order",
      arrived: ["2", "1", "3"],
      want: [`"1" from a@one to b@two arrived after one that was sent later`],
    },
    {
      id: "invented",
      arrived: ["1", "3", "4"],
      want: [`"4" from a@one to b@two arrived and was never sent`],
    },
  ])("$id", ({ arrived, want }) => {
    const messages = arrived.map((subject) => ({ ...way, subject }));
    expect(mailProblems(sent, messages)).toEqual(want);
  });
});

describe("judges a pause of the faults", () => {
  const alive = { liveness: "alive", hasGateway: true, hostIsAway: false, answers: true };
  const b: ListedAgent = { ...alive, address: "b@two" };
  const listed = (change: Partial<ListedAgent> = {}) => [{ ...alive, address: "a@one", ...change }, b];
  test.each<{ id: string; looks: [number, ListedAgent[] | null][]; want: string[] }>([
    { id: "well from the first look on", looks: [[0, listed()]], want: [] },
    {
      id: "well in time",
      looks: [
        [0, null],
        [500, listed({ liveness: "unknown", hostIsAway: true })],
        [30_000, listed()],
        [35_000, listed()],
      ],
      want: [],
    },
    {
      id: "well too late",
      looks: [
        [29_900, listed({ liveness: "unknown" })],
        [30_400, listed()],
      ],
      want: ["a@one was listed as unknown 29900 ms after the last fault"],
    },
    {
      id: "well at first only",
      looks: [
        [0, listed()],
        [31_000, listed({ hostIsAway: true })],
      ],
      want: ["a@one was listed as of a host that is away 31000 ms after the last fault"],
    },
    { id: "lost", looks: [[31_000, [b]]], want: ["a@one was not listed 31000 ms after the last fault"] },
    {
      id: "doubled",
      looks: [[31_000, [...listed(), b]]],
      want: ["b@two was listed 2 times 31000 ms after the last fault"],
    },
    {
      id: "invented",
      looks: [[31_000, [...listed(), { ...b, address: "c@two" }]]],
      want: ["c@two was listed and does not exist 31000 ms after the last fault"],
    },
    {
      id: "without its gateway",
      looks: [[31_000, listed({ hasGateway: false })]],
      want: ["a@one was listed without a gateway 31000 ms after the last fault"],
    },
    {
      id: "listed as alive without an answer",
      looks: [[31_000, listed({ answers: false })]],
      want: ["a@one was listed as alive and did not answer 31000 ms after the last fault"],
    },
    { id: "no list", looks: [[31_000, null]], want: ["the list did not come 31000 ms after the last fault"] },
    { id: "no look", looks: [], want: ["nobody looked at the list"] },
  ])("$id", ({ looks, want }) => {
    const seen = looks.map(([atMs, agents]) => ({ atMs, agents }));
    expect(recoveryProblems(["a@one", "b@two"], seen, 30_000)).toEqual(want);
  });
});
