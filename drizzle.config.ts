import { defineConfig } from "drizzle-kit";

/** `bunx drizzle-kit generate` writes the next migration of queue.sqlite; check fails when one is missing. */
export default defineConfig({
  dialect: "sqlite",
  schema: "./src/db/gateway/schema.ts",
  out: "./src/db/gateway/migrations",
});
