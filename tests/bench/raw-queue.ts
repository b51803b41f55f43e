import { Database, type Statement } from "bun:sqlite";

/** What one accepted prompt must at least put on disk: the columns of our queue, one index, nothing else. */
export interface RawQueue {
  /** One row in one transaction, synced. */
  insert(requestId: string, prompt: string): void;
  close(): void;
}

export function openRawQueue(path: string): RawQueue {
  const db = new Database(path, { create: true, strict: true });
  for (const pragma of ["journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000"])
    db.run(`PRAGMA ${pragma}`);
  db.run(
    `CREATE TABLE requests (seq INTEGER PRIMARY KEY AUTOINCREMENT, request_id TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL, lane TEXT NOT NULL, payload TEXT NOT NULL, state TEXT NOT NULL, at TEXT NOT NULL,
      epoch INTEGER NOT NULL, evidence TEXT NOT NULL)`,
  );
  const insert: Statement = db.prepare(
    `INSERT INTO requests (request_id, kind, lane, payload, state, at, epoch, evidence)
      VALUES (?, 'submit_prompt', 'turn_boundary', ?, 'accepted', ?, 1, ?)`,
  );
  return {
    insert(requestId, prompt) {
      const at = new Date().toISOString();
      const evidence = JSON.stringify([{ step: "accepted", at_utc: at, proof: "committed to queue.sqlite" }]);
      insert.run(requestId, JSON.stringify({ prompt }), at, evidence);
    },
    close: () => db.close(),
  };
}
