import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Violation } from "./tree.ts";
import { repositoryRoot } from "./tree.ts";

/** A tracked file of the repository and its text. */
export interface TrackedFile {
  path: string;
  content: string;
}

// Put together from parts, so that this file does not contain what it forbids.
const hosts = [
  ["registry", "npmjs"],
  ["registry", "yarnpkg"],
  ["deb", "debian"],
  ["security", "debian"],
  ["pypi", "org"],
  ["files", "pythonhosted"],
  ["crates", "io"],
  ["proxy", "golang"],
  ["repo", "maven"],
  ["ghcr", "io"],
].map((parts) => parts.join("."));

const places = ["work/(?:main|shared|\\.library)", "root", "Users", "tmp/brief", "tmp/bash_jobs"];

const forbidden: { pattern: RegExp; why: string }[] = [
  {
    pattern: new RegExp(hosts.map((host) => `\\b${host.replace(".", "\\.")}`).join("|"), "g"),
    why: "a registry host",
  },
  {
    // A compiled executable sees its own files below `$bunfs/root`.
    pattern: new RegExp(`(?<![\\w.$*}-]|\\$bunfs)/(?:${places.join("|")})(?:/[\\w.-]+)?`, "g"),
    why: "a path of one machine",
  },
  { pattern: new RegExp(`Co-${"Authored"}-By`, "gi"), why: "authorship belongs into git" },
];

/**
 * What ties the repository to one machine, one registry or one author. `extra`: more texts that may not
 * occur.
 */
export function findTies(files: TrackedFile[], extra: string[] = []): Violation[] {
  return files.flatMap(({ path, content }) => [
    ...forbidden.flatMap(({ pattern, why }) =>
      [...content.matchAll(pattern)].map((match) => `${path}: ${match[0]}: ${why}`),
    ),
    ...extra.filter((text) => content.includes(text)).map((text) => `${path}: ${text}: this machine's`),
  ]);
}

/** A lockfile entry names its package and hash; where it was fetched from is the reader's business. */
export function findLockedUrls(lockfile: string): Violation[] {
  return [...lockfile.matchAll(/\w+:\/\/[^"\s]+/g)].map((match) => match[0]);
}

/** Dependencies that are not pinned to one exact version; `npm:name@version` is one under another name. */
export function findLooseVersions(manifest: string): Violation[] {
  const parsed: Record<string, unknown> = JSON.parse(manifest);
  return ["dependencies", "devDependencies", "optionalDependencies"].flatMap((section) =>
    Object.entries((parsed[section] ?? {}) as Record<string, string>)
      .filter(([, version]) => !/^(?:npm:(?:@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
      .map(([name, version]) => `${section}: ${name}@${version}`),
  );
}

/** Tracked files and new ones that git would take; files deleted in the work tree are left out. */
export function trackedFiles(): TrackedFile[] {
  const listed = Bun.spawnSync(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: repositoryRoot,
  });
  const paths = new Set(listed.stdout.toString().split("\0").filter(Boolean));
  return [...paths].flatMap((path) => {
    try {
      return [{ path, content: readFileSync(join(repositoryRoot, path), "utf8") }];
    } catch {
      return [];
    }
  });
}
