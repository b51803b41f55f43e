import type { Migration } from "../../migrations.ts";
import catalog from "./migrations/0000_catalog.sql" with { type: "text" };
import threads from "./migrations/0001_threads.sql" with { type: "text" };
import hostOutbox from "./migrations/0002_host_outbox.sql" with { type: "text" };
import attestation from "./migrations/0003_attestation.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const catalogMigrations: readonly Migration[] = [
  { tag: "0000_catalog", sql: catalog },
  { tag: "0001_threads", sql: threads },
  { tag: "0002_host_outbox", sql: hostOutbox },
  {
    tag: "0003_attestation",
    sql: attestation,
    digest: "5af2d606ab91188b5cdb640f3848c45689ca40b38d0031a169038687974c395c",
  },
];
