import { coordinatorCommands } from "./coordinator-commands.ts";
import { runProgram } from "./dispatch.ts";
import { createProcessIo } from "./process-io.ts";
import { programVersion } from "./version.ts";

/** The program `svc-coord`; `argv` without the program's name. Resolves with the exit code. */
export function runCoordinator(argv: readonly string[]): Promise<number> {
  return runProgram(coordinatorCommands, programVersion, argv, createProcessIo());
}
