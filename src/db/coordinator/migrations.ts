import type { Migration } from "../migrations.ts";
import deliveries from "./migrations/0000_deliveries.sql" with { type: "text" };

/** Oldest first. Written by drizzle-kit from `schema.ts`; an applied one is never edited. */
export const coordinatorMigrations: readonly Migration[] = [
  {
    tag: "0000_deliveries",
    sql: deliveries,
    digest: "6ea6c1dc09ecc81be8e326bc6af1cfe1deb923ad45ca7675e82b7b5ae7915320",
  },
];
