import { expect } from "bun:test";
import type { Mail, Mailbox } from "../../src/services/mail/mailbox.ts";
import { ServiceError } from "../../src/system/errors.ts";
import { jmapMailbox } from "../support/cyrus/mailboxes.ts";
import { startCyrus } from "../support/cyrus/server.ts";
import { faultTest } from "../support/fault-table.ts";
import { openLossyLine } from "../support/lossy-line.ts";
import { draft, everything } from "../support/mail-story.ts";
import { until } from "../support/until.ts";

const letters = 24;
const plain = { attachments: [], notifyBlock: null, notifyAuth: null };

const row = {
  area: "mail",
  fault: "A JMAP server is stopped and started again, and one answer in seven is lost",
  outcome: "each letter and each answer is there once",
  seen: "502 for what could not be done",
  recovery: "the very same request again",
} as const;

faultTest(
  "a mail server that stops, and answers that get lost, lose no message and double none",
  row,
  async () => {
    await using cyrus = await startCyrus();
    await using line = await openLossyLine(cyrus.url);
    const ada = jmapMailbox(line, await cyrus.addAccount("ada"), { timeoutMs: 5000 });
    const ben = jmapMailbox(line, await cyrus.addAccount("ben"), { timeoutMs: 5000 });
    const failures: ServiceError[] = [];
    let answered = 0;
    let sent = 0;

    /** As an agent does it: what failed for the server's sake is done again, the very same. */
    function persist<T>(work: () => Promise<T>): Promise<Awaited<T>> {
      const again = async () => {
        try {
          return { done: await work() };
        } catch (error) {
          if (!(error instanceof ServiceError) || error.reason !== "transport_failed") throw error;
          failures.push(error);
          return null;
        }
      };
      return until("the mail server works again", again, 60_000).then(({ done }) => done);
    }

    async function write(): Promise<void> {
      for (let nth = 1; nth <= letters; nth++) {
        await persist(() => ada.send(draft("ben", `letter ${nth}`)));
        sent = nth;
      }
    }

    async function answer(): Promise<void> {
      while (answered < letters) {
        const { messages } = await persist(() => ben.list(everything));
        for (const { message_ref: ref, subject, answered: already } of messages) {
          if (!already) await persist(() => ben.reply(ref, { body: `answer to ${subject}`, ...plain }));
          await persist(() => ben.archive([ref]));
          answered += 1;
        }
      }
    }

    async function disturb(): Promise<void> {
      for (const at of [3, 9, 15]) {
        await until(`letter ${at}`, () => sent >= at, 60_000);
        await cyrus.stop();
        const before = failures.length;
        await until("somebody notices", () => failures.length > before, 60_000);
        await cyrus.start();
      }
    }

    line.losesOneIn = 7;
    await Promise.all([write(), answer(), disturb()]);
    line.losesOneIn = 0;
    await until("all answers", async () => (await ada.list(everything)).messages.length >= letters, 60_000);
    await until("nothing is on its way", () => cyrus.relay.waiting() === 0);

    const subjects = Array.from({ length: letters }, (_, index) => `letter ${index + 1}`).sort();
    const replies = subjects.map((subject) => `Re: ${subject}`);
    expect(await subjectsIn(ada, "sent")).toEqual(subjects);
    expect(await subjectsIn(ben, "archive")).toEqual(subjects);
    expect(await subjectsIn(ben, "sent")).toEqual(replies);
    expect(await subjectsIn(ada, "inbox")).toEqual(replies);
    for (const mailbox of [ada, ben]) expect(await subjectsIn(mailbox, "drafts")).toEqual([]);
    expect(await subjectsIn(ben, "inbox")).toEqual([]);
    const archived = (await ben.list({ ...everything, box: "archive" })).messages;
    expect(archived.every((mail: Mail) => mail.read && mail.answered)).toBe(true);
    expect(cyrus.relay.bounced).toEqual([]);
    expect([failures.length > 3, line.lost > 10]).toEqual([true, true]);
    ada.close();
    ben.close();
  },
  180_000,
);

async function subjectsIn(mailbox: Mailbox, box: string): Promise<string[]> {
  return (await mailbox.list({ ...everything, box })).messages.map(({ subject }) => subject).sort();
}
