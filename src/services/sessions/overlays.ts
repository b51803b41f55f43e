import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { parseJson, renderJson } from "../../protocol/json.ts";
import { type Clock, toTimestamp } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Locks } from "../../system/locks.ts";
import type { Exposure } from "../../system/ownership.ts";
import { visibleLine } from "../../system/visible.ts";
import { type Environment, findOverlay, overlayName } from "./roots.ts";
import { explainExposure, refuseExposed } from "./trust.ts";

/** How an overlay was adopted: made by our own command, by `overlay adopt`, or named in the environment. */
type AdoptedBy = "created" | "command" | "named";

type Adoption = typeof Adoption.static;
const Adoption = Type.Object({
  schema_version: Type.Literal(1),
  /** Without links. */
  path: Type.String(),
  device: Type.String(),
  inode: Type.String(),
  /** The content of the key file in the overlay: a file system may give an inode number again. */
  key: Type.String(),
  adopted_at: Type.String(),
  adopted_by: Type.Union([Type.Literal("created"), Type.Literal("command"), Type.Literal("named")]),
});

/**
 * Which project overlays this user adopted. Recorded in the user's state folder, outside every working tree.
 */
export type Overlays = ReturnType<typeof createOverlays>;

const ignoreName = ".gitignore";
const keyName = "adoption-key";

/** `stateRoot`: see `stateRootOf`. */
export function createOverlays(deps: {
  files: Files;
  clock: Clock;
  ids: Ids;
  locks: Pick<Locks, "hold">;
  stateRoot: string;
}) {
  const { files, clock, ids } = deps;
  const folder = join(deps.stateRoot, "overlays");
  const realOf = (overlay: string) => files.realPath(overlay) ?? overlay;
  const recordOf = (overlay: string) => join(folder, `${sha256(realOf(overlay)).slice(0, 32)}.json`);

  function read(path: string): Adoption | null {
    if (files.exposure(folder) !== null) return null;
    return parseJson(Adoption, files.read(path));
  }

  function adoptionOf(overlay: string): Adoption | null {
    const adoption = read(recordOf(overlay));
    const facts = files.stat(overlay);
    if (!adoption || !facts?.directory || adoption.path !== realOf(overlay)) return null;
    if (`${adoption.device}:${adoption.inode}` !== facts.identity) return null;
    return files.read(join(overlay, keyName)) === adoption.key ? adoption : null;
  }

  function exposure(overlay: string, { named } = { named: false }): Exposure | null {
    if (!named && files.isLink(overlay)) {
      return { path: overlay, reason: "is a symbolic link, and an overlay must be a folder", command: null };
    }
    const exposed = files.exposure(overlay);
    if (exposed) return exposed;
    if (named || adoptionOf(overlay)) return null;
    const command = ["svc-mgr", "overlay", "adopt", overlay];
    if (read(recordOf(overlay)) === null) {
      return { path: overlay, reason: "is a project overlay that you have not adopted", command };
    }
    return { path: overlay, reason: "is not the project overlay that you adopted there", command };
  }

  function adopt(overlay: string, by: AdoptedBy): Adoption {
    if (files.isLink(overlay)) {
      throw new ServiceError(
        "precondition_failed",
        `${visibleLine(overlay)} is a symbolic link; name the folder itself`,
      );
    }
    refuseExposed(files, overlay, "the project overlay");
    const facts = files.stat(overlay);
    if (!facts?.directory) throw new ServiceError("not_found", `there is no folder ${visibleLine(overlay)}`);
    keepOutOfGit(files, overlay);
    const known = adoptionOf(overlay);
    if (known) return known;
    const key = ids.hex(32);
    files.write("file:overlay.key", join(overlay, keyName), key);
    const [device = "", inode = ""] = facts.identity.split(":");
    const adopted_at = toTimestamp(clock.nowMs());
    const identity = { path: realOf(overlay), device, inode };
    const adoption: Adoption = { schema_version: 1, ...identity, key, adopted_at, adopted_by: by };
    files.ensureDirectory("file:overlays", folder);
    refuseExposed(files, folder, "the folder of adoptions");
    files.write("file:overlays", recordOf(overlay), renderJson(adoption));
    return adoption;
  }

  return {
    /**
     * Why the overlay is not used, or null: owner, mode, a link, or no adoption of exactly this folder. One
     * that the user named in the environment needs no adoption.
     */
    exposure,
    /** The valid record of an overlay; null when it was not adopted or is another folder now. */
    adoptionOf,
    /**
     * Records the overlay, which must exist, and gives it its `.gitignore`. Idempotent. Throws
     * `precondition_failed` for one that another user could change, `not_found` when there is no such folder.
     */
    adopt,
    /**
     * Makes the overlay and adopts it. Throws as `adopt`, and for one that is there already and not adopted.
     */
    create(overlay: string): Adoption {
      if (files.exists(overlay) || files.isLink(overlay)) {
        const known = adoptionOf(overlay);
        if (known) return known;
        throw new ServiceError("conflict", `${visibleLine(overlay)} exists and was not adopted`);
      }
      refuseExposed(files, overlay, "a project overlay there");
      files.ensureDirectory("file:overlay", overlay);
      return adopt(overlay, "created");
    },
    /**
     * Runs `work` while no other process makes an overlay. Until one is adopted, it is that of another to
     * all but its maker.
     */
    exclusively<T>(work: () => T | Promise<T>): Promise<T> {
      files.ensureDirectory("file:overlays", folder);
      return deps.locks.hold(join(folder, "create.lock"), work, { timeoutMs: 30_000 });
    },
    /** False when nothing was recorded. The folder stays as it is. */
    forget(overlay: string): boolean {
      const path = recordOf(overlay);
      if (!files.exists(path)) return false;
      files.removeFile("file:overlays.forget", path);
      return true;
    },
    /** By path; those that are gone or were replaced included. */
    list: (): Adoption[] =>
      files
        .list(folder)
        .flatMap((name) => read(join(folder, name)) ?? [])
        .sort((left, right) => (left.path < right.path ? -1 : 1)),
  };
}

/** The project overlay that a command meets. */
export interface ProjectOverlay {
  path: string;
  /** By SVC_PROJECT_OVERLAY_DIR, and not found by its name. */
  named: boolean;
  /** Why it is not used; null for one that is. */
  refusal: string | null;
}

/** As `findOverlay`, with the verdict on what was found. Nothing is created here. */
export function judgeOverlay(
  files: Files,
  overlays: Pick<Overlays, "exposure">,
  env: Environment,
  workdir: string,
): ProjectOverlay | null {
  const path = findOverlay(files, env, workdir);
  if (path === null) return null;
  const named = Boolean(env["SVC_PROJECT_OVERLAY_DIR"]);
  const exposure = overlays.exposure(path, { named });
  return { path, named, refusal: exposure && explainExposure(exposure) };
}

/**
 * The overlay is there afterwards, adopted, with its `.gitignore`. One that was found by its name must have
 * been adopted before. For what is about to write below it. Throws as `Overlays.adopt`.
 */
export function prepareOverlay(
  files: Files,
  overlays: Overlays,
  overlay: Pick<ProjectOverlay, "path" | "named">,
): void {
  if (overlay.named) {
    files.ensureDirectory("file:overlay", overlay.path);
    overlays.adopt(files.realPath(overlay.path) ?? overlay.path, "named");
  } else if (files.exists(overlay.path)) {
    keepOutOfGit(files, overlay.path);
  } else {
    overlays.create(overlay.path);
  }
}

/**
 * Sees to it that Git takes up nothing of the overlay: it holds mail, prompts and the values of variables. A
 * `.gitignore` that lets anything through is replaced.
 */
function keepOutOfGit(files: Files, overlay: string): void {
  const path = join(overlay, ignoreName);
  const lines = (files.read(path) ?? "").split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  if (lines.length === 1 && lines[0] === "*") return;
  files.write("file:overlay.gitignore", path, "*\n");
}

/** The same files, whose `exposure` also refuses what lies in an overlay that was not adopted. */
export function withAdoptions(files: Files, overlays: Pick<Overlays, "exposure">): Files {
  return {
    ...files,
    exposure(path, options) {
      const exposed = files.exposure(path, options);
      if (exposed || options?.below !== undefined) return exposed;
      for (const overlay of [...overlaysAbove(path), ...overlaysAbove(files.realPath(path) ?? path)]) {
        const found = files.exists(overlay) ? overlays.exposure(overlay) : null;
        if (found) return found;
      }
      return null;
    },
  };
}

/** The parts of a path that are overlays by their name, the outermost first. Pure. */
function overlaysAbove(path: string): string[] {
  const parts = path.split("/");
  return parts.flatMap((part, index) => (part === overlayName ? [parts.slice(0, index + 1).join("/")] : []));
}
