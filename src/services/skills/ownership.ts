import { isAbsolute, join } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { renderJson } from "../../protocol/json.ts";
import { Strict } from "../../protocol/wire.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import type { Skill } from "./catalog.ts";

/** Tools whose skills we install; `universal` is the folder that several of them read. */
export const skillTools = ["claude", "codex", "gemini", "opencode", "kimi", "copilot", "universal"] as const;
export type SkillTool = (typeof skillTools)[number];

/** Where a person and a session are, as absolute paths. */
export interface HomeFacts {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  home: string;
}

interface ToolHome {
  /** The variable by which the tool is given another home. */
  variable: string | null;
  /** What the variable names stands for the person's whole home. */
  wholeHome?: true;
  /** Its folder in a project. */
  folder: string;
  /** Its folder in the person's home, where it is not named like that in a project. */
  ofPerson?: string;
  /** Folders of others that it reads too, in a project and in the person's home. */
  also: readonly string[];
}

const shared = ".agents";

/** Measured with the versions of the lab; kimi and copilot by their documentation. */
const homes: Readonly<Record<Exclude<SkillTool, "universal">, ToolHome>> = {
  claude: { variable: "CLAUDE_CONFIG_DIR", folder: ".claude", also: [] },
  codex: { variable: "CODEX_HOME", folder: ".codex", also: [shared] },
  gemini: { variable: "GEMINI_CLI_HOME", wholeHome: true, folder: ".gemini", also: [shared] },
  opencode: {
    variable: "OPENCODE_CONFIG_DIR",
    folder: ".opencode",
    ofPerson: ".config/opencode",
    also: [".opencode", ".claude", shared],
  },
  kimi: { variable: "KIMI_CODE_HOME", folder: ".kimi-code", also: [shared] },
  copilot: { variable: "COPILOT_HOME", folder: ".github", ofPerson: ".copilot", also: [shared] },
};

/**
 * The folder that holds the `skills` folder of a tool: the one that was named, else the tool's own variable,
 * else its folder in `cwd`; for `universal` `.agents` of the person. Throws `invalid_request` for a variable
 * that is not an absolute path. Source: spec/mailbox-agui.md D.
 */
export function skillHome(tool: SkillTool, facts: HomeFacts & { named: string | null }): string {
  if (facts.named !== null) return facts.named;
  if (tool === "universal") return join(facts.home, shared);
  const { variable, wholeHome = false, folder } = homes[tool];
  const value = variable === null ? undefined : facts.env[variable];
  if (value === undefined || value === "") return join(facts.cwd, folder);
  if (isAbsolute(value)) return wholeHome ? join(value, folder) : value;
  throw new ServiceError("invalid_request", `${variable} must be an absolute path, not "${value}"`);
}

/**
 * Every folder whose `skills` a tool reads when it runs in `cwd`, each once: its home first. A tool that we
 * know nothing of is taken to read its own dot-folder and the shared one. Never throws: a variable that is no
 * absolute path names nothing.
 */
export function readHomes(tool: string, { env, cwd, home }: HomeFacts): string[] {
  if (tool === "universal") return [join(home, shared)];
  const known = Object.hasOwn(homes, tool) ? homes[tool as keyof typeof homes] : null;
  const { variable, wholeHome = false, folder, ofPerson = folder, also } = known ?? unknownHome(tool);
  const value = variable === null ? undefined : env[variable];
  const chosen = value !== undefined && isAbsolute(value) ? value : null;
  const person = wholeHome && chosen !== null ? chosen : home;
  const own = wholeHome || chosen === null ? join(person, ofPerson) : chosen;
  const others = also.flatMap((name) => [join(person, name), join(cwd, name)]);
  return [...new Set([own, join(cwd, folder), ...others])];
}

/**
 * The folders of a tool alone, in the person's home and in the project: where its skills are looked for by
 * default.
 */
export function ownHomes(tool: SkillTool, facts: HomeFacts): string[] {
  return readHomes(tool, facts).slice(0, 2);
}

const unknownHome = (tool: string): ToolHome => ({ variable: null, folder: `.${tool}`, also: [shared] });

/** Which skills in a home are ours, by the sha256 of what we wrote. */
const OwnershipRecord = Strict({
  schema_version: Type.Literal(1),
  tool: Type.String(),
  skills: Type.Record(Type.String(), Type.String({ description: "sha256 of SKILL.md as we wrote it" })),
});

/** What we wrote into one tool's home, skill by skill: name to digest. */
type Owned = Record<string, string>;

/** A tool's home: the folder that holds its `skills` folder. */
export interface ToolPlace {
  tool: string;
  /** Absolute. */
  home: string;
}

/**
 * The state of a skill of ours in a home. `outdated`: as an older version of ours wrote it. `edited`: we
 * wrote it and somebody changed it since. `foreign`: somebody else made it. `unreadable`: this user may not
 * look.
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
 * Empty when there is no record, or none of ours: then nothing there counts as ours. Throws as
 * `refuseUnreadable`.
 */
export function readOwned(files: Files, place: ToolPlace): Owned {
  try {
    const record: unknown = JSON.parse(files.read(recordPath(place)) ?? "null");
    if (!Value.Check(OwnershipRecord, record)) return {};
    return Object.fromEntries(Object.entries(record.skills).filter(([name]) => isOneName(name)));
  } catch (error) {
    refuseUnreadable(error, place.home);
    return {};
  }
}

/**
 * Throws `precondition_failed` where `error` says that this user may not look, since nothing is known then.
 */
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
    found = files.read(skillPath(home, name), { owner: "anyone" });
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
