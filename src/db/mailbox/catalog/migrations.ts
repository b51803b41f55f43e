import type { Migration } from "../../migrations.ts";
import catalog from "./migrations/0000_catalog.sql" with { type: "text" };
import threads from "./migrations/0001_threads.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const catalogMigrations: readonly Migration[] = [
  { tag: "0000_catalog", sql: catalog },
  {
    tag: "0001_threads",
    sql: threads,
    digest: "1730758b765c5d4092370afdb192c0013cebfc50051da53ce5427786706cb005",
  },
];
