import { defineConfig } from "drizzle-kit";

/** `bunx drizzle-kit generate --config=drizzle.coordinator.config.ts` writes the next migration of deliveries.sqlite. */
export default defineConfig({
  dialect: "sqlite",
  schema: "./src/db/coordinator/schema.ts",
  out: "./src/db/coordinator/migrations",
});
