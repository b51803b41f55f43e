import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { MailEnvelope } from "../../../src/protocol/mail-file.ts";
import {
  defaultMailbox,
  isReserved,
  nearestAddress,
  operator,
  parseAddress,
  personAddress,
  personMailbox,
} from "../../../src/services/mail/address.ts";
import { fileNameOf, mediaTypeOf, planReply } from "../../../src/services/mail/draft.ts";
import {
  isEnvelope,
  parseMessageFile,
  renderMessageFile,
} from "../../../src/services/mail/filesystem/delivery/message-file.ts";
import { messageId } from "../../../src/services/mail/filesystem/root-paths.ts";
import type { MailQuery } from "../../../src/services/mail/mailbox.ts";
import { previewOf } from "../../../src/services/mail/message-body.ts";
import { planList, storedTime } from "../../../src/services/mail/view-state.ts";
import { everything } from "../../support/mail-story.ts";

const id = (number: number) => messageId("20260101T000000Z", number.toString(16).padStart(32, "0"));

const envelope: MailEnvelope = {
  protocol_version: 3,
  message_id: id(1),
  thread_id: id(1),
  in_reply_to: null,
  references: [],
  created_at_utc: "2026-01-01T00:00:00.000Z",
  from: { principal_id: "SVC-ada", address: "ada@svc.localhost" },
  to: [{ principal_id: "SVC-ben", address: "ben@svc.localhost", display_name: "Ben" }],
  cc: [],
  reply_to: [],
  subject: "Hello",
  attachments: [],
  headers: {},
  notify_block: null,
  notify_auth: null,
};

describe("an address", () => {
  test.each([
    { id: "a plain one is taken", text: "ada@svc.localhost", ok: true },
    { id: "space around it is not part of it", text: " ada@svc.localhost\n", ok: true },
    { id: "dots, plus and dashes may stand in it", text: "a.b+c-d_e@host-1.example", ok: true },
    { id: "it needs a name before the @", text: "@svc.localhost", ok: false },
    { id: "it needs an @", text: "ada", ok: false },
    { id: "it has one @", text: "a@b@c", ok: false },
    { id: "it goes up to no folder", text: "../ada@svc.localhost", ok: false },
    { id: "it holds no two dots", text: "a..b@svc.localhost", ok: false },
    { id: "it holds no slash", text: "a/b@svc.localhost", ok: false },
    { id: "it does not begin with a dot", text: ".ada@svc.localhost", ok: false },
    { id: "it holds no space", text: "a da@svc.localhost", ok: false },
    { id: "it holds no line break", text: "ada@svc.localhost\nx", ok: false },
    { id: "it holds no NUL", text: "ada\0@svc.localhost", ok: false },
    {
      id: "it does not look like a stashed mailbox",
      text: `ada@svc.localhost--${"0a".repeat(16)}`,
      ok: false,
    },
    { id: "it fits into a file name", text: `${"a".repeat(250)}@svc.localhost`, ok: false },
  ])("$id", ({ text, ok }) => {
    if (ok) expect(parseAddress(text)).toBe(text.trim());
    else expect(() => parseAddress(text)).toThrow("not a mailbox address");
  });

  test("whatever is taken is one part of a path, and is taken again", () => {
    fc.assert(
      fc.property(
        fc.string({ maxLength: 40, unit: "grapheme-ascii" }),
        fc.string({ maxLength: 20 }),
        (left, right) => {
          let address: string;
          try {
            address = parseAddress(`${left}@${right}`);
          } catch {
            return;
          }
          expect(parseAddress(address)).toBe(address);
          expect(address).not.toMatch(/[/\\\s\0]|\.\.|^\./);
        },
      ),
      { numRuns: 2000 },
    );
  });

  test("an agent of any name has one, or is refused", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (name) => {
        let mailbox: ReturnType<typeof defaultMailbox>;
        try {
          mailbox = defaultMailbox(name);
        } catch {
          expect(name).not.toMatch(/[A-Za-z0-9]{1,60}$/);
          return;
        }
        expect(parseAddress(mailbox.address)).toBe(mailbox.address);
      }),
    );
    expect(defaultMailbox("SVC-ada")).toEqual({ address: "ada@svc.localhost", principalId: "SVC-ada" });
    expect(defaultMailbox("my agent / 2").address).toBe("my-agent-2@svc.localhost");
  });

  test.each<{ user: string; address: string; principalId: string }>([
    { user: "ann", address: "ann@svc.localhost", principalId: "SVC-ann" },
    { user: "ann.m", address: "ann.m@svc.localhost", principalId: "SVC-ann.m" },
    { user: "DOM\\ann", address: "DOM-ann@svc.localhost", principalId: "SVC-DOM-ann" },
    { user: "SVC-ann", address: "ann@svc.localhost", principalId: "SVC-ann" },
    { user: "operator", address: "operator@svc.localhost", principalId: "SVC-operator-person" },
  ])("a person who is called $user has $address", ({ user, address, principalId }) => {
    expect(personMailbox(personAddress(user))).toEqual({ address, principalId, role: "person" });
  });

  test("a person whose name has no usable character is refused", () => {
    expect(() => personAddress("李")).toThrow("no mailbox address can be made of the name");
  });

  test("those that begin with SVC- are the system's, in its domain", () => {
    expect(isReserved(operator.address)).toBe(true);
    expect(isReserved("SVC-x@example.org")).toBe(false);
    expect(isReserved("ada@svc.localhost")).toBe(false);
  });

  test.each([
    { id: "a bare name means the only mailbox of that name", typed: "ben", want: "ben@svc.localhost" },
    { id: "a bare name of two mailboxes means neither", typed: "ada", want: null },
    { id: "two wrong letters of three are too many", typed: "bxx@svc.localhost", want: null },
    { id: "one wrong letter is seen", typed: "beb@svc.localhost", want: "ben@svc.localhost" },
    { id: "another domain is seen", typed: "ben@example.com", want: "ben@svc.localhost" },
    { id: "what is far away is left alone", typed: "zacharias@svc.localhost", want: null },
  ])("$id", ({ typed, want }) => {
    expect(nearestAddress(typed, ["ada@svc.localhost", "ada@other.example", "ben@svc.localhost"])).toBe(want);
  });
});

describe("the file of a message", () => {
  const text = fc.string({ unit: "binary", maxLength: 60 }).map((one) => `x${one.toWellFormed()}`);

  test("says exactly what was written, whatever it is", () => {
    fc.assert(
      fc.property(text, text, text, fc.option(text), (subject, body, name, notice) => {
        const message = {
          envelope: {
            ...envelope,
            subject,
            from: { ...envelope.from, display_name: name },
            headers: { "x-any": [name, { deep: null, number: 1.5 }] },
            attachments: [
              {
                attachment_id: "att-0123456789ab",
                kind: "managed_copy" as const,
                path: name,
                media_type: "a/b",
                label: name,
              },
            ],
            notify_block: notice === null ? null : { text: notice, placement: "append" as const },
          },
          body: `${body}\n---\n${name}`,
        };
        expect(parseMessageFile(renderMessageFile(message))).toEqual({ ok: true, message });
      }),
      { numRuns: 300 },
    );
  });

  test("can be read by a person", () => {
    const lines = renderMessageFile({ envelope, body: "Dear Ben\n" }).split("\n");
    expect(lines.slice(0, 3)).toEqual(["---", "protocol_version: 3", `message_id: "${id(1)}"`]);
    expect(lines.slice(-4)).toEqual(["---", "", "Dear Ben", ""]);
    expect(lines).toContain('subject: "Hello"');
  });

  test.each([
    { id: "text without front matter is none", text: "Hello" },
    { id: "front matter that never ends is none", text: "---\nsubject: x\n" },
    {
      id: "an unknown key is refused",
      text: renderMessageFile({ envelope, body: "" }).replace("cc:", "bcc: []\ncc:"),
    },
    {
      id: "a missing key is refused",
      text: renderMessageFile({ envelope, body: "" }).replace("cc: []\n", ""),
    },
    {
      id: "another version is refused",
      text: renderMessageFile({ envelope, body: "" }).replace(": 3", ": 4"),
    },
    { id: "YAML that is none is refused", text: "---\n: : [\n---\n\n" },
  ])("$id", ({ text: content }) => {
    expect(parseMessageFile(content).ok).toBe(false);
  });
});

describe("a reply", () => {
  test("hangs on its thread however long it grows", () => {
    let parent = envelope;
    for (let number = 2; number < 300; number++) {
      const thread = planReply(parent);
      expect(thread.references.at(-1)).toBe(parent.message_id);
      expect(thread.references[0]).toBe(id(1));
      expect(thread.references.length).toBeLessThanOrEqual(100);
      parent = {
        ...parent,
        message_id: id(number),
        thread_id: thread.threadId,
        in_reply_to: thread.inReplyTo,
        references: thread.references,
        subject: thread.subject,
      };
      expect(parent.thread_id).toBe(id(1));
      expect(isEnvelope(parent)).toBe(true);
    }
    expect(parent.subject).toBe("Re: Hello");
  });

  test("goes to reply_to rather than to the sender", () => {
    const other = { principal_id: "SVC-x", address: "x@svc.localhost" };
    expect(planReply({ ...envelope, reply_to: [other] }).to).toEqual([other]);
    expect(planReply(envelope).to).toEqual([envelope.from]);
  });

  test.each([
    { id: "a note of the operator without a policy takes none", policy: undefined, taken: false },
    { id: "a note with an unknown policy takes none", policy: "maybe", taken: false },
    { id: "a note with the policy none takes none", policy: "none", taken: false },
    { id: "a note that may be answered takes one", policy: "operator_mailbox", taken: true },
  ])("$id", ({ policy, taken }) => {
    const headers = { "x-svc-origin": "operator", ...(policy ? { "x-svc-reply-policy": policy } : {}) };
    const reply = () => planReply({ ...envelope, headers });
    if (taken) expect(reply().subject).toBe("Re: Hello");
    else expect(reply).toThrow("takes no reply");
  });
});

describe("what a list shows", () => {
  const query: MailQuery = everything;

  test("is nothing where no message can meet the conditions", () => {
    expect(planList({ ...query, archived: true })).toBeNull();
    expect(planList({ ...query, box: "archive", archived: false })).toBeNull();
    expect(planList({ ...query, query: " -- " })).toBeNull();
    expect(planList({ ...query, archived: false })).not.toBeNull();
  });

  test("takes any limit that a database can count to", () => {
    const limit = planList({ ...query, limit: 1e300 })?.limit ?? 0;
    expect(limit).toBeGreaterThan(2 ** 52);
    expect(Number.isSafeInteger(limit + 1)).toBe(true);
  });

  test("begins at a time in any notation", () => {
    expect(planList({ ...query, since: "2026-01-01T01:00:00+01:00" })?.sinceUtc).toBe(
      "2026-01-01T00:00:00.000Z",
    );
    expect(storedTime(0)).toBe("1970-01-01T00:00:00.000Z");
  });

  test("a preview is one line of at most 240 characters, whole ones", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (body) => {
        const preview = previewOf(body.toWellFormed());
        expect(preview.length).toBeLessThanOrEqual(240);
        expect(preview).not.toMatch(/[\r\n\t]/);
        expect(preview.isWellFormed()).toBe(true);
      }),
    );
    expect(previewOf(` a\n\n b${" c".repeat(200)}`)).toEndWith("...");
    expect(previewOf("a \n b")).toBe("a b");
  });

  test("a preview skips spaces, however many come before its text", () => {
    const text = "word ".repeat(80);
    const whole = `${text.slice(0, 237)}...`;
    for (const spaces of [0, 200, 400, 478, 479, 480, 481, 900, 3000]) {
      expect(previewOf(" ".repeat(spaces) + text)).toBe(whole);
      expect(previewOf(`a${" ".repeat(spaces)} ${text}`)).toBe(`a ${text.slice(0, 235)}...`);
    }
    expect(previewOf(" ".repeat(3840) + text)).toBe("");
  });

  test("an attachment has the type that its name reports", () => {
    expect(mediaTypeOf("report.MD")).toBe("text/markdown");
    expect(mediaTypeOf("archive")).toBe("application/octet-stream");
    expect(mediaTypeOf(".json")).toBe("application/json");
    expect(fileNameOf("/a/b/two\nlines.txt")).toBe("two_lines.txt");
  });
});
