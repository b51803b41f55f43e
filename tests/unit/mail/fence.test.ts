import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { extractNotice, mirrorNotice } from "../../../src/services/mail/message-body.ts";

const lines = (...all: string[]) => all.join("\n");

describe("the notice of a body", () => {
  test.each([
    { id: "a body without a fence has none", body: "hello", want: null },
    { id: "an empty body has none", body: "", want: null },
    { id: "the content of the fence, trimmed", body: lines("```svc-notify", "  hi ", "```"), want: "hi" },
    { id: "the info string is trimmed", body: lines("```  svc-notify  ", "hi", "```"), want: "hi" },
    { id: "another info string is none", body: lines("```svc-notify-2", "hi", "```"), want: null },
    {
      id: "an info string with words behind it is none",
      body: lines("```svc-notify x", "hi", "```"),
      want: null,
    },
    { id: "all lines of it", body: lines("a", "```svc-notify", "1", "", "2", "```", "b"), want: "1\n\n2" },
    {
      id: "the first of two",
      body: lines("```svc-notify", "1", "```", "```svc-notify", "2", "```"),
      want: "1",
    },
    {
      id: "the first that is not empty",
      body: lines("```svc-notify", "  ", "```", "```svc-notify", "```", "```svc-notify", "3", "```"),
      want: "3",
    },
    { id: "a fence that nothing closes is none", body: lines("```svc-notify", "hi"), want: null },
    { id: "an indented opener is none", body: lines(" ```svc-notify", "hi", "```"), want: null },
    { id: "an opener within a line is none", body: lines("see ```svc-notify", "hi", "```"), want: null },
    { id: "a fence of tildes is none", body: lines("~~~svc-notify", "hi", "~~~"), want: null },
    {
      id: "a fence inside another fence is an example",
      body: lines("````markdown", "```svc-notify", "hi", "```", "````"),
      want: null,
    },
    {
      id: "a fence inside tildes is an example too",
      body: lines("~~~", "```svc-notify", "hi", "```", "~~~"),
      want: null,
    },
    {
      id: "after an example comes the notice",
      body: lines("````", "```svc-notify", "no", "```", "````", "```svc-notify", "yes", "```"),
      want: "yes",
    },
    {
      id: "a longer fence holds shorter ones",
      body: lines("````svc-notify", "```", "code", "```", "````"),
      want: lines("```", "code", "```"),
    },
    { id: "lines may end with CRLF", body: "```svc-notify\r\nhi\r\n```\r\n", want: "hi" },
    {
      id: "an outer fence that nothing closes hides nothing",
      body: lines("````", "```svc-notify", "hi", "```"),
      want: "hi",
    },
  ])("$id", ({ body, want }) => {
    expect(extractNotice(body)).toBe(want);
  });
});

describe("a notice is written into the body", () => {
  test.each([
    {
      id: "behind it, after a blank line",
      body: "hello\n\n",
      text: "hi",
      placement: "append" as const,
      want: lines("hello", "", "```svc-notify", "hi", "```"),
    },
    {
      id: "before it",
      body: "hello",
      text: "hi",
      placement: "prepend" as const,
      want: lines("```svc-notify", "hi", "```", "", "hello"),
    },
    {
      id: "alone when the body is blank",
      body: " \n",
      text: "hi",
      placement: "append" as const,
      want: lines("```svc-notify", "hi", "```"),
    },
    {
      id: "not at all when it holds one",
      body: lines("```svc-notify", "other", "```"),
      text: "hi",
      placement: "append" as const,
      want: lines("```svc-notify", "other", "```"),
    },
    {
      id: "in a longer fence when it holds backticks",
      body: "hello",
      text: "use ``` here",
      placement: "append" as const,
      want: lines("hello", "", "````svc-notify", "use ``` here", "````"),
    },
    {
      id: "in front of a fence that nothing closes",
      body: lines("```", "code"),
      text: "hi",
      placement: "append" as const,
      want: lines("```svc-notify", "hi", "```", "", "```", "code"),
    },
  ])("$id", ({ body, text, placement, want }) => {
    expect(mirrorNotice(body, text, placement)).toBe(want);
  });
});

const marks = fc.constantFrom(
  "```",
  "````",
  "~~~",
  "```svc-notify",
  "`````svc-notify",
  " ```",
  "\r",
  "",
  "text",
);
const hostile = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.array(marks).map((all) => all.join("\n")),
);
const texts = hostile.map((text) => text.replace(/\r\n?/g, "\n").trim()).filter((text) => text !== "");

describe("whatever the body", () => {
  test("extraction never throws and finds what was mirrored", () => {
    fc.assert(
      fc.property(
        hostile,
        texts,
        fc.constantFrom("append" as const, "prepend" as const),
        (body, text, placement) => {
          const before = extractNotice(body);
          const mirrored = mirrorNotice(body, text, placement);
          expect(extractNotice(mirrored)).toBe(before ?? text);
          expect(mirrorNotice(mirrored, "other", placement)).toBe(mirrored);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("a body of nothing but openers takes no longer than its length", () => {
    const body = `${"```a\n".repeat(200_000)}${"~~~~b\n".repeat(200_000)}`;
    expect(extractNotice(body)).toBeNull();
    const nested = Array.from({ length: 2000 }, (_, at) => "`".repeat(2003 - at)).join("x\n");
    expect(extractNotice(nested)).toBeNull();
  });
});
