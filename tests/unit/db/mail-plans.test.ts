import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { catalogMigrations } from "../../../src/db/mailbox/catalog/migrations.ts";
import { catalogStatements } from "../../../src/db/mailbox/catalog.ts";
import { removeFromCatalog } from "../../../src/db/mailbox/rebuild.ts";
import { openStore, type Store } from "../../../src/db/open.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** How SQLite goes about the statements that `make` prepares or returns, on an empty index. */
function plansOf(make: (store: Store) => readonly { text: string }[]): string[] {
  const options = { path: ":memory:", clock: createFakeClock(), steps: quietSteps };
  const store = openStore({ ...options, migrations: catalogMigrations });
  const database = store.client as Database;
  const texts = new Set<string>();
  const prepare = database.prepare.bind(database) as (text: string) => unknown;
  Object.assign(database, {
    prepare(text: string) {
      texts.add(text);
      return prepare(text);
    },
  });
  for (const { text } of make(store)) texts.add(text);
  return [...texts].flatMap((text) =>
    new Database(database.serialize() as unknown as string)
      .query<{ detail: string }, []>(`EXPLAIN QUERY PLAN ${text}`)
      .all()
      .map(({ detail }) => detail),
  );
}

/** A step that reads every row of a table that has one for each message. */
const readsAll = (step: string) =>
  /^SCAN (messages|projections|recipients|attachments|attested_mail)/.test(step);

test.each([
  { id: "a delivery and a look", make: (store: Store) => Object.values(catalogStatements(store)) },
  {
    id: "the removal of a message",
    make(store: Store) {
      removeFromCatalog(store);
      return [];
    },
  },
])("$id reads no table of an index from end to end", ({ make }) => {
  const plans = plansOf(make);
  expect(plans.length).toBeGreaterThan(5);
  expect(plans.filter(readsAll)).toEqual([]);
});
