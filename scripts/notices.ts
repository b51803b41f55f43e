import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../package.json" with { type: "json" };
import { repositoryRoot } from "./bootstrap.ts";
import embedded from "./bun-parts.json" with { type: "json" };

/** Something of others that is in the executable. */
export interface Part {
  name: string;
  /** Of a release or a commit; null where Bun does not say which one it has. */
  version: string | null;
  /** An SPDX expression. */
  license: string;
  url: string;
  /** Of a package of npm. */
  purl: string | null;
  text: string;
}

/**
 * What of others is in an executable: the packages of the bundle, in order of their names, and after them Bun
 * with its parts. `inputs`: the bundle's files, from the root of the repository. Throws for a package without
 * a licence: it may not be handed on.
 */
export function partsOf(inputs: readonly string[]): Part[] {
  const folderOf = (path: string) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
  const folders = [...Map.groupBy(inputs, folderOf)].flatMap(([folder, files]) =>
    folder === undefined ? [] : [{ folder, files }],
  );
  const byFolder = folders.sort((left, right) => (left.folder < right.folder ? -1 : 1));
  return [...byFolder.map(packageOf), ...bunParts()];
}

/** `files`: those of the package that are in the bundle. */
function packageOf({ folder, files }: { folder: string; files: readonly string[] }): Part {
  const at = join(repositoryRoot, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as Record<
    "name" | "version" | "license",
    string
  >;
  const entries = readdirSync(at).sort();
  const texts = [
    entries.find((entry) => /^licen[cs]e(\.|$)/i.test(entry)),
    // Apache 2.0 asks for it, section 4(d).
    entries.find((entry) => /^notice(\.|$)/i.test(entry)),
    // A file that is itself a bundle has the licences of its parts beside it.
    ...files.map((path) => `${path.slice(folder.length + 1)}.LICENSE.txt`),
  ].filter((path) => path !== undefined && existsSync(join(at, path)));
  if (!license) throw new Error(`${name} ${version} has no licence`);
  return {
    name,
    version,
    license,
    url: `https://www.npmjs.com/package/${name}`,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    text: texts.map((path) => readFileSync(join(at, String(path)), "utf8").trim()).join("\n\n"),
  };
}

/**
 * Bun and what it has linked into itself, by `scripts/bun-parts.json`: from its LICENSE.md and the licences
 * of the projects that it names. A text of `@NAME` alone on a line is one of the common ones.
 */
function bunParts(): Part[] {
  const common: Readonly<Record<string, string>> = embedded.texts;
  const versions: Readonly<Record<string, string | undefined>> = process.versions;
  return embedded.parts.map((part) => ({
    name: part.name,
    license: part.license,
    url: part.url,
    purl: null,
    version: ("version" in part && versions[part.version]) || null,
    text: part.text.replace(/^@(.+)$/gm, (line, name: string) => common[name] ?? line),
  }));
}

/**
 * The names in `process.versions` that say which API Bun offers, or which program it is like: no parts of it.
 */
const noParts = ["node", "v8", "uv", "napi", "modules", "openssl", "unicode"];

/** What Bun names as its part and `scripts/bun-parts.json` has no licence for. */
export function findUnknownParts(versions: readonly string[]): string[] {
  const known = embedded.parts.flatMap((part) => ("version" in part ? [part.version] : []));
  return versions.filter((name) => !known.includes(name) && !noParts.includes(name));
}

/** Between two parts in THIRD-PARTY-NOTICES; in no licence. */
export const separator = `\n${"=".repeat(100)}\n\n`;

/** The text of THIRD-PARTY-NOTICES. */
export function noticesOf(parts: readonly Part[]): string {
  return parts
    .map(({ name, version, license, url, text }) => {
      const title = `${name}${version === null ? "" : ` ${version}`}: ${license}\n${url}\n`;
      return text === "" ? title : `${title}\n${text}\n`;
    })
    .join(separator);
}

/** The same parts as a CycloneDX document, equal for equal parts. */
export async function sbomOf(parts: readonly Part[]): Promise<string> {
  // A fresh clone installs it after this file was loaded.
  const { Enums, Models, Serialize, Spec } = await import("@cyclonedx/cyclonedx-library");
  const bom = new Models.Bom();
  const { Application, Library } = Enums.ComponentType;
  const program = new Models.Component(Application, "svc", { version: manifest.version, bomRef: "svc" });
  program.licenses.add(new Models.LicenseExpression(manifest.license));
  for (const { name, version, license, url, purl } of parts) {
    const component = new Models.Component(Library, name, {
      bomRef: purl ?? `embedded:${name}`,
      ...(version === null ? {} : { version }),
      ...(purl === null ? {} : { purl }),
    });
    component.licenses.add(new Models.LicenseExpression(license));
    const reference = new Models.ExternalReference(url, Enums.ExternalReferenceType.Website);
    component.externalReferences.add(reference);
    bom.components.add(component);
    program.dependencies.add(component.bomRef);
  }
  bom.metadata.component = program;
  const normalize = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  const text = new Serialize.JsonSerializer(normalize).serialize(bom, { sortLists: true, space: 2 });
  return `${text}\n`;
}
