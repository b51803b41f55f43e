import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LedgerTurn, ledgerStoreOn, readLedgerGroups } from "../../src/db/gateway/ledger-store.ts";
import { openGatewayDatabase } from "../../src/db/gateway/request-store.ts";
import { wakeReasons } from "../../src/protocol/ledger.ts";
import { keysIn, sumLedgers } from "../../src/services/extensions/observe/ledger/fleet-ledger.ts";
import { createClock, toTimestamp } from "../../src/system/clock.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { samplePrices, tokensOf } from "../support/ledger-fixture.ts";
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

const turnCount = effort(100_000, 5_000);
const rounds = effort(30, 3);
/** Turns a round, one write each, as a gateway writes them. */
const writes = 100;
const batch = 1_000;

/**
 * The ledger of one agent with very many turns: turns written one at a time beside the same columns by bare
 * bun:sqlite with the same settings, and its sums beside the same query on bare SQLite, also with prices as
 * `svc cost` shows them.
 */
const bench: Bench = {
  name: "ledger",
  async run() {
    const folder = mkdtempSync(join(tmpdir(), "svc-bench-ledger-"));
    const path = join(folder, "queue.sqlite");
    const database = openGatewayDatabase({ path, clock: createClock(), steps: quietSteps });
    const bare = openBare(join(folder, "bare.sqlite"));
    try {
      const store = ledgerStoreOn(database);
      for (let at = 0; at < turnCount; at += batch) {
        const turns = Array.from({ length: Math.min(batch, turnCount - at) }, (_, one) => turnAt(at + one));
        store.record(turns);
        bare.fill(turns);
      }
      let next = turnCount;
      const take = () => Array.from({ length: writes }, () => turnAt(next++));
      const written = await takeTurns(
        [
          { name: "ours", run: () => take().forEach((turn) => void store.record([turn])) },
          { name: "bare", run: () => take().forEach((turn) => void bare.insert(turn)) },
        ],
        { rounds, warmUp: 2 },
      );
      const reads: Contestant[] = [
        { name: "sum", run: () => store.groups({}) },
        { name: "bare_sum", run: () => bare.sum() },
        { name: "cost", run: () => costOf(path) },
        { name: "page", run: () => store.page({ limit: 100, before: Math.floor(turnCount / 2) }) },
      ];
      const read = await takeTurns(reads, { rounds, warmUp: 2 });
      const of = (name: string) => read[name] ?? [];
      const perSecond = (samples: readonly number[] = []) => (writes * 1000) / percentile(samples, 0.5);
      const rows: Row[] = [
        withLimit(
          { metric: "writes_per_second", value: perSecond(written["ours"]), unit: "turns/s" },
          perSecond(written["bare"]),
        ),
        { metric: "turns", value: turnCount, unit: "turns" },
        ...durationRows("sum", of("sum"), of("bare_sum")),
        ...durationRows("cost_from_file", of("cost")),
        ...durationRows("page_of_100", of("page")),
      ];
      return rows;
    } finally {
      database.close();
      bare.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

export default bench;

function turnAt(index: number): LedgerTurn {
  const startedMs = Date.UTC(2026, 0, 1) + index * 300_000;
  return {
    turn_id: `turn-${index.toString(36).padStart(8, "0")}`,
    request_id: `gwreq-20260101-000000Z-${index.toString(16).padStart(8, "0")}`,
    wake_reason: wakeReasons[index % wakeReasons.length] ?? "prompt",
    tool: "claude",
    source: "tool",
    status: "completed",
    covered: true,
    usage: [
      tokensOf(20_000 + (index % 977), 500 + (index % 101), { model: index % 3 ? "m-large" : "m-small" }),
    ],
    started_at_utc: toTimestamp(startedMs),
    ended_at_utc: toTimestamp(startedMs + 60_000),
  };
}

/** As `svc cost` does for one agent: opens the file, sums, prices. */
function costOf(path: string): unknown {
  const ledger = { agent: "one", team: null, host: null, groups: readLedgerGroups(path, {}) };
  return sumLedgers([ledger], { by: keysIn("day,model"), prices: samplePrices });
}

/** The same columns and indexes, one prepared statement a turn, in the journal mode of ours. */
function openBare(path: string) {
  const db = new Database(path, { create: true, strict: true });
  for (const pragma of ["journal_mode=WAL", "synchronous=NORMAL"]) db.run(`PRAGMA ${pragma}`);
  db.run(
    `CREATE TABLE turns (seq INTEGER PRIMARY KEY, turn_id TEXT, part INTEGER, request_id TEXT, wake TEXT, tool TEXT,
      source TEXT, status TEXT, covered INTEGER, model TEXT, input INTEGER, cached INTEGER, written INTEGER, output INTEGER,
      reasoning INTEGER, started TEXT, ended TEXT)`,
  );
  db.run("CREATE UNIQUE INDEX of_turn ON turns (turn_id, part)");
  db.run("CREATE INDEX of_time ON turns (started)");
  db.run("CREATE INDEX of_request ON turns (request_id)");
  const statement = db.prepare(
    "INSERT INTO turns VALUES (NULL, ?, 0, ?, ?, 'claude', 'tool', 'completed', 1, ?, ?, 0, 0, ?, 0, ?, ?)",
  );
  const sum = db.prepare(
    `SELECT substr(started, 1, 10) AS day, model, wake, count(*), sum(input), sum(output) FROM turns
      GROUP BY day, model, wake ORDER BY day DESC`,
  );
  const insert = ({
    turn_id,
    request_id,
    wake_reason,
    usage: [one],
    started_at_utc,
    ended_at_utc,
  }: LedgerTurn) =>
    statement.run(
      turn_id,
      request_id,
      wake_reason,
      one?.model ?? null,
      one?.input_tokens ?? 0,
      one?.output_tokens ?? 0,
      started_at_utc,
      ended_at_utc,
    );
  return {
    insert,
    fill: db.transaction((turns: readonly LedgerTurn[]) => turns.forEach((turn) => void insert(turn))),
    sum: () => sum.all(),
    close: () => db.close(),
  };
}
