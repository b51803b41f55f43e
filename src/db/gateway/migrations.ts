import type { Migration } from "../migrations.ts";
import queue from "./migrations/0000_queue.sql" with { type: "text" };
import notifier from "./migrations/0001_notifier.sql" with { type: "text" };
import leanerAccept from "./migrations/0002_leaner_accept.sql" with { type: "text" };
import turnsFound from "./migrations/0003_turns_found.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const gatewayMigrations: readonly Migration[] = [
  { tag: "0000_queue", sql: queue },
  { tag: "0001_notifier", sql: notifier },
  { tag: "0002_leaner_accept", sql: leanerAccept },
  { tag: "0003_turns_found", sql: turnsFound },
];
