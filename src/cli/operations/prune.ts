import {
  findUnreferenced,
  removeUnreferenced,
  type UnreferencedSession,
} from "../../services/fleet/unreferenced.ts";
import { openCliContext } from "../command-line/cli-context.ts";
import type { Caller } from "../command-line/command.ts";

/** Session folders that no record refers to: those that can be removed, and those that something may use. */
export interface Unreferenced {
  removable: UnreferencedSession[];
  kept: UnreferencedSession[];
}

export async function listUnreferenced({ io, inherited }: Caller): Promise<Unreferenced> {
  const found = await findUnreferenced(openCliContext(io, inherited));
  return {
    removable: found.filter(({ inUse }) => inUse === null),
    kept: found.filter(({ inUse }) => inUse !== null),
  };
}

/** Looks again first: what something uses by now stays. Returns what was removed. */
export async function pruneUnreferenced(
  caller: Caller,
  wanted: readonly UnreferencedSession[],
): Promise<UnreferencedSession[]> {
  const context = openCliContext(caller.io, caller.inherited);
  const { removable } = await listUnreferenced(caller);
  const roots = new Set(wanted.map(({ sessionRoot }) => sessionRoot));
  return removable.filter((one) => roots.has(one.sessionRoot) && removeUnreferenced(context, one));
}
