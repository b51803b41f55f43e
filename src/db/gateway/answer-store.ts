import { namingFile } from "../open.ts";
import { insertText, prepare } from "../statement.ts";
import type { GatewayDatabase } from "./request-store.ts";
import { keyedCalls } from "./schema.ts";

/** A call with a key of its caller, which is carried out once. */
export interface KeyedCall {
  key: string;
  /** Of the operation and all that it was asked. */
  digest: string;
  begunAtUtc: string;
}

/** The keys of calls and their answers. */
export interface AnswerStore {
  /** `answerJson`: null for a call without a kept answer. */
  get(key: string): { digest: string; answerJson: string | null } | null;
  /** On disk when it returns. */
  begin(call: KeyedCall): void;
  /** Runs `work`, whose first write stores the call too, in the same transaction. */
  beginWith<T>(call: KeyedCall, work: () => T): T;
  /** Without a sync: a call whose answer a loss of power takes counts as begun. */
  keep(call: KeyedCall, answerJson: string | null): void;
}

/** The newest calls are kept; older ones go a batch at a time. */
const keptCalls = 2048;
const pruneEvery = 64;

export function answerStoreOn(store: GatewayDatabase): AnswerStore {
  const byKey = prepare<{ key: string }, { digest: string; answerJson: string | null }>(
    store.client,
    `SELECT digest, answer_json AS answerJson FROM gateway_keyed_calls WHERE idempotency_key = :key`,
  );
  const insert = prepare<typeof keyedCalls.$inferInsert>(
    store.client,
    `${insertText(keyedCalls, ["idempotencyKey", "digest", "answerJson", "begunAtUtc"])}
       ON CONFLICT (idempotency_key) DO UPDATE SET answer_json = excluded.answer_json`,
  );
  const prune = prepare<{ kept: number; every: number }>(
    store.client,
    `DELETE FROM gateway_keyed_calls WHERE seq <= (
       SELECT max(seq) - :kept FROM gateway_keyed_calls HAVING max(seq) % :every = 0)`,
  );
  const put = ({ key, digest, begunAtUtc }: KeyedCall, answerJson: string | null) =>
    insert.run({ idempotencyKey: key, digest, answerJson, begunAtUtc });
  return namingFile(store, {
    get: (key) => byKey.get({ key }) ?? null,
    begin: (call) => store.write("sql:key-begun", () => put(call, null)),
    beginWith: (call, work) => store.joining(() => put(call, null), work as () => never),
    keep(call, answerJson) {
      const change = () => {
        put(call, answerJson);
        prune.run({ kept: keptCalls, every: pruneEvery });
      };
      store.write("sql:key-answer", change, { durable: false });
    },
  } satisfies AnswerStore);
}
