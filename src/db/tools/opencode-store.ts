import { Database } from "bun:sqlite";
import { pathToFileURL } from "node:url";

/** A message of opencode's store with one of its parts; both as the JSON text that the store holds. */
export interface OpencodeRow {
  messageId: string;
  createdMs: number;
  message: string;
  part: string | null;
}

/** A prompt of a conversation, newest last. `part`: the text of its first part, as JSON text. */
type OpencodePrompt = Pick<OpencodeRow, "messageId" | "createdMs" | "part">;

/** The store of opencode, opened read-only, once for each read. */
interface OpencodeStore {
  /** The newest `limit` prompts of a conversation, oldest first. */
  prompts(sessionId: string, limit: number): OpencodePrompt[];
  /** A prompt and the messages that answer it, in order. Parts beyond 8 MiB are left out. */
  turn(sessionId: string, messageId: string): OpencodeRow[];
  close(): void;
}

const maxPartBytes = 8 * 2 ** 20;
const maxRows = 20_000;

/** Throws for a file that is not a store of a known version. */
export function openOpencodeStore(path: string): OpencodeStore {
  const client = openReadOnly(path);
  try {
    client.run("PRAGMA query_only=ON");
    client.run("PRAGMA trusted_schema=OFF");
    const prompts = client.query<OpencodePrompt, [string, number]>(
      `SELECT m.id AS messageId, m.time_created AS createdMs,
         (SELECT p.data FROM part p WHERE p.message_id = m.id AND json_extract(p.data, '$.type') = 'text'
          AND json_extract(p.data, '$.synthetic') IS NOT 1 AND length(p.data) < ${maxPartBytes} ORDER BY p.id LIMIT 1) AS part
       FROM message m WHERE m.session_id = ?1 AND json_extract(m.data, '$.role') = 'user'
       ORDER BY m.time_created DESC, m.id DESC LIMIT ?2`,
    );
    const turn = client.query<OpencodeRow, [string, string]>(
      `SELECT m.id AS messageId, m.time_created AS createdMs, m.data AS message, p.data AS part
       FROM message m LEFT JOIN part p ON p.message_id = m.id AND length(p.data) < ${maxPartBytes}
       WHERE m.session_id = ?1 AND (m.id = ?2 OR json_extract(m.data, '$.parentID') = ?2)
       ORDER BY m.time_created, m.id, p.id LIMIT ${maxRows}`,
    );
    return {
      prompts: (sessionId, limit) => prompts.all(sessionId, limit).reverse(),
      turn: (sessionId, messageId) => turn.all(sessionId, messageId),
      close: () => client.close(),
    };
  } catch (error) {
    client.close();
    throw error;
  }
}

/** A store that no process has open lacks a write-ahead log and can be opened only as immutable. */
function openReadOnly(path: string): Database {
  const client = new Database(path, { readonly: true, strict: true });
  try {
    client.query("SELECT count(*) FROM sqlite_master").get();
    return client;
  } catch {
    client.close();
    // SQLITE_OPEN_READONLY and SQLITE_OPEN_URI, for which the types have no name.
    return new Database(`${pathToFileURL(path).href}?immutable=1`, 0x41 as unknown as { readonly: true });
  }
}
