import { lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, sep } from "node:path";
import { isAbsent, ownUser, writableByOthers } from "./own-file.ts";

/** Why another user could change what a path leads to. */
export interface Exposure {
  /** The file, folder or link on the way that is not safe. */
  path: string;
  /** A clause that follows the path in a sentence. */
  reason: string;
  /** The command line that mends it, or null when no single command does. */
  command: string[] | null;
}

interface OwnershipFacts {
  uid: number;
  /** The user's home folder; folders above it are not judged for what lies below it. */
  home: string;
}

interface Step {
  path: string;
  stats: Stats;
}

/** Asked for once, where a list of agents asks for hundreds of files. */
const ours: OwnershipFacts = {
  uid: ownUser,
  get home() {
    return homedir();
  },
};

const sticky = 0o1000;
const maxLinks = 40;

/**
 * The first file, folder or link on the way to `path` that a user other than `uid` and root could change, or
 * null. The way goes from the volume's root, or from the home folder when `path` lies below it, through each
 * symbolic link. It ends where nothing exists. A sticky folder that others may write is accepted on the way,
 * because what it holds must belong to `uid` or root; it is refused as the last part of the way and within an
 * overlay. `below`: a folder that was judged already, without links in it. Source: security.md, rule 2.
 */
export function findExposure(
  path: string,
  facts: OwnershipFacts = ours,
  below: string = sep,
): Exposure | null {
  const { steps, missing } = walk(path, below);
  const last = steps.at(-1);
  let home: string | null | undefined;
  for (const step of steps) {
    const exposure = judge(step, { uid: facts.uid, final: step === last && !missing });
    if (!exposure) continue;
    // Looked up only now: nearly every path is safe from the root on.
    home ??= realHome(facts.home);
    const aboveHome = home !== null && home !== step.path && isBelow(home, step.path);
    if (aboveHome && home !== null && last && isBelow(last.path, home)) continue;
    return exposure;
  }
  return null;
}

function judge({ path, stats }: Step, { uid, final }: { uid: number; final: boolean }): Exposure | null {
  if (stats.uid !== uid && stats.uid !== 0) {
    return { path, reason: `belongs to user ${stats.uid}, not to user ${uid} or root`, command: null };
  }
  // The mode of a link says nothing, that of a socket who may connect.
  if (stats.isSymbolicLink() || stats.isSocket() || (stats.mode & writableByOthers) === 0) return null;
  const inOverlay = path.split(sep).includes(".svc");
  if (stats.isDirectory() && (stats.mode & sticky) !== 0 && !final && !inOverlay) return null;
  return { path, reason: "is writable by its group or by others", command: ["chmod", "go-w", path] };
}

/** Each existing thing on the way to `path`, links and what they lead to included, from the top. */
function walk(path: string, below: string): { steps: Step[]; missing: boolean } {
  const steps: Step[] = [];
  const start = path === below || isBelow(path, below) ? below : sep;
  let current = start;
  if (start === sep) steps.push({ path: sep, stats: lstatSync(sep) });
  const rest = path.slice(start.length).split(sep).filter(Boolean);
  for (let links = 0; ; ) {
    const part = rest.shift();
    if (part === undefined) return { steps, missing: false };
    if (part === ".") continue;
    const next = join(current, part);
    const stats = lstatOrNull(next);
    if (stats === null) return { steps, missing: true };
    steps.push({ path: next, stats });
    if (!stats.isSymbolicLink()) {
      current = next;
      continue;
    }
    links += 1;
    if (links > maxLinks) return { steps, missing: true };
    const target = readlinkSync(next);
    if (isAbsolute(target)) current = sep;
    rest.unshift(...target.split(sep).filter(Boolean));
  }
}

function lstatOrNull(path: string): Stats | null {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    // What this user may not pass is not opened either.
    if (isAbsent(error) || (error as { code?: string }).code === "EACCES") return null;
    throw error;
  }
}

function realHome(home: string): string | null {
  try {
    return realpathSync(home);
  } catch {
    return null;
  }
}

function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : folder + sep);
}
