import type { Migration } from "../../migrations.ts";
import state from "./migrations/0000_state.sql" with { type: "text" };
import threads from "./migrations/0001_threads.sql" with { type: "text" };
import attestation from "./migrations/0002_attestation.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const stateMigrations: readonly Migration[] = [
  { tag: "0000_state", sql: state },
  { tag: "0001_threads", sql: threads },
  {
    tag: "0002_attestation",
    sql: attestation,
    digest: "8da3242047f1aff99d90a3f9d4836008ffc2b8c2f7aa8aa0ffb7c1bcbeebd42b",
  },
];
