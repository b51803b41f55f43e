import type { Clock } from "../../system/clock.ts";
import type { Steps } from "../../system/steps.ts";
import { openStore, type Store } from "../open.ts";
import { catalogMigrations } from "./catalog/migrations.ts";
import * as schema from "./catalog/schema.ts";

export type CatalogStore = Store<typeof schema>;

/** index.sqlite of a root. */
export interface Catalog {
  /** For statements of maintenance. The present file: ask anew for each use. */
  readonly store: CatalogStore;
  close(): void;
}

export function openCatalog(options: { path: string; clock: Clock; steps: Steps }): Catalog {
  const store: CatalogStore = openStore({ ...options, schema, migrations: catalogMigrations });
  return { store, close: () => store.close() };
}
