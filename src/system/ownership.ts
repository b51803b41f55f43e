import { lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, sep } from "node:path";
import { isAbsent, ownUser, writableByOthers } from "./own-file.ts";

/** Why another user could change the file at a path. */
export interface Exposure {
  /** The unsafe file, folder or link on the path. */
  path: string;
  /** A clause that follows the path in a sentence. */
  reason: string;
  /** The command line that fixes it; null without a single one. */
  command: string[] | null;
}

interface OwnershipFacts {
  uid: number;
  /** The user's home folder. Folders above it are not checked for paths below it. */
  home: string;
}

interface Step {
  path: string;
  stats: Stats;
}

/** `home` is looked up on use, since a list of agents checks hundreds of files. */
const ownFacts: OwnershipFacts = {
  uid: ownUser,
  get home() {
    return homedir();
  },
};

const sticky = 0o1000;
const maxLinks = 40;

/**
 * The first file, folder or link on `path` that a user other than `uid` and root could change; null without
 * one. The check starts at the root of the volume, or at the home folder for a path below it, follows each
 * symbolic link, and ends at the first entry that does not exist. A sticky folder that others may write is
 * accepted as a parent, because its entries must belong to `uid` or root; it is refused as the last entry and
 * within an overlay. `below`: a folder without links that was already checked. Source: security.md, rule 2.
 */
export function findExposure(
  path: string,
  facts: OwnershipFacts = ownFacts,
  below: string = sep,
): Exposure | null {
  const { steps, missing } = walk(path, below);
  const last = steps.at(-1);
  let home: string | null | undefined;
  for (const step of steps) {
    const exposure = judge(step, { uid: facts.uid, final: step === last && !missing });
    if (!exposure) continue;
    // Looked up only now, since nearly every path is safe from the root on.
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
  // The mode of a link has no meaning; the mode of a socket controls only connections.
  if (stats.isSymbolicLink() || stats.isSocket() || (stats.mode & writableByOthers) === 0) return null;
  const inOverlay = path.split(sep).includes(".svc");
  if (stats.isDirectory() && (stats.mode & sticky) !== 0 && !final && !inOverlay) return null;
  return { path, reason: "is writable by its group or by others", command: ["chmod", "go-w", path] };
}

/** Each existing entry on `path`, from the top, with links and their targets. */
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
    // A folder that this user may not enter counts as the end of the path.
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
