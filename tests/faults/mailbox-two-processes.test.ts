import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import type { Mail } from "../../src/services/mail/mailbox.ts";
import { faultTest } from "../support/fault-table.ts";
import { createMailRootFixture, mailRootDeps } from "../support/mail-root.ts";
import { createScratch } from "../support/scratch.ts";

const sender = join(import.meta.dir, "../support/mail-sender.ts");
const beginner = join(import.meta.dir, "../support/mail-beginner.ts");
const seconds = Number(process.env["SVC_MAIL_RACE_SECONDS"] ?? "5");

interface Reported {
  sent?: string;
  to?: string[];
  read?: string;
  archived?: string;
  at?: string;
}

async function run(...command: string[]): Promise<{ said: string; complaint: string }> {
  const child = Bun.spawn([process.execPath, ...command], {
    env: { PATH: process.env["PATH"] ?? "" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [said, complaint] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  await child.exited;
  return { said, complaint };
}

async function correspond(path: string, seed: number): Promise<{ told: Reported[]; complaint: string }> {
  const { said, complaint } = await run(sender, path, String(seconds), String(seed));
  const lines = said.split("\n").filter((line) => line !== "");
  return { told: lines.map((line) => JSON.parse(line) as Reported), complaint };
}

const beginRow = {
  area: "mail",
  fault: "Several processes begin the same mailbox root at once",
  outcome: "one root, and the mail of all of them in it",
  seen: "nothing",
  recovery: "none is needed",
} as const;

faultTest(
  "processes that begin a root and a mailbox at once all find it begun",
  beginRow,
  async () => {
    using scratch = createScratch();
    for (const attempt of ["one", "two", "three"]) {
      const path = scratch.path(attempt);
      const beginMs = String(Date.now() + 700);
      const all = await Promise.all(Array.from({ length: 5 }, () => run(beginner, path, beginMs)));
      expect(all).toEqual(all.map(() => ({ said: "done\n", complaint: "" })));
      // Who ended while another wrote to the index left its file to the next one.
      openMailRoot(mailRootDeps(), path).close();
      const [day = ""] = readdirSync(join(path, "messages"));
      expect(readdirSync(join(path, "messages", day))).toHaveLength(5);
    }
  },
  120_000,
);

const raceRow = {
  area: "mail",
  fault: "Two processes write, read and archive among the same mailboxes at once",
  outcome: "no message is lost and none doubled; each is archived once",
  seen: "nothing",
  recovery: "none is needed",
} as const;

faultTest(
  "two processes that write among 12 mailboxes at once lose and double nothing",
  raceRow,
  async () => {
    using fixture = createMailRootFixture();
    const mailboxes = Array.from({ length: 12 }, (_, index) => fixture.mailbox(`agent${index}`));
    const both = await Promise.all([correspond(fixture.path, 1), correspond(fixture.path, 2)]);
    expect(both.map((one) => one.complaint)).toEqual(["", ""]);
    const told = both.flatMap((one) => one.told);
    const sent = told.flatMap((one) => (one.sent === undefined ? [] : [one]));
    expect(both.map(({ told: mine }) => mine.length > 10)).toEqual([true, true]);
    const problems: string[] = [];
    for (const mailbox of mailboxes) {
      const { address } = mailbox;
      const held: Mail[] = [];
      for (const box of ["inbox", "archive"]) {
        const page = await mailbox.list({
          box,
          readState: "any",
          answeredState: "any",
          archived: null,
          limit: null,
          since: null,
          includeBody: true,
          cursor: null,
          query: null,
        });
        // What it sent itself lies in `sent`; what lies here, it received.
        held.push(...page.messages);
        const links = readdirSync(join(fixture.path, "mailboxes", address, box));
        if (links.length !== page.messages.length) problems.push(`${address} ${box}: ${links.length} links`);
      }
      const refs = new Set(held.map((mail) => mail.message_ref));
      if (refs.size !== held.length) problems.push(`${address} holds a message twice`);
      const expected = sent.flatMap((one) => (one.to?.includes(address) ? [one.sent ?? ""] : []));
      const lost = expected.filter((ref) => !refs.has(ref));
      if (lost.length > 0) problems.push(`${address} lost ${lost.length}`);
      if (held.length !== expected.length)
        problems.push(`${address} holds ${held.length} of ${expected.length}`);
      if (held.some((mail) => mail.body_text !== `body of ${mail.subject}`))
        problems.push(`${address}: a body differs`);
      const byRef = new Map(held.map((mail) => [mail.message_ref, mail]));
      for (const one of told.filter(({ at }) => at === address)) {
        const mail = byRef.get(one.read ?? one.archived ?? "");
        if (!mail?.read) problems.push(`${address}: ${one.read ?? one.archived} is unread again`);
        if (one.archived !== undefined && !mail?.archived)
          problems.push(`${address}: ${one.archived} came back`);
      }
    }
    console.log(`${sent.length} messages in ${seconds} s`);
    expect(problems).toEqual([]);
  },
  (seconds + 240) * 1000,
);
