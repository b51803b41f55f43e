import { expect } from "bun:test";
import { connect, createServer, type Socket } from "node:net";
import type { Mail, Mailbox } from "../../src/services/mail/mailbox.ts";
import { ServiceError } from "../../src/system/errors.ts";
import { jmapMailbox } from "../support/cyrus/mailboxes.ts";
import { startCyrus } from "../support/cyrus/server.ts";
import { faultTest } from "../support/fault-table.ts";
import { draft, everything } from "../support/mail-story.ts";
import { until } from "../support/until.ts";

/** A way to a server of this machine on which answers can get lost. */
interface LossyLine extends AsyncDisposable {
  /** The server's address by this way. */
  url: string;
  /** Of how many answers one is lost: what was asked is done, and the asker's connection breaks. 0: none. */
  losesOneIn: number;
  /** Answers that were lost. */
  readonly lost: number;
}

/** `url`: where the server is. */
async function openLossyLine(url: string): Promise<LossyLine> {
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  let answers = 0;
  let lost = 0;

  const server = createServer((near) => {
    const far = connect({ host: hostname, port: Number(port) });
    let asked = false;
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on("close", () => open.delete(socket)).on("error", () => {});
    }
    near.on("data", (bytes) => {
      asked = true;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (asked) answers += 1;
      if (asked && line.losesOneIn > 0 && answers % line.losesOneIn === 0) {
        lost += 1;
        near.destroy();
      }
      asked = false;
      if (!near.destroyed) near.write(bytes);
    });
    far.on("close", () => near.destroy());
    near.on("end", () => far.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const own = new URL(url);
  own.port = String(typeof address === "object" && address ? address.port : 0);

  const line: LossyLine = {
    url: own.href,
    losesOneIn: 0,
    get lost() {
      return lost;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return line;
}

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
