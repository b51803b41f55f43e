import { describe, expect, test } from "bun:test";
import { renderInbox, renderMail, renderMailList } from "../../../src/cli/mail/mail-text.ts";
import { mailSample } from "../../support/mail-sample.ts";

const list = (messages: ReturnType<typeof mailSample>[], columns = 80) =>
  renderMailList({ messages, box: "inbox", unread_count: messages.length }, columns);

describe("a list of mail for people", () => {
  test("is aligned and no line of it is wider than the terminal", () => {
    const messages = [
      mailSample({ subject: "short" }),
      mailSample({ subject: "long ".repeat(40), unread: false, answered: true }),
      mailSample({ subject: "宽字符".repeat(30) }),
    ];
    for (const columns of [60, 80, 120]) {
      const rows = list(messages, columns).split("\n");
      const heads = [rows[0], rows[1], rows[3], rows[5]].map((row) => row ?? "");
      for (const head of heads) expect(Bun.stringWidth(head)).toBeLessThanOrEqual(columns);
      expect(heads.map((head) => head.slice(5, 9))).toEqual(["TIME", "2026", "2026", "2026"]);
    }
    expect(list(messages)).toContain("…");
    expect(list(messages)).toContain("filesystem:m1");
  });

  test("says so when there is none, and how to get the rest", () => {
    expect(list([])).toBe("no mail in inbox");
    const page = { messages: [mailSample()], box: "inbox", unread_count: 1, next_cursor: "abc" };
    expect(renderMailList(page, 80)).toContain("--cursor abc");
  });

  test("counts what it shows, and calls a page of a longer list no whole", () => {
    const messages = [mailSample(), mailSample()];
    expect(list(messages)).toContain("\n2 messages in inbox, 2 unread (");
    const page = { messages, box: "inbox", unread_count: 1, next_cursor: "abc" };
    expect(renderMailList(page, 80)).toContain("\n2 messages shown in inbox, 1 of them unread (");
  });

  test("says beside each reference whether the sender signed it, and of a broken one why", () => {
    const why = "its text is not the one that was signed";
    const broken = mailSample({ attestation: "broken", attestation_detail: why });
    expect(
      list([mailSample({ attestation: "verified" }), broken, mailSample()]).match(/filesystem:m1.*/g),
    ).toEqual(["filesystem:m1  verified", `filesystem:m1  broken: ${why}`, "filesystem:m1"]);
    expect(renderMail(broken)).toContain(`signature  broken: ${why}`);
    expect(renderMail(mailSample())).not.toContain("signature");
  });

  test("shows nothing that would act on the terminal", () => {
    const subject = "a\x1b[2Jb\u202ec\r\nd";
    const body_text = "x\x1b]0;title\x07y\r\nz";
    const shown = list([mailSample({ subject })]) + renderMail(mailSample({ subject, body_text }));
    expect(shown).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]/);
    expect(shown).toContain("a\\u001b[2Jb\\u202ec d");
    expect(shown).toContain("x\\u001b]0;title\\u0007y\nz");
  });

  test.each([
    { id: "no name", address: "dana@evil", display_name: null, shown: "dana@evil" },
    { id: "a name", address: "dana@evil", display_name: "alice", shown: "alice <dana@evil>" },
    {
      id: "a name here",
      address: "dana@svc.localhost",
      display_name: "alice",
      shown: "alice <dana@svc.localhost>",
    },
    {
      id: "an address as its name",
      address: "dana@evil",
      display_name: "alice@svc.localhost",
      shown: "dana@evil",
    },
    { id: "brackets", address: "dana@evil", display_name: "alice <alice", shown: "dana@evil" },
    {
      id: "a name that turns the line",
      address: "dana@evil",
      display_name: "al\u202eice",
      shown: "al\\u202eice <dana@evil>",
    },
  ])("shows the address of the sender beside $id", ({ address, display_name, shown }) => {
    const sender = { address, display_name, principal_id: null };
    expect(renderMail(mailSample({ sender }))).toContain(`from     ${shown}\n`);
  });
});

describe("an inbox", () => {
  const nowMs = Date.UTC(2026, 0, 1, 0, 5);
  const message = (number: number, change: Parameters<typeof mailSample>[0] = {}) =>
    mailSample({ number, ...change });
  const read = message(1, { subject: "old", unread: false, read: true, answered: true });
  const messages = [message(3, { subject: "a\x1b[2J long one ".repeat(20) }), message(2), read];

  test("shows the number, the sender, the age and the state of each message within the columns", () => {
    const shown = renderInbox({ messages, isAll: true, unread: 2, open: 3 }, { columns: 80, nowMs });
    const lines = shown.split("\n");
    expect(lines[0]).toMatch(/^NUMBER +FROM +SINCE +NOTE +SUBJECT$/);
    expect(lines[1]).toMatch(/^3 +sender@svc.localhost +5m +unread +a\\u001b\[2J long/);
    expect(lines[2]).toMatch(/^2 +sender@svc.localhost +5m +unread +A subject$/);
    expect(lines[3]).toMatch(/^1 +sender@svc.localhost +5m +answered +old$/);
    expect(lines.at(-1)).toBe("2 unread. Read one with: svc read NUMBER");
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
  });

  test.each([
    { isAll: false, unread: 0, open: 0, want: "no unread mail" },
    { isAll: false, unread: 0, open: 2, want: "no unread mail; 2 read and not done: svc inbox --all" },
    { isAll: true, unread: 0, open: 0, want: "no mail" },
  ])("without a message says: $want", ({ want, ...counts }) => {
    expect(renderInbox({ messages: [], ...counts }, { columns: 80, nowMs })).toBe(want);
  });
});
