import type { Manifest } from "../../protocol/files.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";

/**
 * Which conversation of the tool a launch goes on with (contract 3.5; spec/coordination.md "Stop, relaunch").
 */
export type Resume = { mode: "new" } | { mode: "tool_last_or_new" } | { mode: "exact"; id: string };

/** Arguments that resume, put after all others: for codex they begin with a subcommand. */
const tools: Readonly<Record<string, { last: readonly string[]; exact: (id: string) => string[] }>> = {
  claude: { last: ["--continue"], exact: (id) => ["--resume", id] },
  codex: { last: ["resume", "--last"], exact: (id) => ["resume", id] },
  gemini: { last: ["--resume", "latest"], exact: (id) => ["--resume", id] },
  kimi: { last: ["--continue"], exact: (id) => ["--session", id] },
  opencode: { last: ["--continue"], exact: (id) => ["--session", id] },
};

/** Whether a launch of the tool can go on with an earlier conversation. Pure. */
export const canResume = (tool: string): boolean => Object.hasOwn(tools, tool);

/**
 * Pure. Throws `unsupported` for a tool that is not known to resume. Source: spec/coordination.md "Chat
 * sessions".
 */
export function resumeArguments(tool: string, resume: Resume): string[] {
  if (resume.mode === "new") return [];
  const known = Object.hasOwn(tools, tool) ? tools[tool] : undefined;
  if (!known) throw new ServiceError("unsupported", `${tool} is not known to resume a conversation`);
  return resume.mode === "exact" ? known.exact(resume.id) : [...known.last];
}

/**
 * What a person asked for. `id` belongs to `exact` only, and cannot be taken for a flag. Throws
 * `invalid_request`. Pure.
 */
export function parseResume(mode: Resume["mode"], id: string | undefined): Resume {
  if (mode !== "exact") {
    if (id === undefined) return { mode };
    throw new ServiceError("invalid_request", `a chat session id belongs to mode exact, not ${mode}`);
  }
  if (id !== undefined && /^[^-\s]\S*$/.test(id)) return { mode, id };
  throw new ServiceError("invalid_request", "mode exact needs the id of a chat session, without blanks");
}

/** The text that an agent gets before anything else. */
export interface Role {
  name: string;
  text: string;
}

/**
 * Arguments that give a terminal agent its role for good, as the tools' own flags do it. Pure. Throws
 * `unsupported` for a tool that has none: typing the text would make it a prompt.
 */
export function roleArguments(tool: string, { text }: Role): string[] {
  switch (tool) {
    case "claude":
      return ["--append-system-prompt", text];
    case "codex":
      return [`--config=developer_instructions=${JSON.stringify(text)}`];
    default:
      throw new ServiceError(
        "unsupported",
        `${tool} takes no role in a terminal; write it into the file that it reads by itself, or launch it --headless`,
      );
  }
}

/** The manifest of an agent with a role: turns of a headless one begin with it. Pure. */
export function withRole(manifest: Manifest, { name, text }: Role, source: string): Manifest {
  return {
    ...manifest,
    role_name: name,
    system_prompt: {
      format: "text",
      role_name: name,
      text,
      sha256: sha256(text),
      source,
    },
  };
}
