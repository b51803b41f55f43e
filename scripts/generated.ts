import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { repositoryRoot } from "./bootstrap.ts";
import { runStep, tool } from "./steps.ts";

/** A folder of generated files, and the command that would bring it up to date in another folder. */
export interface Generated {
  folder: string;
  /** Where it comes from; nothing is compared while this is absent. */
  source: string;
  /** Made of more than its source imports: any change can reach it. */
  ofEverything?: true;
  refresh: string;
  command(folder: string): string[];
}

const schemas = [
  { folder: "src/db/gateway", config: "drizzle.config.ts" },
  { folder: "src/db/coordinator", config: "drizzle.coordinator.config.ts" },
  { folder: "src/db/mailbox/catalog", config: "drizzle.mailbox-catalog.config.ts" },
  { folder: "src/db/mailbox/state", config: "drizzle.mailbox-state.config.ts" },
];

const generated: Generated[] = [
  ...schemas.map(
    ({ folder, config }): Generated => ({
      folder: `${folder}/migrations`,
      source: `${folder}/schema.ts`,
      refresh: `bunx drizzle-kit generate --config=${config}`,
      command: (fresh) =>
        tool("drizzle-kit", "generate", "--dialect=sqlite", `--schema=${folder}/schema.ts`, `--out=${fresh}`),
    }),
  ),
  {
    folder: "docs",
    source: "scripts/docs.ts",
    ofEverything: true,
    refresh: "bun run docs",
    command: (folder) => [process.execPath, "scripts/docs.ts", folder],
  },
];

/** Where each of them comes from. */
export const generatorSources = generated.map(({ source }) => source);

/**
 * Generates every generated file anew, in a temporary folder beside a copy of what is there. Returns a line
 * for each that differs, with the command that brings it up to date; changes nothing in the repository. What
 * is not `isReached` by a change is passed over.
 */
export async function findDrift(isReached: (one: Generated) => boolean): Promise<string[]> {
  const found = await Promise.all(generated.filter(isReached).map(driftOf));
  return found.flat();
}

async function driftOf({ folder, source, refresh, command }: Generated): Promise<string[]> {
  if (!existsSync(join(repositoryRoot, source))) return [];
  const present = join(repositoryRoot, folder);
  const fresh = mkdtempSync(join(tmpdir(), "svc-generated-"));
  try {
    if (existsSync(present)) cpSync(present, fresh, { recursive: true });
    const run = await runStep({
      name: refresh,
      command: command(relative(repositoryRoot, fresh)),
      timeoutMs: 180_000,
    });
    if (!run.ok) return [`${folder}: the generator failed`, run.output];
    const names = new Set([...filesIn(present), ...filesIn(fresh)]);
    return [...names]
      .filter((name) => textOf(join(present, name)) !== textOf(join(fresh, name)))
      .map((name) => `${join(folder, name)} has drifted: run ${refresh}`);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}
