import type { TrackedFile } from "./repository.ts";
import type { Violation } from "./tree.ts";

/**
 * Nobody has registered a name of ours with npm: whoever takes one runs code on the machine of each reader
 * that follows such a line. Until then a package is installed and run by the path of its file (decision 97).
 */
const ours = /^(svc|svc-(mgr|gateway|coord)(-[\w-]+)?)(@[^/]*)?$/;

/** A command that fetches a package, up to the end of its words. */
const command =
  /\b(npx|bunx|(?:npm|pnpm|yarn|bun)\s+(?:exec|x|dlx|install|i|add|create|global\s+add))(?=\s)([^`"'\n;&|]*)/g;
const runs = /^(npx|bunx)$|\s(exec|x|dlx|create)$/;
/** Flags with a value that is no package. */
const withValue = ["--prefix", "--registry", "-w", "--workspace", "--cwd"];

/** The lines that install or run a package by one of our names, as a registry would resolve it. */
export function findInstalledNames(files: readonly TrackedFile[]): Violation[] {
  return files.flatMap(({ path, content }) =>
    content.split("\n").flatMap((line, index) =>
      [...line.matchAll(command)]
        .flatMap(([, verb = "", rest = ""]) => packagesOf(verb, rest.trim().split(/\s+/)))
        .filter((name) => ours.test(name))
        .map((name) => `${path}:${index + 1}: installs ${name} by its name`),
    ),
  );
}

function packagesOf(verb: string, words: readonly string[]): string[] {
  const named: string[] = [];
  const plain: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const [flag = "", value] = word.split(/=(.*)/s, 2);
    if (flag === "-p" || flag === "--package") named.push(value ?? words[++index] ?? "");
    else if (withValue.includes(word)) index++;
    else if (!word.startsWith("-")) plain.push(word.replace(/[,.:)]+$/, ""));
  }
  if (!runs.test(verb)) return plain;
  return named.length > 0 ? named : plain.slice(0, 1);
}
