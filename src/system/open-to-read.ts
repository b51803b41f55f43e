import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

/** Which files may be read on behalf of a caller, and how large they may be. */
export interface ReadLimits {
  maxBytes: number;
  /** Folders, absolute, below one of which the file lies by its real path. Default: any, but for those of the kernel. */
  below?: readonly string[] | undefined;
  /** Also in folders of the kernel, such as /dev/shm: for a path of our own. */
  anywhere?: boolean;
}

export type WhyNotRead = "absent" | "unreadable" | "not_regular" | "too_large" | "of_kernel" | "outside";

/** What lies there is made by the kernel at the moment it is read, such as the environment of a process. */
const kernelFolders = ["/proc", "/sys", "/dev"];

/**
 * Opens a regular file, and judges what is open: a name that leads elsewhere a moment later changes nothing. The last
 * part of `path` may not be a symbolic link. The caller closes `handle`. Source: spec/security.md, rule 6.
 */
export function openToRead(
  path: string,
  limits: ReadLimits,
): { ok: true; handle: number; size: number } | { ok: false; why: WhyNotRead } {
  // To open a device may already have an effect.
  const named = realPathOf(path);
  const early = named === null ? null : whyMisplaced(named, limits);
  if (early !== null) return { ok: false, why: early };
  let handle: number;
  try {
    // Without waiting: a pipe would hold the opener until someone writes.
    handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return { ok: false, why: whyClosed(error) };
  }
  const facts = fstatSync(handle);
  const real = pathOfHandle(handle, path);
  let why: WhyNotRead | null = null;
  if (!facts.isFile()) why = "not_regular";
  else if (facts.size > limits.maxBytes) why = "too_large";
  else why = real === null ? "absent" : whyMisplaced(real, limits);
  if (why === null) return { ok: true, handle, size: facts.size };
  closeSync(handle);
  return { ok: false, why };
}

/** Whether the file that `path` names now lies below one of `folders`, by real paths. */
export function isBelow(path: string, folders: readonly string[]): boolean {
  const real = realPathOf(path);
  return real !== null && whyMisplaced(real, { below: folders }) === null;
}

function whyMisplaced(
  real: string,
  { below, anywhere = false }: Omit<ReadLimits, "maxBytes">,
): "of_kernel" | "outside" | null {
  if (!anywhere && kernelFolders.some((folder) => lies(folder, real))) return "of_kernel";
  if (below === undefined) return null;
  const allowed = below.flatMap((folder) => realPathOf(folder) ?? []);
  return allowed.some((folder) => lies(folder, real)) ? null : "outside";
}

function lies(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`);
}

/** Where the file that is open lies; null when it no longer has that name. */
function pathOfHandle(handle: number, path: string): string | null {
  if (process.platform === "linux") {
    const real = readlinkSync(`/proc/self/fd/${handle}`);
    return real.endsWith(" (deleted)") ? null : real;
  }
  const real = realPathOf(path);
  if (real === null) return null;
  const [found, open] = [statSync(real, { throwIfNoEntry: false }), fstatSync(handle)];
  return found && found.dev === open.dev && found.ino === open.ino ? real : null;
}

/** By the folder: a link at the end is refused when it is opened. */
function realPathOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    try {
      return join(realpathSync(dirname(path)), path.slice(path.lastIndexOf("/") + 1));
    } catch {
      return null;
    }
  }
}

function whyClosed(error: unknown): "absent" | "unreadable" | "not_regular" {
  const code = (error as { code?: string }).code;
  if (code === "ENOENT" || code === "ENOTDIR" || code === "ENAMETOOLONG") return "absent";
  if (code === "ELOOP" || code === "ENXIO") return "not_regular";
  if (code === "EACCES" || code === "EPERM") return "unreadable";
  throw error;
}
