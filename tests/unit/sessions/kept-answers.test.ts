import { expect, test } from "bun:test";
import { answerStoreOn } from "../../../src/db/gateway/answer-store.ts";
import { openGatewayDatabase } from "../../../src/db/gateway/request-store.ts";
import { createKeptAnswers } from "../../../src/services/sessions/kept-answers.ts";
import { ServiceError } from "../../../src/system/errors.ts";
import type { Steps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const unknown = "it is not known what this call came to: it was begun before, and no answer is kept";

/** `killAt`: the process ends before this write; `start` begins the next one on the same database. */
function setup() {
  const clock = createFakeClock();
  const at = { kill: null as { label: string; when: "before" | "after" } | null };
  const stop = (label: string, when: "before" | "after") => {
    if (at.kill?.label === label && at.kill.when === when) throw new Error("killed");
  };
  const steps: Steps = { before: (label) => stop(label, "before"), after: (label) => stop(label, "after") };
  const database = openGatewayDatabase({ path: ":memory:", clock, steps });
  database.write("sql:test", (db) => void db.run("CREATE TABLE effects (name TEXT)"));
  const logged: string[] = [];
  const start = () =>
    createKeptAnswers({ store: answerStoreOn(database), clock, log: (line) => void logged.push(line) });
  const save = (name: string) =>
    database.write("sql:effect", (db) => void db.run(`INSERT INTO effects VALUES ('${name}')`));
  const count = (table: string) =>
    database.client.prepare<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n;
  return { at, database, start, save, count, logged };
}

const work = (key: string, request: unknown = null) => ({ key, operation: "act", request });

test("a call is carried out once, also when it comes twice at the same moment", async () => {
  const { start } = setup();
  const answers = start();
  let acts = 0;
  const act = async () => {
    acts += 1;
    await Promise.resolve();
    return { acts };
  };
  const both = await Promise.all([answers.once(work("one"), act), answers.once(work("one"), act)]);
  expect(both).toEqual([{ acts: 1 }, { acts: 1 }]);
  expect(await start().once(work("one"), act)).toEqual({ acts: 1 });
  expect(await answers.once(work("two"), act)).toEqual({ acts: 2 });
});

test("another call with the key is refused, while the first one runs and afterwards", async () => {
  const { start } = setup();
  const answers = start();
  const gate = Promise.withResolvers<string>();
  const first = answers.once(work("one", { text: "a" }), () => gate.promise);
  const refusal = "this idempotency key was used for another request";
  await expect(answers.once(work("one", { text: "b" }), async () => "b")).rejects.toThrow(refusal);
  gate.resolve("a");
  expect(await first).toBe("a");
  await expect(
    answers.once({ ...work("one", { text: "a" }), operation: "b" }, async () => "b"),
  ).rejects.toThrow(refusal);
});

test("a refusal is the first answer too; a fault has none, and is not tried again", async () => {
  const { start } = setup();
  const data = { remedy: { code: "list_agents" } };
  const refused = () => Promise.reject(new ServiceError("conflict", "not now", { data }));
  await expect(start().once(work("one"), refused)).rejects.toThrow("not now");
  const again = start().once(work("one"), async () => "done");
  await expect(again).rejects.toMatchObject({ reason: "conflict", message: "not now", data });
  await expect(start().once(work("two"), () => Promise.reject(new Error("bug")))).rejects.toThrow("bug");
  await expect(start().once(work("two"), async () => "done")).rejects.toMatchObject({
    reason: "outcome_unknown",
    message: unknown,
  });
});

test("a call that a crash cut short is not carried out again", async () => {
  const { at, start, logged } = setup();
  const acted: string[] = [];
  const act = async () => void acted.push("act");
  // Before anything is done the key is on disk.
  at.kill = { label: "sql:key-begun", when: "before" };
  await expect(start().once(work("one"), act)).rejects.toThrow("killed");
  expect(acted).toEqual([]);
  at.kill = { label: "sql:key-answer", when: "before" };
  await start().once(work("one"), act);
  expect([acted, logged]).toEqual([["act"], ["an answer was not kept: killed"]]);
  at.kill = null;
  await expect(start().once(work("one"), act)).rejects.toThrow(unknown);
  expect(acted).toEqual(["act"]);
});

test.each([
  { id: "before the change", kill: { label: "sql:effect", when: "before" }, left: [0, 0], again: "done" },
  {
    id: "before the answer",
    kill: { label: "sql:key-answer", when: "before" },
    left: [1, 1],
    again: unknown,
  },
] as const)("key and change of the store are one transaction: killed $id", async ({ kill, left, again }) => {
  const { at, start, save, count } = setup();
  const act = () => {
    save("x");
    return "done";
  };
  at.kill = kill;
  await start()
    .onceInStore(work("one"), act)
    .catch(() => {});
  expect([count("gateway_keyed_calls"), count("effects")]).toEqual([...left]);
  at.kill = null;
  const second = await start()
    .onceInStore(work("one"), act)
    .catch((error: Error) => error.message);
  expect([second, count("effects")]).toEqual([again, 1]);
});

test("what changes nothing keeps its answer, and a later write has no part in it", async () => {
  const { start, save, count } = setup();
  const refused = () => {
    throw new ServiceError("not_found", "no such thing");
  };
  await expect(start().onceInStore(work("one"), refused)).rejects.toThrow("no such thing");
  await expect(start().onceInStore(work("one"), () => "done")).rejects.toThrow("no such thing");
  save("x");
  expect([count("gateway_keyed_calls"), count("effects")]).toEqual([1, 1]);
});

test("the newest calls are kept, and an answer up to its limit", async () => {
  const { start, count } = setup();
  const answers = start();
  expect(await answers.once(work("long"), async () => "x".repeat(20_000))).toHaveLength(20_000);
  await expect(answers.once(work("long"), async () => "again")).rejects.toThrow(unknown);
  for (let nth = 1; nth <= 2200; nth++) await answers.onceInStore(work(`key-${nth}`), () => nth);
  expect(count("gateway_keyed_calls")).toBeWithin(2048, 2048 + 128);
  expect(await start().onceInStore(work("key-2200"), () => 0)).toBe(2200);
});
