import { defineConfig } from "drizzle-kit";

/** `bunx drizzle-kit generate --config=drizzle.mailbox-catalog.config.ts` writes the next migration of index.sqlite. */
export default defineConfig({
  dialect: "sqlite",
  schema: "./src/db/mailbox/catalog/schema.ts",
  out: "./src/db/mailbox/catalog/migrations",
});
