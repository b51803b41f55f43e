import { bridges } from "./bridges.ts";
import { console } from "./console.ts";
import type { Extension, GatewayExtension } from "./extension.ts";
import { observe } from "./observe.ts";

/** All extensions, in the order in which each is asked for what it adds. */
export const extensions: readonly Extension[] = [bridges, observe, console];

/** Loads what extensions add to a program that watches agents; the result makes it for one agent. */
export async function loadGatewayExtensions(): Promise<() => readonly GatewayExtension[]> {
  const create = await Promise.all(extensions.flatMap(({ gateway }) => gateway?.() ?? []));
  return () => create.map((createExtension) => createExtension());
}
