import { describe, expect, test } from "bun:test";
import { defaultNotifierConfig } from "../../../src/services/notifier/config.ts";
import { renderNotices } from "../../../src/services/notifier/render.ts";
import { mailSample } from "../../support/mail-sample.ts";

const config = defaultNotifierConfig;
const withNotice = (text: string, more: Parameters<typeof mailSample>[0] = {}) =>
  mailSample({ notify_block: { text, placement: "append" }, ...more });

describe("notices of senders", () => {
  test("a notice names its sender and quotes each line", () => {
    const { append, entries } = renderNotices([withNotice("first\nsecond")], config);
    expect(append).toEqual(['Notice from "sender@svc.localhost":\n> first\n> second']);
    expect(entries).toEqual([
      {
        message_ref: "filesystem:m1",
        rendered: true,
        auth_scheme: "none",
        auth_outcome: "skipped",
        auth_detail: null,
        block_chars: 12,
        block_truncated: false,
      },
    ]);
  });

  test("each goes to the place its sender chose, oldest first", () => {
    const { prepend, append } = renderNotices(
      [
        withNotice("a"),
        withNotice("b", { notify_block: { text: "b", placement: "prepend" } }),
        withNotice("c"),
      ],
      config,
    );
    expect([prepend.length, append.map((text) => text.at(-1))]).toEqual([1, ["a", "c"]]);
  });

  test("a long notice is cut to the cap, an ellipsis for its last character", () => {
    const { append, entries } = renderNotices([withNotice("😀".repeat(20))], {
      ...config,
      notify_block_per_message_chars: 5,
    });
    expect(append[0]).toEndWith("> 😀😀😀😀…");
    expect([entries[0]?.block_chars, entries[0]?.block_truncated]).toEqual([5, true]);
  });

  test("control characters never reach the prompt", () => {
    const { append } = renderNotices([withNotice("a\u001b[201~b\u0000c\u202Ed\r\ne")], config);
    expect(append[0]).toEndWith("> a [201~b c d\n> e");
  });

  test("after the total cap was hit nothing more is rendered, and the rest is counted", () => {
    const { append, entries } = renderNotices(
      [withNotice("x".repeat(50)), withNotice("y".repeat(500)), withNotice("z")],
      { ...config, notify_block_total_chars: 200 },
    );
    expect(append.at(-1)).toStartWith("+ 2 more sender notice(s)");
    expect(entries.map(({ rendered, auth_detail }) => [rendered, auth_detail])).toEqual([
      [true, null],
      [false, "aggregate cap reached"],
      [false, "aggregate cap reached"],
    ]);
  });

  test("the count covers the prepended notices when only those are used", () => {
    const early = (text: string) => withNotice(text, { notify_block: { text, placement: "prepend" } });
    const { prepend, append } = renderNotices([early("a"), early("b".repeat(300))], {
      ...config,
      notify_block_total_chars: 100,
    });
    expect([prepend.at(-1)?.slice(0, 8), append]).toEqual(["+ 1 more", []]);
  });

  test("rendering disabled suppresses all and says so, not as a count", () => {
    const { prepend, append, entries } = renderNotices([withNotice("a")], {
      ...config,
      notify_block_render: "disabled",
      notify_block_auth_verifier: "shared-token",
    });
    expect([prepend, append]).toEqual([[], []]);
    expect(entries[0]).toMatchObject({
      rendered: false,
      auth_scheme: "none",
      auth_outcome: "skipped",
      auth_detail: "render disabled",
    });
  });

  test.each([
    { id: "a listed token passes", token: "good", mode: "required", rendered: true, outcome: "passed" },
    {
      id: "an unlisted token is suppressed",
      token: "bad",
      mode: "required",
      rendered: false,
      outcome: "failed",
    },
    { id: "no token is suppressed", token: null, mode: "required", rendered: false, outcome: "failed" },
    {
      id: "a failure is only recorded when permissive",
      token: "bad",
      mode: "permissive-log",
      rendered: true,
      outcome: "failed",
    },
  ] as const)("shared-token: $id", ({ token, mode, rendered, outcome }) => {
    const auth = token === null ? null : ({ scheme: "none", token } as const);
    const { entries } = renderNotices([withNotice("hello", { notify_auth: auth })], {
      ...config,
      notify_block_auth_verifier: "shared-token",
      notify_block_auth_mode: mode,
      notify_block_shared_tokens: ["good"],
    });
    expect(entries[0]).toMatchObject({ rendered, auth_outcome: outcome });
    expect(JSON.stringify(entries)).not.toContain("bad");
  });

  test("required with an empty allowlist suppresses every notice", () => {
    const { entries } = renderNotices([withNotice("a", { notify_auth: { scheme: "none", token: "any" } })], {
      ...config,
      notify_block_auth_verifier: "shared-token",
      notify_block_auth_mode: "required",
    });
    expect(entries.map((entry) => entry.rendered)).toEqual([false]);
  });
});
