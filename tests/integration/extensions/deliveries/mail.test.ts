import { expect, test } from "bun:test";
import type { MailQuery } from "../../../../src/services/mail/mailbox.ts";
import { jmapMailbox } from "../../../support/cyrus/mailboxes.ts";
import { startCyrus } from "../../../support/cyrus/server.ts";
import { deliveredItem, targetFixture } from "../../../support/delivery-targets.ts";
import { until } from "../../../support/until.ts";

test("mail is sent once through the account of a JMAP server, however often it is attempted", async () => {
  await using cyrus = await startCyrus();
  const sender = await cyrus.addAccount("svc");
  const person = await cyrus.addAccount("ann");
  using fixture = targetFixture();
  fixture.secret("password", `${sender.password}\n`);
  const rule = `mail: { to: ${person.address}, from: ${sender.address}, jmap_url: "${cyrus.url}", password_file: password }`;
  const items = [
    deliveredItem({ summary: "Line\r\nBcc: eve@example.test", options: [{ answer: "1", label: "Yes" }] }),
  ];
  const given = { deliveryId: "dlv_a1", items };
  expect(await fixture.send(rule, given)).toEqual({
    ok: true,
    detail: "the mail server took it",
    answer: "",
  });
  // As after a crash before the result was written: another process knows only the id.
  expect(await fixture.send(rule, given)).toMatchObject({ ok: true });
  expect(await fixture.send(rule, { ...given, deliveryId: "dlv_a2" })).toMatchObject({ ok: true });

  using inbox = closing(jmapMailbox(cyrus, person));
  const query: MailQuery = {
    readState: "any",
    answeredState: "any",
    archived: null,
    limit: null,
    since: null,
    box: "inbox",
    includeBody: true,
    cursor: null,
    query: null,
  };
  const messages = await until("both messages", async () => {
    const found = await inbox.mailbox.list(query);
    return found.messages.length >= 2 && found.messages;
  });
  const ids = messages
    .map(({ body_text }) => /delivery (\w+) of the rule it/.exec(body_text ?? "")?.[1])
    .sort();
  expect(ids).toEqual(["dlv_a1", "dlv_a2"]);
  expect(messages.map(({ subject }) => subject)).toEqual(Array(2).fill("Line Bcc: eve@example.test"));

  fixture.secret("password", "wrong");
  const refused = await fixture.send(rule, given);
  expect(refused).toMatchObject({ ok: false, error: expect.stringContaining("refuses the login") });
  expect(JSON.stringify(refused)).not.toContain("wrong");
}, 60_000);

const closing = (mailbox: ReturnType<typeof jmapMailbox>) => ({
  mailbox,
  [Symbol.dispose]: () => mailbox.close(),
});
