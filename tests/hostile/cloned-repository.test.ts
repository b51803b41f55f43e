import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { turnPaths } from "../../src/services/headless/turn-directory.ts";
import { rootPaths } from "../../src/services/mail/filesystem/root-paths.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createScratch } from "../support/scratch.ts";
import { columnsOf } from "./trees/databases.ts";
import { fileKinds, filesBelow } from "./trees/file-kinds.ts";
import { listPlants, readDocument } from "./trees/plants.ts";
import { fieldsOf } from "./trees/schema-fields.ts";
import { makeTemplate, treePaths } from "./trees/template.ts";

describe("the generator", () => {
  const scratch = createScratch();
  const tree = scratch.path("clone");
  beforeAll(() =>
    makeTemplate({
      tree,
      state: scratch.path("state"),
      witness: scratch.path("witness"),
      bystanderPid: process.pid,
      ports: [1, 2],
    }),
  );
  afterAll(() => scratch[Symbol.dispose]());

  test("plants in every file of a tree that the product made", () => {
    const covered = new Set(fileKinds(tree).flatMap(({ paths }) => paths));
    const programs = ["planted-program", "tmux", "git", "ps", "claude", "svc-mgr", "svc-gateway"];
    const missing = filesBelow(tree).filter(
      (path) => !covered.has(path) && !programs.some((name) => path === join(tree, name)),
    );
    expect(missing).toEqual([]);
    expect(filesBelow(tree).length).toBeGreaterThan(40);
  });

  test("plants in every path that the product's own tables name", () => {
    const paths = treePaths(tree);
    const places = listPlants(tree);
    const planted = new Set([
      ...places.flatMap((plant) => (plant.what === "special" ? [plant.path] : plant.kind.paths)),
    ]);
    const made = /\.lock$|\/(?:locks|staging)(?:\/|$)/;
    const named = [
      ...paths.sessions.flatMap((root) => Object.values(sessionPaths(root))),
      ...Object.values(turnPaths(paths.turn)),
      ...Object.values(rootPaths(paths.mailbox)),
      ...Object.values(paths.coordinator),
    ].filter((path) => !made.test(path));
    expect(named.filter((path) => !planted.has(path))).toEqual([]);
  });

  test("plants in every kind of file that the documentation names", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/how-it-works.md"), "utf8");
    const table = /\| file \| holds \| authority \|\n([\s\S]*?)\n\n/.exec(page)?.[1] ?? "";
    const documented = table.split("\n").flatMap((row) => {
      const [, first = ""] = row.split("|");
      return [...first.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);
    });
    expect(documented.length).toBeGreaterThan(12);
    const places = listPlants(tree).flatMap((plant) =>
      plant.what === "special" ? [plant.path] : plant.kind.paths,
    );
    // The registry lies in the user's state folder, never in a tree.
    const elsewhere = ["registry/live_agents/<id>/record.json"];
    const missing = documented
      .filter((name) => !elsewhere.includes(name))
      .filter((name) => !places.some((path) => patternOf(name).test(path)));
    expect(missing).toEqual([]);
  });

  test("begins with documents that fit their schemas, and knows all of their fields", () => {
    for (const kind of fileKinds(tree)) {
      if (!kind.schema) continue;
      const { schema } = kind;
      for (const path of kind.paths) {
        const document = readDocument(kind, path);
        const errors = [...Value.Errors(schema, document)].map(
          (error) => `${path}${error.path}: ${error.message}`,
        );
        expect(errors).toEqual([]);
      }
      expect(fieldsOf(schema).length).toBeGreaterThan(1);
    }
  });

  test("plants in every column of every database", () => {
    const columns = listPlants(tree).flatMap((plant) =>
      plant.what === "column" ? [`${plant.table}.${plant.column}`] : [],
    );
    for (const column of [
      "pending_artifacts.path",
      "registrations.mailbox_path",
      "gateway_requests.payload_json",
    ]) {
      expect(columns).toContain(column);
    }
    const databases = fileKinds(tree).filter(({ layout }) => layout === "sqlite");
    const all = databases.flatMap(({ paths }) => columnsOf(paths[0] ?? ""));
    expect(columns.length).toBe(all.length);
  });
});

/** `.../gateway/run/token` and `MAILBOX_ROOT/messages/<date>/<id>.md` as they end. */
function patternOf(name: string): RegExp {
  const words = name
    .replace(/^(?:\.\.\.|MAILBOX_ROOT)\//, "")
    .split("/")
    .filter((word) => word !== "")
    .map((word) => (/^<.*>$/.test(word) ? "[^/]+" : word.replace(/<[^>]+>/, "[^/]+").replaceAll(".", "\\.")));
  return new RegExp(`/${words.join("/")}(?:/|$)`);
}
