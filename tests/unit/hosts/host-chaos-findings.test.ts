import { describe, expect, test } from "bun:test";
import {
  type ForwardedPrompt,
  mailProblems,
  promptProblems,
  type SentMail,
} from "../../support/host-chaos-findings.ts";

const row = { requestId: "r1", state: "completed", errorDetail: null };
const good: ForwardedPrompt = {
  ...{ agent: "a@one", key: "k1", requestIds: ["r1"], answer: "accepted" },
  ...{ reported: "completed", rows: [row], heard: 1 },
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
      given: { answer: "refused", requestIds: [] },
      want: ["was refused, and was done all the same"],
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
    { ...way, subject: "1", answer: "accepted" },
    { ...way, subject: "2", answer: "unknown" },
    { ...way, subject: "3", answer: "accepted" },
  ];
  test.each<{ id: string; arrived: string[]; want: string[] }>([
    { id: "all of it", arrived: ["1", "2", "3"], want: [] },
    { id: "without what was not known", arrived: ["1", "3"], want: [] },
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
