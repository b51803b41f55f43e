import { describe, expect, test } from "bun:test";
import { boxToList, toBoxes } from "../../../../src/services/mail/jmap/boxes.ts";
import { toPatch } from "../../../../src/services/mail/jmap/changes.ts";
import { planRedirect, toAnswers, toHttpFailure } from "../../../../src/services/mail/jmap/client.ts";
import {
  emailIdOf,
  planReply,
  toFilter,
  toMail,
  toWireBody,
  viewStateOf,
} from "../../../../src/services/mail/jmap/emails.ts";
import { toCredentialRef } from "../../../../src/services/mail/jmap/register.ts";
import { parseJmapUrl, parseSession } from "../../../../src/services/mail/jmap/session.ts";
import { toDraft } from "../../../../src/services/mail/jmap/submission.ts";
import {
  EmailGet,
  EmailQuery,
  firstRefusal,
  type JmapEmail,
  toSetFailure,
} from "../../../../src/services/mail/jmap/wire.ts";
import { ServiceError } from "../../../../src/system/errors.ts";
import * as recorded from "./recorded.ts";

const known = toBoxes(recorded.boxes);
const [inboxId, draftsId, sentId] = [
  "j11ylcs62n2iyc5fme2qmqg3",
  "169359hqcy4klfzc5dtncyd2",
  "h74fj9bl4trqz79jcmsg2mjk",
];

function reasonOf(work: () => unknown): string {
  try {
    work();
    return "nothing";
  } catch (error) {
    return error instanceof ServiceError ? error.reason : String(error);
  }
}

describe("a session", () => {
  const at = "https://mail.example/.well-known/jmap";

  test("has its addresses resolved against where it was read", () => {
    expect(parseSession(recorded.session, at)).toEqual({
      apiUrl: "https://mail.example/jmap/",
      uploadUrl: "https://mail.example/jmap/upload/alice%40svc.localhost/",
      eventSourceUrl:
        "https://mail.example/jmap/eventsource/?types={types}&closeafter={closeafter}&ping={ping}",
      accountId: "alice@svc.localhost",
      submits: true,
      sortsById: true,
      maxObjects: 4096,
      maxUploadBytes: 1073741824,
      state: "0",
    });
  });

  test("is looked for where the server says, as long as that is the same server", () => {
    expect(planRedirect(at, "/jmap")).toBe("https://mail.example/jmap");
    for (const away of [
      "http://mail.example/jmap",
      "https://evil.example/jmap",
      "//evil.example/",
      "http://[",
    ]) {
      expect(reasonOf(() => planRedirect(at, away))).toBe("transport_failed");
    }
  });

  test("may name another host, with TLS", () => {
    const apiUrl = "https://api.mail.example/v1";
    expect(parseSession({ ...recorded.session, apiUrl }, at).apiUrl).toBe(apiUrl);
  });

  test.each([
    {
      id: "leads from TLS to where none is",
      body: { ...recorded.session, apiUrl: "http://mail.example/jmap" },
    },
    {
      id: "leads from outside to this machine",
      body: { ...recorded.session, apiUrl: "http://127.0.0.1/jmap" },
    },
    { id: "has no mail account", body: { ...recorded.session, primaryAccounts: {} } },
    { id: "is a page for people", body: "<html></html>" },
  ])("is refused when it $id", ({ body }) => {
    expect(reasonOf(() => parseSession(body, at))).toBe("transport_failed");
  });

  test("of an account that may not submit says so, whatever the server can", () => {
    const accounts = { "alice@svc.localhost": { accountCapabilities: { "urn:ietf:params:jmap:mail": {} } } };
    expect(parseSession({ ...recorded.session, accounts }, at).submits).toBe(false);
  });

  test.each([
    { id: "TLS", url: "https://mail.example/jmap", fine: true },
    { id: "this machine", url: "http://127.0.0.1:8080/jmap", fine: true },
    { id: "elsewhere without TLS", url: "http://mail.example/jmap", fine: false },
    { id: "a login in the address", url: "https://me:secret@mail.example/jmap", fine: false },
    { id: "another protocol", url: "ftp://127.0.0.1/jmap", fine: false },
    { id: "no address", url: "mail.example", fine: false },
  ])("is looked for at $id: $fine", ({ url, fine }) => {
    expect(reasonOf(() => parseJmapUrl(url))).toBe(fine ? "nothing" : "invalid_request");
  });
});

describe("a message", () => {
  test("is reported in the words of every transport", () => {
    expect(toMail(recorded.email, viewStateOf(recorded.email, known), { body: true })).toEqual({
      message_ref: "jmap:Md3db39d21b906bcf25c2d18f",
      thread_ref: "jmap-thread:Tbf6db9a4e3d3c8e2",
      created_at_utc: "2026-11-21T08:53:36.000+00:00",
      subject: "Lünch report",
      read: false,
      answered: false,
      archived: false,
      box: "inbox",
      unread: true,
      body_preview: "--- x --- and last",
      body_text: "---\nx\n---\n\nand last\n",
      sender: { address: "alice@svc.localhost", display_name: null, principal_id: null },
      to: [{ address: "bob@svc.localhost", display_name: "Bob", principal_id: null }],
      cc: [],
      reply_to: [],
      attachments: [
        {
          attachment_id: "Gb68e7e",
          kind: "transport_owned",
          media_type: "text/markdown",
          locator: "blob:Gb68e7e",
          size_bytes: 9,
          sha256: null,
          label: "report.md",
        },
      ],
      notify_block: null,
      notify_auth: null,
      attestation: "unsigned",
    });
  });

  test("has its flags in keywords and a name for no subject", () => {
    const one = { ...recorded.email, subject: null, keywords: { $seen: true, $answered: true } };
    const told = toMail(one, viewStateOf(one, known), { body: false });
    expect(told).toMatchObject({ read: true, answered: true, subject: "(no subject)", body_text: null });
  });

  test("in two boxes counts as lying in the one that is looked at, else in the inbox", () => {
    const one = { ...recorded.email, mailboxIds: { [sentId ?? ""]: true, [inboxId ?? ""]: true } };
    expect(viewStateOf(one, known).box).toBe("inbox");
    expect(viewStateOf(one, known, "sent").box).toBe("sent");
    expect(viewStateOf(one, known, "archive").box).toBe("inbox");
  });

  test.each(["", "a", "a\n", "\n\n", "a\n\n"])("comes back as it was written: %j", (body) => {
    const one = { ...recorded.email, bodyValues: { "1": { value: toWireBody(body) } } };
    expect(toMail(one, viewStateOf(one, known), { body: true }).body_text).toBe(body);
  });

  test("is named by a reference of this transport or a bare id", () => {
    expect(["jmap:M1", "M1"].map(emailIdOf)).toEqual(["M1", "M1"]);
    for (const ref of ["filesystem:M1", "jmap-thread:T1"])
      expect(reasonOf(() => emailIdOf(ref))).toBe("invalid_request");
  });

  test("goes out as a draft with an id of ours", () => {
    const message = {
      to: ["b@x"],
      cc: [],
      subject: "S",
      body: "t",
      attachments: [],
      inReplyTo: ["p@x"],
      references: ["r@x", "p@x"],
    };
    const replied = toDraft({ message: { ...message, hops: 5 }, messageId: "m@x", address: "a@x", box: "D" });
    expect(replied["header:X-Svc-Hops:asText"]).toBe("5");
    expect(toDraft({ message, messageId: "m@x", address: "a@x", box: "D" })).toEqual({
      mailboxIds: { D: true },
      keywords: { $draft: true, $seen: true },
      messageId: ["m@x"],
      from: [{ name: null, email: "a@x" }],
      to: [{ name: null, email: "b@x" }],
      inReplyTo: ["p@x"],
      references: ["r@x", "p@x"],
      subject: "S",
      textBody: [{ partId: "text", type: "text/plain" }],
      bodyValues: { text: { value: "t\n" } },
    });
  });
});

describe("a reply", () => {
  test("goes to whom the message names, in its thread", () => {
    const parent: JmapEmail = {
      ...recorded.email,
      replyTo: [{ email: "list@x" }],
      references: ["root@x"],
    };
    expect(planReply(parent)).toEqual({
      to: ["list@x"],
      subject: "Re: Lünch report",
      inReplyTo: ["abc.1@svc.localhost"],
      references: ["root@x", "abc.1@svc.localhost"],
      hops: 1,
    });
    const seen = { box: "inbox", read: true, answered: false };
    const answered = { ...recorded.email, "header:X-Svc-Hops:asText": " 4" };
    expect([planReply(answered).hops, toMail(answered, seen, { body: false }).hops]).toEqual([5, 4]);
    expect(toMail(recorded.email, seen, { body: false })).not.toHaveProperty("hops");
    expect(planReply({ ...recorded.email, subject: "RE: x" })).toMatchObject({
      to: ["alice@svc.localhost"],
      subject: "RE: x",
    });
  });

  test("names the root and the latest of a long thread", () => {
    const references = Array.from({ length: 300 }, (_, index) => `r${index}@x`);
    const plan = planReply({ ...recorded.email, references });
    expect([plan.references.length, plan.references[0], plan.references.at(-1)]).toEqual([
      100,
      "r0@x",
      "abc.1@svc.localhost",
    ]);
  });

  test("to nobody is refused", () => {
    expect(reasonOf(() => planReply({ ...recorded.email, from: null }))).toBe("invalid_request");
  });
});

describe("boxes", () => {
  test("are named by their role, else by their own name, each once", () => {
    const other = { id: "b1", name: "Later", role: null, parentId: null };
    const deep = { id: "b2", name: "Later", role: null, parentId: "b1" };
    const odd = { id: "b3", name: "archive", role: null, parentId: null };
    const real = { id: "b4", name: "Old", role: "archive", parentId: null };
    const boxes = toBoxes([deep, odd, other, real]);
    expect(["Later", "Later b2", "archive", "archive b3"].map(boxes.idOf)).toEqual(["b1", "b2", "b4", "b3"]);
  });

  test("that are expected may be missing, any other is an error", () => {
    expect([boxToList(known, "inbox"), boxToList(known, "archive")]).toEqual([inboxId ?? "", null]);
    expect(reasonOf(() => boxToList(known, "nowhere"))).toBe("invalid_request");
  });
});

describe("a change", () => {
  test("names what differs, sets by true and unsets by null", () => {
    const seen = { ...recorded.email, keywords: { $seen: true } };
    const state = { box: "drafts", read: false, answered: true };
    expect(toPatch({ email: seen, state }, known)).toEqual({
      "keywords/$seen": null,
      "keywords/$answered": true,
      mailboxIds: { [draftsId ?? ""]: true },
    });
    expect(toPatch({ email: seen, state: viewStateOf(seen, known) }, known)).toEqual({});
  });
});

describe("a page", () => {
  const plan = {
    box: "inbox",
    read: null,
    answered: null,
    sinceUtc: null,
    words: null,
    after: null,
    limit: 2,
  };

  test("is selected by the server, flags and times included", () => {
    const given = { ...plan, read: false, answered: true, sinceUtc: "2026-11-21T08:00:00.001Z" };
    const after = { createdAtUtc: "2026-11-21T09:00:00Z", messageId: "M1" };
    expect(toFilter("b", given, after)).toEqual({
      operator: "AND",
      conditions: [
        { inMailbox: "b" },
        { notKeyword: "$seen" },
        { hasKeyword: "$answered" },
        { after: "2026-11-21T08:00:01Z" },
        { before: "2026-11-21T09:00:00.999Z" },
      ],
    });
  });
});

describe("a failure", () => {
  test("of a method is one of the transport, and the others still count", () => {
    const answers = toAnswers(recorded.missing);
    expect(answers.of(EmailGet, "Email/get", "c0").notFound).toEqual(["x"]);
    expect(reasonOf(() => answers.of(EmailQuery, "Email/query", "c1"))).toBe("transport_failed");
    expect(reasonOf(() => answers.of(EmailQuery, "Email/query", "c9"))).toBe("transport_failed");
    expect(answers.has("Email/set", "c0")).toBe(false);
  });

  test.each([
    { type: "emailNotFound", reason: "not_found" },
    { type: "invalidRecipients", reason: "invalid_request" },
    { type: "tooLarge", reason: "invalid_request" },
    { type: "overQuota", reason: "transport_failed" },
    { type: "anything", reason: "transport_failed" },
  ])("of the kind $type is $reason", ({ type, reason }) => {
    const error = toSetFailure("It failed", { type, description: "line\r\nnext" });
    expect([error.reason, error.message]).toEqual([reason as never, `It failed: ${type} (line next)`]);
  });

  test("hides in any part of a set", () => {
    expect(firstRefusal({})).toBeNull();
    expect(firstRefusal({ notCreated: null, notUpdated: {} })).toBeNull();
    expect(firstRefusal({ notCreated: recorded.notCreated })).toEqual({ type: "emailNotFound" });
    expect(firstRefusal({ notDestroyed: { a: { type: "notFound" } } })).toEqual({ type: "notFound" });
  });

  test("of the server says whether it may have acted, and nothing of its text", () => {
    const text = '{"type":"urn:ietf:params:jmap:error:notJSON","detail":"secret"}';
    expect(toHttpFailure(400, text)).toMatchObject({
      message: "the JMAP server failed with status 400 (urn:ietf:params:jmap:error:notJSON)",
      data: { reached: false },
    });
    expect(toHttpFailure(503, "")).toMatchObject({ data: { reached: true, again: true } });
    expect(toHttpFailure(401, "").message).toContain("refuses the login");
  });
});

test("a login is named by its server and address, and by nothing secret", () => {
  const ref = toCredentialRef("https://mail.example/jmap", "Ada.B@svc.localhost");
  expect(ref).toMatch(/^jmap-ada-b-svc-localhost-[0-9a-f]{16}$/);
  expect(toCredentialRef("https://other.example/jmap", "Ada.B@svc.localhost")).not.toBe(ref);
});
