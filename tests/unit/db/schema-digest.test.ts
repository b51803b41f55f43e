import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { coordinatorMigrations } from "../../../src/db/coordinator/migrations.ts";
import { gatewayMigrations } from "../../../src/db/gateway/request-store.ts";
import { catalogMigrations } from "../../../src/db/mailbox/catalog/migrations.ts";
import { stateMigrations } from "../../../src/db/mailbox/state/migrations.ts";
import { migrate, schemaDigest } from "../../../src/db/migrations.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const histories = {
  gateway: gatewayMigrations,
  coordinator: coordinatorMigrations,
  "mailbox catalog": catalogMigrations,
  "mailbox state": stateMigrations,
};

function made(migrations: (typeof histories)[keyof typeof histories]): Database {
  const client = new Database(":memory:");
  migrate(client, migrations, { name: "made", clock: createFakeClock(), steps: quietSteps });
  return client;
}

describe.each(Object.entries(histories))("%s", (_name, migrations) => {
  test("the newest migration has the digest of what all of them make", () => {
    expect(migrations.at(-1)?.digest).toBe(schemaDigest(made(migrations)));
  });

  test.each([
    ["a view", "CREATE VIEW added AS SELECT 1"],
    ["a table", "CREATE TABLE added (a)"],
    ["a trigger", "CREATE TRIGGER added AFTER INSERT ON __migrations BEGIN SELECT 1; END"],
    ["an index", "CREATE INDEX added ON __migrations (tag)"],
    ["a column", "ALTER TABLE __migrations ADD COLUMN added"],
  ])("%s more is another digest", (_what, sql) => {
    const client = made(migrations);
    client.run(sql);
    expect(schemaDigest(client)).not.toBe(migrations.at(-1)?.digest ?? "");
  });
});
