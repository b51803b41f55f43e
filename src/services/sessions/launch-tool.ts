import type { ProcessFacts } from "../../system/processes.ts";

/** What a launch must know of a tool. The composition root makes it from the tool's profile. */
export interface LaunchTool {
  tool: string;
  /** Executable (a name for PATH, or a path) and the arguments that always come first. */
  command: readonly [string, ...string[]];
  /** How to get the executable, as a sentence for a person. */
  installHint: string;
  /** True for a process that is this tool's program, and not the shell around it. */
  occupies: (process: ProcessFacts) => boolean;
  /** Variable that selects another home of the tool, or null when it has none. */
  homeVariable: string | null;
  /** Flags that skip permissions or sandboxes; null when the tool has none to add. */
  unattendedArgs: readonly string[] | null;
}
