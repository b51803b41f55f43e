import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { renderJson } from "../../protocol/json.ts";
import { Strict } from "../../protocol/wire.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import type { Skill } from "./catalog.ts";

/** Which skills in a home are ours, by the sha256 of what we wrote. */
const OwnershipRecord = Strict({
  schema_version: Type.Literal(1),
  tool: Type.String(),
  skills: Type.Record(Type.String(), Type.String({ description: "sha256 of SKILL.md as we wrote it" })),
});

/** What we wrote into one tool's home, skill by skill: name to digest. */
export type Owned = Record<string, string>;

/** A tool's home: the folder that holds its `skills` folder. */
export interface ToolPlace {
  tool: string;
  /** Absolute. */
  home: string;
}

/**
 * How a skill of ours stands in a home. `outdated`: as an older version of ours wrote it. `edited`: we wrote it and
 * somebody changed it since. `foreign`: somebody else made it. `unreadable`: this user may not look.
 */
export type SkillState = "absent" | "current" | "outdated" | "edited" | "foreign" | "unreadable";

/** Both throw `PathRefused` for a `name` that is no single name: a record of ownership may hold any text. */
export const skillFolder = (home: string, name: string) => childPath(home, "skills", name);
export const skillPath = (home: string, name: string) => childPath(home, "skills", name, "SKILL.md");

const recordFolders = [".svc", "system-skills"] as const;

/** Where the record of ownership of a place lies. */
export function recordPath({ tool, home }: ToolPlace): string {
  return childPath(home, ...recordFolders, tool, "svc-skill-config.json");
}

/**
 * Empty when there is no record, or none of ours: then nothing there counts as ours. Throws as `refuseUnreadable`.
 */
export function readOwned(files: Files, place: ToolPlace): Owned {
  try {
    const record: unknown = JSON.parse(files.readOwn(recordPath(place)) ?? "null");
    if (!Value.Check(OwnershipRecord, record)) return {};
    return Object.fromEntries(Object.entries(record.skills).filter(([name]) => isOneName(name)));
  } catch (error) {
    refuseUnreadable(error, place.home);
    return {};
  }
}

/** Throws `precondition_failed` where `error` says that this user may not look, since nothing is known then. */
function refuseUnreadable(error: unknown, home: string): void {
  const fault = storageFaultOf(error);
  if (fault?.fault !== "unreadable" && fault?.fault !== "forbidden") return;
  throw new ServiceError(
    "precondition_failed",
    `${home} cannot be read by this user (${fault.code}). Make it readable, or name another home with --home`,
    { cause: error },
  );
}

/** Writes the record, or removes it and the folder that only it needed when nothing is ours any more. */
export function writeOwned(files: Files, place: ToolPlace, owned: Owned): void {
  const { home, tool } = place;
  const folder = files.contained(home, [...recordFolders, tool], "folder");
  const path = files.contained(home, [...recordFolders, tool, "svc-skill-config.json"]);
  if (Object.keys(owned).length === 0) {
    files.remove("file:skill-record", folder);
    for (const above of [recordFolders, recordFolders.slice(0, 1)]) {
      const parent = files.contained(home, above, "folder");
      if (files.list(parent).length === 0) files.remove("file:skill-record", parent);
    }
    return;
  }
  files.ensureDirectory("file:skill-record", folder);
  files.write("file:skill-record", path, renderJson({ schema_version: 1, tool: place.tool, skills: owned }));
}

/**
 * `written`: the digest of what we wrote there, if we did; `text`: what this version would write. Throws as
 * `refuseUnreadable`.
 */
export function stateOf(
  files: Files,
  home: string,
  { name, text, written }: { name: string; text: string | null; written: string | undefined },
): Exclude<SkillState, "unreadable"> {
  const folder = skillFolder(home, name);
  let found: string | null;
  if (files.isLink(skillPath(home, name))) return "foreign";
  try {
    found = files.read(skillPath(home, name));
  } catch (error) {
    refuseUnreadable(error, home);
    // A file where the folder should be, or a folder where the file should be.
    return "foreign";
  }
  if (found === null) {
    const present = files.exists(folder) || files.isLink(folder);
    return present && written === undefined ? "foreign" : "absent";
  }
  if (found === text) return "current";
  if (written === undefined) return "foreign";
  return digest(found) === written ? "outdated" : "edited";
}

/** The state of each of `skills` in a place, in order. */
export function skillStates(
  files: Files,
  place: ToolPlace,
  skills: readonly Skill[],
): { name: string; state: SkillState }[] {
  try {
    const owned = readOwned(files, place);
    return skills.map(({ name, text }) => ({
      name,
      state: stateOf(files, place.home, { name, text, written: owned[name] }),
    }));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return skills.map(({ name }) => ({ name, state: "unreadable" }));
  }
}

export function digest(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
