import type { HeadlessProvider } from "./provider.ts";

const providers: readonly HeadlessProvider[] = [];

/** How `tool` is driven without a terminal, or null when it cannot be. */
export function headlessProvider(tool: string): HeadlessProvider | null {
  return providers.find((one) => one.tool === tool) ?? null;
}
