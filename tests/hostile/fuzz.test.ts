import { expect, test } from "bun:test";
import { faultTest } from "../support/fault-table.ts";
import { operationsOf } from "./calls.ts";
import { type FuzzRun, runFuzz } from "./fuzz.ts";
import { fuzzTargets } from "./fuzz-worlds.ts";
import { createOracle } from "./oracle.ts";

/** tests/hostile/schemathesis.test.ts asks the same servers over their listeners. */
const rounds = 6;

for (const target of fuzzTargets) {
  faultTest(
    `${target.name} answers whatever it is asked as its document says`,
    {
      area: "callers",
      fault: "A caller sends every route what its document allows, nearly that, and anything at all",
      outcome: "no fault and no hang; a refusal changes nothing and repeats no prompt and no mail",
      seen: "a documented status with a body of the documented shape",
      recovery: "the caller mends its request",
    },
    async () => {
      const run = await runFuzz(target, { seed: 20_261_122, rounds });
      expect(run.failure).toBeNull();
      const asked = new Set([...run.statuses.keys()].map((key) => key.split(" ")[0]));
      expect(run.calls).toBeGreaterThan(30 * rounds - 1);
      expect(asked.size).toBeGreaterThan(operationsOf(target.document).length / 2);
    },
    120_000,
  );
}

test("the same seed asks the same", async () => {
  const [target] = fuzzTargets;
  if (!target) throw new Error("no target");
  const [one, two] = [
    await runFuzz(target, { seed: 7, rounds: 1 }),
    await runFuzz(target, { seed: 7, rounds: 1 }),
  ];
  // The answers may differ: the mail of this gateway bears the time.
  const asked = ({ statuses }: FuzzRun) => [...new Set([...statuses.keys()].map((key) => key.split(" ")[0]))];
  expect([one.failure, two.failure]).toEqual([null, null]);
  expect([one.calls, asked(one)]).toEqual([two.calls, asked(two)]);
}, 120_000);

test("an answer that is not as documented is seen", () => {
  const [target] = fuzzTargets;
  if (!target) throw new Error("no target");
  const oracle = createOracle(target.document, ["secret"]);
  const headers = new Headers({ "content-type": "application/json" });
  const judge = (path: string, status: number, body: unknown) =>
    oracle.judge({ method: "GET", path }, { status, headers, text: JSON.stringify(body) });
  expect(judge("/v1/requests?limit=1", 200, { schema_version: 1, requests: [] })).toEqual([]);
  expect(judge("/v1/requests", 200, { requests: [] })).toHaveLength(1);
  expect(judge("/v1/requests", 404, { detail: "x" })).toHaveLength(1);
  expect(judge("/v1/nowhere", 404, { detail: "x" })).toEqual([]);
  expect(judge("/v1/requests/a", 500, { detail: "x", error_id: "y" })).toHaveLength(1);
  expect(judge("/v1/requests/a", 404, { detail: "the secret" })).toHaveLength(1);
  expect(judge("/v1/requests/a", 404, { detail: "canary-0d9e71" })).toHaveLength(1);
  expect(judge("/v1/requests", 405, { detail: "x" })).not.toEqual([]);
});
