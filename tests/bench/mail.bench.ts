import { Database } from "bun:sqlite";
import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultMailbox } from "../../src/services/mail/address.ts";
import { repairMailRoot } from "../../src/services/mail/filesystem/repair/repair.ts";
import { openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { mailRootDeps } from "../support/mail-root.ts";
import { everything } from "../support/mail-story.ts";
import { until } from "../support/until.ts";
import {
  type Bench,
  type Contestant,
  durationRows,
  percentile,
  type Row,
  takeTurns,
  withLimit,
} from "./bench.ts";
import { effort } from "./effort.ts";
import { makeCorpus } from "./mail-corpus.ts";

const messageCount = effort(100_000, 2_000);
const blockSize = 10;
const body = `Look at the failing test. ${"Say what you find. ".repeat(50)}`;

/**
 * One mailbox with very many messages (`--quick`: fewer) behind a gateway's HTTP: each operation beside what
 * the machine does at least for it. A list over HTTP beside a bare Bun.serve that answers with the query's
 * rows, and the mailbox's own list beside that query on bare SQLite; a search beside its query; a send beside
 * the same bytes written, synced, renamed and the folder synced; a change of flags beside one synced row.
 */
const bench: Bench = {
  name: "mail",
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "svc-bench-mail-"));
    try {
      const root = join(folder, "mailbox");
      const madeMs = await timed(() => makeCorpus(root, messageCount));
      await using server = await startServer("mail-server.ts", root);
      await using served = await startServer("raw-mail-server.ts", stateFile(root));
      const first = await timed(() => server.call("list", { limit: 1 }));
      using raw = openRaw(folder, root);
      using own = openOwn(root);
      const before = await server.rssMb();
      const durations = await takeBlocks(contestantsOf(server, served, own, raw), effort(25, 3));
      const after = await server.rssMb();
      const of = (name: string) => durations[name] ?? [];
      const rows: Row[] = [
        // Every operation pays this much for HTTP and for what else the machine does meanwhile.
        ...durationRows("bare_http", of("bare_http")),
        ...durationRows("list_50", of("list"), of("served_list")),
        ...durationRows("list_50_in_process", of("list_in_process"), of("raw_list")),
        {
          metric: "ratio_list_50_to_query",
          value: percentile(of("list"), 0.5) / percentile(of("raw_list"), 0.5),
          unit: "x",
        },
        ...durationRows("send", of("send"), of("raw_write")),
        ...durationRows("read", of("read"), of("raw_row")),
        ...durationRows("archive", of("archive"), of("raw_row")),
        ...durationRows("search", of("search"), of("raw_search")),
        { metric: "rss_before_mb", value: before, unit: "MB" },
        withLimit({ metric: "rss_after_mb", value: after, unit: "MB" }, before),
        { metric: "first_look_s", value: first / 1000, unit: "s" },
        { metric: "corpus_s", value: madeMs / 1000, unit: "s" },
      ];
      return [...rows, await repairRow(root)];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

export default bench;

interface MailServer extends AsyncDisposable {
  call(operation: string, request: object): Promise<Record<string, unknown>>;
  /** A reply that needs nothing. */
  health(): Promise<unknown>;
  rssMb(): Promise<number>;
}

async function startServer(script: string, path: string): Promise<MailServer> {
  let answer: (message: Record<string, number>) => void = () => {};
  const next = () => new Promise<Record<string, number>>((resolve) => (answer = resolve));
  const started = next();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, script), path], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: (message) => answer(message),
  });
  const { port } = await started;
  return {
    async call(operation, request) {
      const reply = await fetch(`http://127.0.0.1:${port}/v1/mail/${operation}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
        proxy: false,
      } as RequestInit);
      if (!reply.ok) throw new Error(`${operation}: ${reply.status} ${await reply.text()}`);
      return (await reply.json()) as Record<string, unknown>;
    },
    health: async () =>
      (await fetch(`http://127.0.0.1:${port}/health`, { proxy: false } as RequestInit)).text(),
    async rssMb() {
      const told = next();
      child.send("memory");
      return (await told)["rssMb"] ?? Number.NaN;
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await child.exited;
    },
  };
}

/** The same mailbox, opened by the bench itself. */
interface Own extends Disposable {
  list(): Promise<unknown>;
}

function openOwn(path: string): Own {
  const root = openMailRoot(mailRootDeps(), path);
  const mailbox = root.openMailbox(defaultMailbox("worker"));
  return {
    list: () => mailbox.list({ ...everything, limit: 50 }),
    [Symbol.dispose]: () => root.close(),
  };
}

interface Raw extends Disposable {
  list(): unknown;
  search(): unknown;
  /** The same bytes, synced, renamed, and the folder synced. */
  write(): void;
  /** One changed row in one synced transaction. */
  row(): void;
  /** Whether all messages that were sent have their files on disk. */
  nothingWaits(): boolean;
}

const stateFile = (root: string) => join(root, "mailboxes", "worker@svc.localhost", "mailbox.sqlite");

function openRaw(folder: string, root: string): Raw {
  const state = new Database(stateFile(root));
  const list = state.query(
    "SELECT * FROM message_state WHERE box_name = 'inbox' ORDER BY created_at_utc DESC, message_id DESC LIMIT 50",
  );
  const search = state.query(
    `SELECT * FROM message_state WHERE box_name = 'inbox'
      AND seq IN (SELECT rowid FROM message_text WHERE message_text MATCH '"needle"*')
      ORDER BY created_at_utc DESC, message_id DESC LIMIT 50`,
  );
  const index = new Database(join(root, "index.sqlite"), { readonly: true });
  const waiting = index.query("SELECT 1 FROM unsynced_messages LIMIT 1");
  const rows = new Database(join(folder, "raw.sqlite"), { create: true });
  rows.run("PRAGMA journal_mode=WAL");
  rows.run("PRAGMA synchronous=FULL");
  rows.run("CREATE TABLE flags (id INTEGER PRIMARY KEY, flag INTEGER NOT NULL)");
  rows.run("INSERT INTO flags VALUES (1, 0)");
  const change = rows.query("UPDATE flags SET flag = flag + 1 WHERE id = 1");
  const [day = ""] = readdirSync(join(root, "messages"));
  const [name = ""] = readdirSync(join(root, "messages", day));
  const bytes = readFileSync(join(root, "messages", day, name));
  let count = 0;
  return {
    list: () => list.all(),
    search: () => search.all(),
    write() {
      const staged = join(folder, "staged");
      const file = openSync(staged, "w", 0o600);
      writeSync(file, bytes);
      fsyncSync(file);
      closeSync(file);
      renameSync(staged, join(folder, `raw-${count++}.md`));
      const directory = openSync(folder, "r");
      fsyncSync(directory);
      closeSync(directory);
    },
    row: () => void change.run(),
    nothingWaits: () => waiting.get() === null,
    [Symbol.dispose]() {
      for (const database of [state, index, rows]) database.close();
    },
  };
}

/**
 * Turns of several runs each, so that a run follows its like: what an operation leaves to the file system to
 * write is paid for by the next synced write, and that shall be its own. The first round is not counted.
 */
async function takeBlocks(
  contestants: readonly Contestant[],
  rounds: number,
): Promise<Record<string, number[]>> {
  const durations: Record<string, number[]> = {};
  for (let round = -1; round < rounds; round++) {
    const turn = (name: string) =>
      takeTurns(
        contestants.filter((one) => one.name === name),
        { rounds: blockSize, warmUp: 1 },
      );
    for (const { name } of contestants) {
      const samples = (await turn(name))[name] ?? [];
      if (round >= 0) durations[name] = [...(durations[name] ?? []), ...samples];
    }
  }
  return durations;
}

/** `read` and `archive` each take a message that was not touched before, from the oldest on. */
function contestantsOf(server: MailServer, served: MailServer, own: Own, raw: Raw): Contestant[] {
  const untouched: string[] = [];
  const taking = async () => {
    const ref = untouched.pop();
    if (ref === undefined) throw new Error("there is no message left");
    return ref;
  };
  return [
    {
      name: "prepare",
      async run() {
        if (untouched.length > 2 * blockSize + 2) return;
        const { messages } = await server.call("list", { limit: 400, read_state: "unread" });
        untouched.push(...(messages as { message_ref: string }[]).map((one) => one.message_ref));
      },
    },
    { name: "bare_http", run: () => server.health() },
    { name: "list", run: () => server.call("list", { limit: 50 }) },
    { name: "served_list", run: () => served.call("list", { limit: 50 }) },
    { name: "list_in_process", run: () => own.list() },
    { name: "raw_list", run: () => raw.list() },
    {
      name: "send",
      run: () => server.call("send", { to: ["other@svc.localhost"], subject: "bench", body_content: body }),
    },
    // The files that follow the answers are no load on the writes beside them.
    { name: "files_follow", run: () => until("the files of what was sent", () => raw.nothingWaits()) },
    { name: "raw_write", run: () => raw.write() },
    { name: "read", run: async () => server.call("read", { message_ref: await taking() }) },
    { name: "archive", run: async () => server.call("archive", { message_refs: [await taking()] }) },
    { name: "raw_row", run: () => raw.row() },
    { name: "search", run: () => server.call("list", { limit: 50, query: "needle" }) },
    { name: "raw_search", run: () => raw.search() },
  ];
}

/** A repair of a root in order, beside one reading of all of its messages. */
async function repairRow(root: string): Promise<Row> {
  const messages = join(root, "messages");
  const readMs = await timed(() => {
    for (const day of readdirSync(messages))
      for (const name of readdirSync(join(messages, day))) readFileSync(join(messages, day, name), "utf8");
  });
  const options = { cleanupStaging: true, quarantineStaging: true };
  const repairMs = await timed(() => repairMailRoot(mailRootDeps(), root, options));
  return withLimit({ metric: "repair_s", value: repairMs / 1000, unit: "s" }, readMs / 1000);
}

async function timed(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}
