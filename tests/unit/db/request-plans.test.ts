import type { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { drizzle } from "drizzle-orm/bun-sqlite";
import {
  gatewayMigrations,
  openGatewayDatabase,
  requestStoreOn,
} from "../../../src/db/gateway/request-store.ts";
import { openStore } from "../../../src/db/open.ts";
import type { RequestState } from "../../../src/protocol/gateway.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

const at = { acceptedAtUtc: "t", epoch: 1 };
const row = { kind: "submit_prompt", lane: "turn_boundary", payload: {}, ...at } as const;
const end = { finishedAtUtc: "t", errorDetail: "e" };

/** A queue, and every statement that its store prepares. */
function watched() {
  const database = openGatewayDatabase({ path: ":memory:", clock: createFakeClock(), steps: quietSteps });
  const texts = new Set<string>();
  const client = new Proxy(database.client as Database, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (key === "prepare" || key === "query") texts.add(String(args[0]));
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
  const store = requestStoreOn({ ...database, client, db: drizzle({ client }) });
  /** How SQLite goes about what `act` prepared, of the table of requests. */
  const plansOf = async (act: () => unknown): Promise<{ text: string; steps: string[] }[]> => {
    await act();
    return [...texts].map((text) => {
      using plan = (database.client as Database).prepare<{ detail: string }, []>(
        `EXPLAIN QUERY PLAN ${text}`,
      );
      return { text, steps: plan.all().map(({ detail }) => detail) };
    });
  };
  return { store, plansOf, [Symbol.dispose]: () => store.close() };
}

/** A step that reads every request there is, or all on one side of a position, finished ones too. */
const readsFinished = (step: string) =>
  /gateway_requests/.test(step) &&
  (/^SCAN (?!.*USING (?:COVERING )?INDEX accepted_by_lane)/.test(step) || /\(rowid[<>]/.test(step));

describe("a queue with many finished requests", () => {
  type Store = ReturnType<typeof watched>["store"];
  const cases: { id: string; act: (store: Store) => unknown }[] = [
    { id: "accepts", act: (store) => store.insertAccepted({ ...row, requestId: "b" }) },
    {
      id: "changes a request",
      act(store) {
        store.transition("x", [{ requestId: "a", from: "accepted", to: "running" }]);
        const evidence = [{ step: "submitted", at_utc: "t", proof: "p" }] as const;
        store.transition("x", [
          { requestId: "a", from: "running", to: "completed", evidence: [...evidence] },
        ]);
        store.addEvidence("x", "a", evidence);
      },
    },
    { id: "finds a request", act: (store) => store.get("a") },
    { id: "finds the request of a turn", act: (store) => store.knowsTurn("t") },
    { id: "finds who claims a turn", act: (store) => store.claimsTurn("t") },
    { id: "finds the heads of its lanes", act: (store) => store.heads() },
    { id: "goes through what waits", act: (store) => store.acceptedFrom(1, 64) },
    { id: "finds what runs", act: (store) => store.running() },
    { id: "counts what is open", act: (store) => store.depth() },
    { id: "knows its instance", act: (store) => store.instance() },
    ...(["accepted", "running", "failed", "coalesced"] as const).flatMap((state) => [
      { id: `lists what is ${state}`, act: (store: Store) => store.list({ limit: 5, state }) },
      {
        id: `pages on in what is ${state}`,
        act: (store: Store) => store.list({ limit: 5, state, beforeSeq: 9 }),
      },
    ]),
    {
      id: "is reconciled",
      act: (store) => store.reconcile("x", { epoch: 2, instanceId: null, reconciledEpoch: 2 }, end),
    },
    {
      id: "keeps those of an earlier instance",
      act: (store) => store.keepAccepted("x", { epoch: 2, instanceId: null, reconciledEpoch: 2 }),
    },
    {
      id: "takes back what it lost",
      act: (store) => store.recover("x", [{ ...row, ...end, requestId: "c", state: "failed" }], []),
    },
  ];
  test.each(cases)("reads none of them when it $id", async ({ act }) => {
    using queue = watched();
    const plans = await queue.plansOf(async () => {
      await queue.store.insertAccepted({ ...row, requestId: "a" });
      await act(queue.store);
    });
    expect(plans.length).toBeGreaterThan(0);
    expect(plans.filter(({ steps }) => steps.some(readsFinished))).toEqual([]);
  });

  test("finds those in a finished state in their order", async () => {
    using queue = watched();
    const plans = await queue.plansOf(() => queue.store.list({ limit: 5, state: "failed", beforeSeq: 9 }));
    const found = "SEARCH gateway_requests USING INDEX finished_by_state (state=? AND seq<?)";
    expect(plans.map(({ steps }) => steps)).toEqual([[found]]);
  });

  test("reads those that it lists, newest first, and at most so many", async () => {
    using queue = watched();
    const plans = await queue.plansOf(() => {
      queue.store.list({ limit: 5 });
      queue.store.list({ limit: 5, beforeSeq: 9 });
    });
    for (const { text, steps } of plans) {
      expect(text).toMatch(/ORDER BY seq DESC LIMIT \?\d$/);
      expect(steps).toEqual([expect.stringMatching(/^(?:SCAN gateway_requests|SEARCH .*\(rowid<\?\))$/)]);
    }
    expect(plans).toHaveLength(2);
  });
});

test("what waits is found in every lane, in order, from a position on and up to one", async () => {
  using queue = watched();
  const { store } = queue;
  const lanes = [
    "turn_boundary",
    "interrupt",
    "immediate",
    "interrupt",
    "turn_boundary",
    "immediate",
  ] as const;
  for (const [index, lane] of lanes.entries()) {
    const kind = lane === "interrupt" ? "interrupt" : "submit_prompt";
    await store.insertAccepted({ ...row, kind, lane, requestId: `r${index + 1}` });
  }
  store.transition("x", [{ requestId: "r3", from: "accepted", to: "running" }]);
  const seqs = (found: { seq: number }[]) => found.map(({ seq }) => seq);
  expect(seqs(store.acceptedFrom(1, 64))).toEqual([1, 2, 4, 5, 6]);
  expect(seqs(store.acceptedFrom(2, 2))).toEqual([2, 4]);
  const list = (state: RequestState, limit: number, beforeSeq?: number) =>
    seqs(store.list({ limit, state, ...(beforeSeq === undefined ? {} : { beforeSeq }) }));
  expect([list("accepted", 9), list("accepted", 2), list("accepted", 2, 5)]).toEqual([
    [6, 5, 4, 2, 1],
    [6, 5],
    [4, 2],
  ]);
  expect([list("running", 9), list("running", 9, 3), list("failed", 9)]).toEqual([[3], [], []]);
});

test("a turn is known whatever became of its request, and claimed by one that waits or runs", async () => {
  using queue = watched();
  const { store } = queue;
  await store.insertAccepted({ ...row, requestId: "a", payload: { prompt: "p", turn_id: "one" } });
  await store.insertAccepted({ ...row, requestId: "b" });
  const of = (turnId: string) => [store.knowsTurn(turnId), store.claimsTurn(turnId)];
  expect([of("one"), of("two")]).toEqual([
    [true, true],
    [false, false],
  ]);
  store.transition("x", [{ requestId: "a", from: "accepted", to: "running" }]);
  expect(of("one")).toEqual([true, true]);
  store.transition("x", [{ requestId: "a", from: "running", to: "failed" }]);
  expect(of("one")).toEqual([true, false]);
});

test("the turns of a queue of an earlier version are found", () => {
  using scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const options = { path, clock: createFakeClock(), steps: quietSteps };
  const earlier = openStore({ ...options, migrations: gatewayMigrations.slice(0, 3) });
  const columns =
    "request_id, request_kind, lane, payload_json, state, accepted_at_utc, managed_agent_instance_epoch";
  for (const [id, payload] of [
    ["a", '{"prompt":"p","turn_id":"one"}'],
    ["b", "{}"],
    ["c", '{"prompt":"\\"turn_id\\":"}'],
    ["d", '{"turn_id":"two", and a damaged byte'],
  ]) {
    using insert = earlier.client.prepare(
      `INSERT INTO gateway_requests (${columns}) VALUES (?, 'submit_prompt', 'immediate', ?, 'completed', 't', 1)`,
    );
    insert.run(String(id), String(payload));
  }
  earlier.close();
  const store = requestStoreOn(openGatewayDatabase(options));
  expect([store.knowsTurn("one"), store.knowsTurn("two")]).toEqual([true, false]);
  store.close();
});

test("of a long payload a list reads the turn alone; the request itself keeps all of it", async () => {
  using queue = watched();
  const { store } = queue;
  const prompt = "x".repeat(20_000);
  await store.insertAccepted({ ...row, requestId: "short", payload: { prompt: "/clear" } });
  await store.insertAccepted({ ...row, requestId: "long", payload: { prompt, turn_id: "turn-1" } });
  await store.insertAccepted({ ...row, requestId: "nameless", payload: { prompt } });
  const want = [{ prompt: "/clear" }, { turn_id: "turn-1" }, { turn_id: null }];
  expect(store.acceptedFrom(0, 10).map(({ payload }) => payload)).toEqual(want);
  expect(store.list({ limit: 10 }).map(({ payload }) => payload)).toEqual(want.toReversed());
  expect(store.list({ limit: 10, state: "accepted" }).map(({ payload }) => payload)).toEqual(
    want.toReversed(),
  );
  expect(store.get("long")?.payload).toEqual({ prompt, turn_id: "turn-1" });
});
