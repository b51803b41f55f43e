import { UsageError } from "./command.ts";

/** The id that a command line gives: an empty one would name the folder of all in the gateway's address. */
export function readId(given: string | undefined, path: readonly string[]): string {
  const id = given?.trim() ?? "";
  if (id === "") throw new UsageError("<id> is empty", path);
  return id;
}
