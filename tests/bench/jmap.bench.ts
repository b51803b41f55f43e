import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import { jmapMailbox } from "../support/cyrus/mailboxes.ts";
import { type CyrusAccount, startCyrus } from "../support/cyrus/server.ts";
import { everything } from "../support/mail-story.ts";
import { until } from "../support/until.ts";
import { type Bench, type Contestant, durationRows, type Row, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";

const messageCount = effort(300, 20);
const body = `Look at the failing test. ${"Say what you find. ".repeat(50)}`;

/**
 * A mailbox on a mail server: each operation beside the fewest requests of bare HTTP that do the same at the
 * same server, in turns.
 */
const bench: Bench = {
  name: "jmap",
  async run() {
    await using cyrus = await startCyrus();
    const account = await cyrus.addAccount("ada");
    const other = await cyrus.addAccount("ben");
    const mailbox = jmapMailbox(cyrus, account, { pollMs: 60_000 });
    const sender = jmapMailbox(cyrus, other, { pollMs: 60_000 });
    for (let nth = 0; nth < messageCount; nth++) await sender.send(letter(account.address, `message ${nth}`));
    await until("all has arrived", () => cyrus.relay.waiting() === 0, 60_000);
    const raw = await openRaw(cyrus.url, account);
    const rounds = effort(60, 4);
    const durations = await takeTurns(contestantsOf(mailbox, raw, other.address), {
      rounds,
      warmUp: effort(5, 1),
    });
    mailbox.close();
    sender.close();
    const of = (name: string) => durations[name] ?? [];
    const rows: Row[] = [
      ...durationRows("list_50", of("list"), of("raw_list")),
      ...durationRows("send", of("send"), of("raw_send")),
      ...durationRows("read", of("read"), of("raw_read")),
    ];
    return rows;
  },
};

export default bench;

function letter(to: string, subject: string) {
  return { to: [to], cc: [], subject, body, attachments: [], notifyBlock: null, notifyAuth: null };
}

/** One request each: as little as the protocol allows. */
interface Raw {
  list(): Promise<unknown>;
  send(to: string): Promise<unknown>;
  read(id: string): Promise<unknown>;
}

async function openRaw(url: string, { address, password }: CyrusAccount): Promise<Raw> {
  const headers = {
    authorization: `Basic ${btoa(`${address}:${password}`)}`,
    "content-type": "application/json",
  };
  const api = new URL("/jmap/", url);
  const call = async (...methods: [string, object][]) => {
    const methodCalls = methods.map(([name, args], nth) => [
      name,
      { accountId: address, ...args },
      `c${nth}`,
    ]);
    const using = ["core", "mail", "submission"].map((name) => `urn:ietf:params:jmap:${name}`);
    const init = { method: "POST", headers, body: JSON.stringify({ using, methodCalls }), proxy: false };
    const response = await fetch(api, init as RequestInit);
    const { methodResponses } = (await response.json()) as { methodResponses: [string, unknown][] };
    const failed = methodResponses.find(([name]) => name === "error");
    if (failed) throw new Error(JSON.stringify(failed));
    return methodResponses;
  };
  const [[, found] = ["", null]] = await call(["Mailbox/get", { ids: null, properties: ["role"] }]);
  const boxes = (found as { list: { id: string; role: string }[] }).list;
  const box = (role: string) => boxes.find((one) => one.role === role)?.id ?? "";
  const properties = [
    "id",
    "threadId",
    "receivedAt",
    "from",
    "to",
    "subject",
    "preview",
    "keywords",
    "mailboxIds",
  ];
  return {
    list: () =>
      call(
        [
          "Email/query",
          {
            filter: { inMailbox: box("inbox") },
            sort: [{ property: "receivedAt", isAscending: false }],
            limit: 50,
          },
        ],
        ["Email/get", { "#ids": { resultOf: "c0", name: "Email/query", path: "/ids" }, properties }],
      ),
    send: (to) =>
      call(
        [
          "Email/set",
          {
            create: {
              m: {
                mailboxIds: { [box("sent")]: true },
                from: [{ email: address }],
                to: [{ email: to }],
                subject: "bench",
                textBody: [{ partId: "t", type: "text/plain" }],
                bodyValues: { t: { value: body } },
              },
            },
          },
        ],
        ["EmailSubmission/set", { create: { s: { emailId: "#m", identityId: address } } }],
      ),
    read: (id) =>
      call(
        ["Email/get", { ids: [id], properties: [...properties, "bodyValues"], fetchTextBodyValues: true }],
        ["Email/set", { update: { [id]: { "keywords/$seen": true } } }],
      ),
  };
}

/** `read` and `raw_read` each take a message that was not read before. */
function contestantsOf(mailbox: Mailbox, raw: Raw, other: string): Contestant[] {
  const unread: string[] = [];
  const taking = () => {
    const ref = unread.pop();
    if (ref === undefined) throw new Error("there is no message left");
    return ref;
  };
  return [
    {
      name: "prepare",
      async run() {
        if (unread.length >= 2) return;
        const { messages } = await mailbox.list({ ...everything, readState: "unread" });
        unread.push(...messages.map((one) => one.message_ref));
      },
    },
    { name: "list", run: () => mailbox.list({ ...everything, limit: 50 }) },
    { name: "raw_list", run: () => raw.list() },
    { name: "send", run: () => mailbox.send(letter(other, "bench")) },
    { name: "raw_send", run: () => raw.send(other) },
    { name: "read", run: () => mailbox.read(taking()) },
    { name: "raw_read", run: () => raw.read(taking().replace("jmap:", "")) },
  ];
}
