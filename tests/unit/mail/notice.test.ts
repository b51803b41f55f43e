import { describe, expect, test } from "bun:test";
import { checkedAuth, clipNotice, withNotice } from "../../../src/services/mail/message-body.ts";

const fenced = "see\n\n```svc-notify\nfrom the body\n```";

describe("the notice of a message", () => {
  test("is the first fence of the body unless the caller gives one", () => {
    expect(withNotice(fenced, undefined)).toEqual({
      body: fenced,
      notifyBlock: { text: "from the body", placement: "append" },
    });
    expect(withNotice(fenced, null).notifyBlock?.text).toBe("from the body");
    expect(withNotice(fenced, { text: " mine ", placement: "prepend" })).toEqual({
      body: fenced,
      notifyBlock: { text: "mine", placement: "prepend" },
    });
    expect(withNotice("plain", undefined)).toEqual({ body: "plain", notifyBlock: null });
  });

  test("is written into a body that lacks one", () => {
    expect(withNotice("plain", { text: "mine" })).toEqual({
      body: "plain\n\n```svc-notify\nmine\n```",
      notifyBlock: { text: "mine", placement: "append" },
    });
  });

  test.each([" ", "\n\n", "a\0b"])("is refused when it is blank or has NUL: %j", (text) => {
    expect(() => withNotice("plain", { text })).toThrow("notify_block.text");
  });
});

test.each([
  { id: "512 characters stay", text: "x".repeat(512), want: "x".repeat(512) },
  { id: "of 513 the first 511 and an ellipsis", text: "x".repeat(513), want: `${"x".repeat(511)}…` },
  { id: "characters beyond 16 bits count as one", text: "😀".repeat(512), want: "😀".repeat(512) },
  { id: "and are never halved", text: "😀".repeat(600), want: `${"😀".repeat(511)}…` },
])("$id", ({ text, want }) => {
  expect(clipNotice(text)).toBe(want);
});

test("only the scheme none can be verified", () => {
  expect(checkedAuth(undefined)).toBeNull();
  expect(checkedAuth({ scheme: "none" })).toEqual({ scheme: "none" });
  for (const scheme of ["shared-token", "hmac-sha256", "jws"] as const) {
    expect(() => checkedAuth({ scheme, token: "secret" })).toThrow("verifier not yet supported");
  }
});
