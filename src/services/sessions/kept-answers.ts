import { Type } from "@sinclair/typebox";
import { type AnswerStore, answerStoreOn, type KeyedCall } from "../../db/gateway/answer-store.ts";
import { openGatewayDatabase } from "../../db/gateway/request-store.ts";
import { parseColumn } from "../../db/json-column.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { messageOf, ServiceError, type ServiceErrorCode } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Steps } from "../../system/steps.ts";
import { sessionPaths } from "./roots.ts";

/** What a caller asks with its key. `request`: all that distinguishes it from another call, as JSON. */
interface KeyedWork {
  key: string;
  operation: string;
  request: unknown;
}

/** The answer of a call, as it is given again: a value of JSON, or a refusal. */
const KeptAnswer = Type.Union([
  Type.Object({ answer: Type.Unknown() }),
  Type.Object({
    refusal: Type.Object({
      reason: Type.Unsafe<ServiceErrorCode>(Type.String()),
      message: Type.String(),
      data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
  }),
]);

/** A larger answer is not kept: with 2,048 calls, 32 MiB are. */
const maxAnswerChars = 16 * 1024;

/**
 * The calls of one session that carry a key of their caller: each is carried out once, and repeated it gets
 * the first answer, a refusal too. The key is on disk before anything is changed or, `onceInStore`, in the
 * transaction of the change. Throws `conflict` for another call with the key, and `outcome_unknown` for one
 * whose answer is not there: a crash came between, its work failed unexpectedly, or the answer was too large.
 */
export type KeptAnswers = ReturnType<typeof createKeptAnswers>;

export function createKeptAnswers(deps: { store: AnswerStore; clock: Clock; log: (line: string) => void }) {
  const { store, clock, log } = deps;
  const underWay = new Map<string, { digest: string; answer: Promise<unknown> }>();

  function refuseOther(call: KeyedCall, digest: string): void {
    if (call.digest === digest) return;
    throw new ServiceError("conflict", "this idempotency key was used for another request");
  }

  /** Null for a call that was not begun. */
  function answerBefore(call: KeyedCall): { answer: unknown } | null {
    const before = store.get(call.key);
    if (!before) return null;
    refuseOther(call, before.digest);
    if (before.answerJson === null) {
      throw new ServiceError(
        "outcome_unknown",
        "it is not known what this call came to: it was begun before, and no answer is kept",
      );
    }
    const kept = parseColumn(KeptAnswer, before.answerJson, "answer_json of a call");
    if ("answer" in kept) return kept;
    const { reason, message, data } = kept.refusal;
    throw new ServiceError(reason, message, data ? { data } : {});
  }

  /** The call is carried out: that its answer is not kept changes nothing for the caller. */
  function keep(call: KeyedCall, answer: unknown): void {
    try {
      const json = JSON.stringify(answer);
      store.keep(call, json.length > maxAnswerChars ? null : json);
    } catch (error) {
      log(`an answer was not kept: ${messageOf(error)}`);
    }
  }

  async function carryOut<T>(work: KeyedWork, act: (call: KeyedCall) => Promise<T>): Promise<T> {
    const { key, operation, request } = work;
    const digest = sha256(JSON.stringify([operation, request]));
    const call = { key, digest, begunAtUtc: timestampNow(clock) };
    const running = underWay.get(key);
    if (running) {
      refuseOther(call, running.digest);
      return running.answer as Promise<T>;
    }
    const before = answerBefore(call);
    if (before) return before.answer as T;
    const answering = (async () => {
      try {
        const answer = await act(call);
        keep(call, { answer });
        return answer;
      } catch (error) {
        if (error instanceof ServiceError) {
          const { reason, message, data } = error;
          keep(call, { refusal: { reason, message, data } });
        }
        throw error;
      } finally {
        underWay.delete(key);
      }
    })();
    underWay.set(key, { digest, answer: answering });
    return answering;
  }

  return {
    once: <T>(work: KeyedWork, act: () => Promise<T>): Promise<T> =>
      carryOut(work, async (call) => {
        store.begin(call);
        return act();
      }),
    /** `act` is done when it returns, and changes nothing but the database of the answers. */
    onceInStore: <T>(work: KeyedWork, act: () => T): Promise<T> =>
      carryOut(work, async (call) => store.beginWith(call, act)),
  };
}

/** The same of a session that this process does not serve: its database is open for each step alone. */
export function createSessionAnswers(deps: {
  files: Pick<Files, "ensureDirectory">;
  clock: Clock;
  steps: Steps;
  log: (line: string) => void;
}): (session: { sessionRoot: string }) => KeptAnswers {
  const bySession = new Map<string, KeptAnswers>();

  function open(sessionRoot: string): KeptAnswers {
    const { queue: path, gatewayRoot } = sessionPaths(sessionRoot);
    const withStore = <T>(act: (store: AnswerStore) => T): T => {
      deps.files.ensureDirectory("file:gateway-folder", gatewayRoot);
      const database = openGatewayDatabase({ ...deps, path });
      try {
        return act(answerStoreOn(database));
      } finally {
        database.close();
      }
    };
    return createKeptAnswers({
      ...deps,
      store: {
        get: (key) => withStore((store) => store.get(key)),
        begin: (call) => withStore((store) => store.begin(call)),
        beginWith: (call, work) => withStore((store) => store.beginWith(call, work)),
        keep: (call, answerJson) => withStore((store) => store.keep(call, answerJson)),
      },
    });
  }

  return ({ sessionRoot }) => {
    const known = bySession.get(sessionRoot) ?? open(sessionRoot);
    bySession.set(sessionRoot, known);
    return known;
  };
}
