import type { Mailbox, MailDraft, MailQuery } from "../../src/services/mail/mailbox.ts";
import type { MailRootFixture } from "./mail-root.ts";

/** All messages of a box, or those with other conditions. */
export const everything: MailQuery = {
  box: "inbox",
  readState: "any",
  answeredState: "any",
  archived: null,
  limit: null,
  since: null,
  includeBody: false,
  cursor: null,
  query: null,
};

export function draft(to: string, subject: string, change: Partial<MailDraft> = {}): MailDraft {
  return {
    to: [`${to}@svc.localhost`],
    cc: [],
    subject,
    body: `body of ${subject}`,
    attachments: [],
    notifyBlock: null,
    notifyAuth: null,
    ...change,
  };
}

/**
 * Mail between ann, bob and cleo as a day leaves it: unread, read, answered, archived, moved to a box of
 * one's own, to oneself, and not yet looked at by cleo.
 */
export async function liveThroughADay(fixture: MailRootFixture): Promise<void> {
  const ann = fixture.mailbox("ann");
  const bob = fixture.mailbox("bob");
  const cleo = fixture.mailbox("cleo");
  await cleo.list(everything);
  const send = async (subject: string) => (await ann.send(draft("bob", subject))).message_ref;
  await send("unread");
  await bob.read(await send("read"));
  const plain = { attachments: [], notifyBlock: null, notifyAuth: null };
  await bob.reply(await send("answered"), { body: "yes", ...plain });
  await bob.archive([await send("archived")]);
  await bob.move([await send("moved")], "later");
  await ann.send(draft("ann", "to myself"));
  await ann.send(draft("cleo", "not looked at", { cc: ["bob@svc.localhost"] }));
  fixture.putOnDisk();
}

/** How all messages stand in the three mailboxes: `box subject flags`, sorted. */
export async function viewOf(open: (name: string) => Mailbox): Promise<Record<string, string[]>> {
  const view: Record<string, string[]> = {};
  for (const name of ["ann", "bob", "cleo"]) {
    const lines: string[] = [];
    for (const box of ["inbox", "sent", "archive", "later"]) {
      const { messages } = await open(name).list({ ...everything, box });
      for (const one of messages) {
        const flags = [one.read ? "read" : "unread", one.answered ? "answered" : ""].join(" ").trim();
        lines.push(`${one.box}: ${one.subject}, ${flags}`);
      }
    }
    view[name] = lines.sort();
  }
  return view;
}
