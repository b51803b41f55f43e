import type { Migration } from "../migrations.ts";
import deliveries from "./migrations/0000_deliveries.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const coordinatorMigrations: readonly Migration[] = [{ tag: "0000_deliveries", sql: deliveries }];
