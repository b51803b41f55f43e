import { existsSync, lstatSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { columnsOf, plantInColumn, plantSchema, type SchemaAttack, schemaAttacks } from "./databases.ts";
import { type Area, type FileKind, fileKinds } from "./file-kinds.ts";
import { type FieldPath, fieldsIn, fieldsOf, withField } from "./schema-fields.ts";
import { plantSpecial, type SpecialKind, specialKinds } from "./special-files.ts";
import { asText, hostileValue, type Rng, type Targets, type ValueClass, valueClasses } from "./values.ts";

/** One thing that an attacker changes in a repository. `file`: index among the paths of its kind. */
export type Plant =
  | { what: "field"; kind: FileKind; field: FieldPath }
  | { what: "column"; kind: FileKind; table: string; column: string }
  | { what: "schema"; kind: FileKind; attack: SchemaAttack }
  | { what: "special"; area: Area; path: string; name: string };

/** Every place of the template in which something can be planted. Always in the same order. */
export function listPlants(tree: string): Plant[] {
  const kinds = fileKinds(tree);
  const found: Plant[] = kinds.flatMap((kind) => placesOf(kind));
  for (const kind of kinds) {
    for (const path of kind.paths) found.push({ what: "special", area: kind.area, path, name: kind.name });
  }
  for (const [path, area] of foldersOf(kinds, tree)) {
    found.push({ what: "special", area, path, name: "folder" });
  }
  for (const kind of kinds.filter(({ layout }) => layout === "sqlite")) {
    for (const path of kind.paths) {
      for (const ending of ["-wal", "-shm", "-journal"]) {
        found.push({
          what: "special",
          area: kind.area,
          path: `${path}${ending}`,
          name: `${kind.name}${ending}`,
        });
      }
    }
  }
  return found;
}

function placesOf(kind: FileKind): Plant[] {
  const [path = ""] = kind.paths;
  switch (kind.layout) {
    case "sqlite":
      return [
        ...columnsOf(path).map((column): Plant => ({ what: "column", kind, ...column })),
        ...Object.keys(schemaAttacks).map(
          (attack): Plant => ({ what: "schema", kind, attack: attack as SchemaAttack }),
        ),
      ];
    case "text":
      return [{ what: "field", kind, field: [] }];
    default: {
      const fields = kind.schema ? fieldsOf(kind.schema) : fieldsIn(readDocument(kind, path));
      return fields.map((field): Plant => ({ what: "field", kind, field }));
    }
  }
}

/** The folders on the way to every file, the overlay included. */
function foldersOf(kinds: readonly FileKind[], tree: string): Map<string, Area> {
  const folders = new Map<string, Area>();
  for (const { paths, area } of kinds) {
    for (const path of paths) {
      for (let folder = dirname(path); folder !== tree; folder = dirname(folder)) {
        if (!folders.has(folder)) folders.set(folder, area);
      }
    }
  }
  return folders;
}

export const areaOf = (plant: Plant): Area => (plant.what === "special" ? plant.area : plant.kind.area);

/** How many trees it takes until every place met every hostile value or kind of file. */
export function variantsOf(plant: Plant): number {
  if (plant.what === "special") return specialKinds.length;
  return plant.what === "schema" ? 1 : valueClasses.length;
}

/** Makes one change, and says which, for a failure to name. `variant`: which value or kind of file. */
export function makePlant(plant: Plant, variant: number, targets: Targets, rng: Rng): string {
  switch (plant.what) {
    case "special": {
      const kind = specialKinds[variant % specialKinds.length] as SpecialKind;
      if (isReached(plant.path)) plantSpecial(plant.path, kind, targets, rng);
      return `${plant.name} ${plant.path}: ${kind}`;
    }
    case "schema": {
      const path = rng.pick(plant.kind.paths);
      if (isWhole(path)) plantSchema(path, plant.attack, rng.pick(targets.precious));
      return `${path}: ${plant.attack}`;
    }
    case "column": {
      const value = valueClasses[variant % valueClasses.length] as ValueClass;
      const path = rng.pick(plant.kind.paths);
      const { table, column } = plant;
      if (isWhole(path)) plantInColumn(path, { table, column }, hostileValue(value, targets, rng));
      return `${path}: ${table}.${column}: ${value}`;
    }
    case "field": {
      const value = valueClasses[variant % valueClasses.length] as ValueClass;
      const path = rng.pick(plant.kind.paths);
      if (isWhole(path)) plantInFile(plant.kind, path, plant.field, hostileValue(value, targets, rng));
      return `${path}: ${plant.field.join(".") || "all of it"}: ${value}`;
    }
  }
}

/**
 * An earlier change of this tree may have put a file, or a link to somewhere else, in place of a folder
 * above.
 */
function isReached(path: string): boolean {
  const folder = dirname(path);
  return existsSync(folder) && realpathSync(folder) === folder && lstatSync(folder).isDirectory();
}

/** An earlier change of this tree may have put something else in its place. */
function isWhole(path: string): boolean {
  if (!isReached(path)) return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size > 0 && found.size < 2 ** 24;
}

function plantInFile(kind: FileKind, path: string, field: FieldPath, value: unknown): void {
  if (kind.layout === "text") {
    writeFileSync(path, asText(value));
    return;
  }
  let document: unknown;
  try {
    document = readDocument(kind, path);
  } catch {
    return;
  }
  writeDocument(kind, path, withField(document, field, value));
}

const frontMatter = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/;

/** The document in a file: of lines the first, of a message its front matter. */
export function readDocument({ layout }: FileKind, path: string): unknown {
  const text = readFileSync(path, "utf8");
  if (layout === "json-lines") return JSON.parse(text.split("\n")[0] ?? "");
  if (layout === "front-matter") return Bun.YAML.parse(frontMatter.exec(text)?.[1] ?? "");
  return JSON.parse(text);
}

function writeDocument({ layout }: FileKind, path: string, document: unknown): void {
  const json = JSON.stringify(document) ?? "";
  let text = layout === "json-lines" ? `${json}\n` : json;
  if (layout === "front-matter") {
    const body = frontMatter.exec(readFileSync(path, "utf8"))?.[2] ?? "";
    text = `---\n${Object.entries(document ?? {})
      .map(toLine)
      .join("")}---\n${body}`;
  }
  writeFileSync(path, text);
}

const toLine = ([key, value]: [string, unknown]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}\n`;
