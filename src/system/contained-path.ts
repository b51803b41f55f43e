import { lstatSync, type Stats } from "node:fs";
import { isAbsolute, join } from "node:path";
import { ServiceError } from "./errors.ts";

declare const contained: unique symbol;

/**
 * An absolute path below a named root, without a symbolic link between the two at the time of the check. Only
 * `containedPath` creates one. Renaming and recursive removal need this type.
 * Source: spec/security.md, rule 1.
 */
export type ContainedPath = string & { readonly [contained]: true };

/**
 * The allowed kind of an existing entry at the path. `entry`: any kind, also a link, which is not followed.
 */
export type ExpectedKind = "entry" | "file" | "folder";

/** A value is not a path below its root. `why`: one clause without the value. */
export class PathRefused extends ServiceError {
  readonly why: string;

  constructor(value: string, why: string) {
    super("precondition_failed", `refused the path ${quoted(value)}: ${why}`);
    this.name = "PathRefused";
    this.why = why;
  }
}

/**
 * The path of `names`, one segment each, below `root`. A text is split at each `/`. Nothing needs to exist.
 * Throws `PathRefused` for a name that is not a single segment, for a link or a file between root and entry,
 * and for another kind of entry than `expected`. `root` is absolute and trusted; links may lead to it.
 */
export function containedPath(
  root: string,
  names: string | readonly string[],
  expected: ExpectedKind = "entry",
): ContainedPath {
  return locate(root, names, expected).path;
}

/** A path below its root and the kind of its entry, from a single check. */
export interface Located {
  path: ContainedPath;
  found: "absent" | "link" | "other";
}

/** As `containedPath`. */
export function locate(
  root: string,
  names: string | readonly string[],
  expected: ExpectedKind = "entry",
): Located {
  const segments = typeof names === "string" ? names.split("/") : names;
  const value = segments.join("/");
  const whole = childPath(root, ...segments);
  if (segments.length === 0) throw new PathRefused(value, "it names nothing");
  let path = root;
  let found: Stats | undefined;
  for (const [index, name] of segments.entries()) {
    path = join(path, name);
    found = lstatSync(path, { throwIfNoEntry: false });
    if (!found) break;
    const why = whyUnexpected(found, index < segments.length - 1 ? "folder" : expected);
    if (why !== null)
      throw new PathRefused(value, `${quoted(segments.slice(0, index + 1).join("/"))} ${why}`);
  }
  const kind = found?.isSymbolicLink() ? "link" : "other";
  return { path: whole as ContainedPath, found: found ? kind : "absent" };
}

/**
 * Joins `names` to `folder` without a look at the disk: for a path that is only shown, or that is opened
 * without following links. Throws `PathRefused` for a name that is not a single segment. Pure.
 */
export function childPath(folder: string, ...names: readonly string[]): string {
  if (!isAbsolute(folder)) throw new PathRefused(folder, "its root is not absolute");
  for (const name of names) {
    const why = whyNoName(name);
    if (why !== null) throw new PathRefused(names.join("/"), why);
  }
  return join(folder, ...names);
}

/** Whether `name` is a single segment of a path and can be shown. Pure. */
export function isOneName(name: string): boolean {
  return whyNoName(name) === null;
}

function whyNoName(name: string): string | null {
  if (name === "") return "it is absolute or has an empty segment";
  if (name === "." || name === "..") return `it has the segment "${name}"`;
  if (name.includes("/")) return "a segment holds a slash";
  if (/[\x00-\x1f\x7f-\x9f]/.test(name)) return "it holds a control character";
  return Buffer.byteLength(name) > 255 ? "a segment is longer than 255 bytes" : null;
}

function whyUnexpected(found: Stats, expected: ExpectedKind): string | null {
  if (expected === "entry") return null;
  if (found.isSymbolicLink()) return "is a symbolic link";
  if (expected === "folder") return found.isDirectory() ? null : "is no folder";
  return found.isFile() ? null : "is no regular file";
}

function quoted(value: string): string {
  const short = value.length > 120 ? `${value.slice(0, 119)}…` : value;
  return JSON.stringify(short.replace(/[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "?"));
}
