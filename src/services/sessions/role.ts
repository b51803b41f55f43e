import type { Manifest } from "../../protocol/files.ts";
import { sha256 } from "../../system/digest.ts";
import { ServiceError } from "../../system/errors.ts";

/** The text that an agent gets before anything else. */
export interface Role {
  name: string;
  text: string;
}

/**
 * Arguments that give a terminal agent its role for good, as the tools' own flags do it. Pure. Throws `unsupported` for
 * a tool that has none: typing the text would make it a prompt.
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
