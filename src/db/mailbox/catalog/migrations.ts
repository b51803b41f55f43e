import type { Migration } from "../../migrations.ts";
import catalog from "./migrations/0000_catalog.sql" with { type: "text" };
import threads from "./migrations/0001_threads.sql" with { type: "text" };
import hostOutbox from "./migrations/0002_host_outbox.sql" with { type: "text" };
import attestation from "./migrations/0003_attestation.sql" with { type: "text" };
import unsyncedMessages from "./migrations/0004_unsynced_messages.sql" with { type: "text" };
import leanIndexes from "./migrations/0005_lean_indexes.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const catalogMigrations: readonly Migration[] = [
  { tag: "0000_catalog", sql: catalog },
  { tag: "0001_threads", sql: threads },
  { tag: "0002_host_outbox", sql: hostOutbox },
  { tag: "0003_attestation", sql: attestation },
  { tag: "0004_unsynced_messages", sql: unsyncedMessages },
  {
    tag: "0005_lean_indexes",
    sql: leanIndexes,
    digest: "f835f71f5d041b4852ea9c86fd4663e334add50db2c03159162ea86a4a426275",
  },
];
