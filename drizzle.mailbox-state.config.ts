import { defineConfig } from "drizzle-kit";

/** `bunx drizzle-kit generate --config=drizzle.mailbox-state.config.ts` writes the next migration of mailbox.sqlite. */
export default defineConfig({
  dialect: "sqlite",
  schema: "./src/db/mailbox/state/schema.ts",
  out: "./src/db/mailbox/state/migrations",
});
