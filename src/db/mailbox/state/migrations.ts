import type { Migration } from "../../migrations.ts";
import state from "./migrations/0000_state.sql" with { type: "text" };
import threads from "./migrations/0001_threads.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const stateMigrations: readonly Migration[] = [
  { tag: "0000_state", sql: state },
  {
    tag: "0001_threads",
    sql: threads,
    digest: "7bac73f141e89b5f74dcac57fcae3c474c22cfa1eeb2e0b8a17b9c16fc656f0c",
  },
];
