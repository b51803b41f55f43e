import { describe, expect, test } from "bun:test";
import { keySequenceProblem, withOneEnter } from "../../../src/services/agent/key-sequence.ts";

describe("ensure_enter leaves exactly one Enter at the end", () => {
  test.each([
    { id: "adds one", given: "a", want: "a<[Enter]>" },
    { id: "keeps one", given: "a<[Enter]>", want: "a<[Enter]>" },
    { id: "drops further ones", given: "<[Up]><[Enter]><[Enter]>", want: "<[Up]><[Enter]>" },
    { id: "keeps those in the middle", given: "<[Enter]>b", want: "<[Enter]>b<[Enter]>" },
    { id: "of nothing but Enter one stays", given: "<[Enter]><[Enter]>", want: "<[Enter]>" },
    { id: "a blank behind it is text", given: "a<[Enter]> ", want: "a<[Enter]> <[Enter]>" },
  ])("$id", ({ given, want }) => {
    expect(withOneEnter(given)).toBe(want);
  });
});

test("a sequence that cannot be pressed is given the reason", () => {
  expect(keySequenceProblem("a<[Enter]>")).toBeNull();
  expect(keySequenceProblem("<[Home]>")).toContain("unknown key <[Home]>");
  expect(keySequenceProblem(" ")).toContain("blank");
});
