import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { notifierStoreOn } from "../../../src/db/gateway/notifier-store.ts";
import { openGatewayDatabase, requestStoreOn } from "../../../src/db/gateway/request-store.ts";
import { defaultNotifierConfig } from "../../../src/services/notifier/config.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

const accepted = {
  requestId: "one",
  kind: "submit_prompt",
  lane: "turn_boundary",
  payload: { prompt: "x" },
  acceptedAtUtc: "2026-01-01T00:00:00.000+00:00",
  epoch: 1,
} as const;

async function setup() {
  const scratch = createScratch();
  const path = scratch.path("queue.sqlite");
  const database = openGatewayDatabase({ path, clock: createFakeClock(), steps: quietSteps });
  const store = requestStoreOn(database);
  await store.insertAccepted(accepted);
  const other = new Database(path, { readwrite: true });
  return {
    store,
    database,
    set: (column: string, json: string) => other.run(`UPDATE gateway_requests SET ${column} = ?`, [json]),
    run: (sql: string, values: string[]) => other.run(sql, values),
    [Symbol.dispose]() {
      other.close();
      store.close();
      scratch[Symbol.dispose]();
    },
  };
}

test.each([
  ["payload_json", "5"],
  ["payload_json", "[]"],
  ["result_json", "true"],
  ["evidence_json", '{"step":"typed"}'],
  ["evidence_json", '[{"step":"typed","proof":7,"at_utc":"t"}]'],
  ["evidence_json", '[{"step":"flown","proof":"p","at_utc":"t"}]'],
  ["evidence_json", "no json"],
])("a request whose %s is %s is read as a damaged file, never as a request", async (column, json) => {
  using fixture = await setup();
  expect(fixture.store.get("one")?.payload).toEqual({ prompt: "x" });
  fixture.set(column, json);
  expect(() => fixture.store.get("one")).toThrow(
    new RegExp(`${column} of one holds (no JSON|JSON of another shape)`),
  );
});

test("fields that another version wrote do not matter", async () => {
  using fixture = await setup();
  fixture.set("evidence_json", '[{"step":"typed","proof":"p","at_utc":"t","later":1}]');
  expect(fixture.store.get("one")?.evidence).toMatchObject([{ step: "typed", proof: "p" }]);
});

test("a notifier whose settings have another shape is read as a damaged file", async () => {
  using fixture = await setup();
  const notifier = notifierStoreOn(fixture.database);
  notifier.saveConfig(defaultNotifierConfig, accepted.acceptedAtUtc);
  expect(notifier.read()?.config.enabled).toBe(defaultNotifierConfig.enabled);
  fixture.run("UPDATE gateway_mail_notifier SET config_json = ?", ['{"enabled":"yes"}']);
  expect(() => notifier.read()).toThrow("config_json of the notifier holds JSON of another shape");
});
