import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./bootstrap.ts";

/**
 * The licences of the packages that are part of a bundle, in order of their names: what each says of itself, and the
 * text that it brings. `inputs`: the bundle's files, from the root of the repository. Throws for a package without any
 * licence: it may not be handed on.
 */
export function noticesOf(inputs: readonly string[]): string {
  const folders = inputs.flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return [...new Set(folders)].sort().map(noticeOf).join("\n");
}

function noticeOf(folder: string): string {
  const at = join(repositoryRoot, folder);
  const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as Record<string, string>;
  const { name, version, license } = manifest;
  const file = readdirSync(at).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
  if (license === undefined && file === undefined) throw new Error(`${name} ${version} has no licence`);
  const text = file === undefined ? "" : `\n${readFileSync(join(at, file), "utf8").trim()}\n`;
  return `${name} ${version}: ${license ?? "see below"}\n${text}`;
}
