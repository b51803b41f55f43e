import type { Migration } from "../../migrations.ts";
import catalog from "./migrations/0000_catalog.sql" with { type: "text" };
import threads from "./migrations/0001_threads.sql" with { type: "text" };
import hostOutbox from "./migrations/0002_host_outbox.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const catalogMigrations: readonly Migration[] = [
  { tag: "0000_catalog", sql: catalog },
  { tag: "0001_threads", sql: threads },
  {
    tag: "0002_host_outbox",
    sql: hostOutbox,
    digest: "7620c0964be65a7d4d57ff18920633c357d6adea3be45677dd70ca2c818ac156",
  },
];
