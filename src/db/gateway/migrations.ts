import type { Migration } from "../migrations.ts";
import queue from "./migrations/0000_queue.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const gatewayMigrations: readonly Migration[] = [{ tag: "0000_queue", sql: queue }];
