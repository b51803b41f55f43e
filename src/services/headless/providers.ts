import type { HeadlessProvider } from "./provider.ts";
import { acpProvider } from "./providers/acp.ts";
import { claude } from "./providers/claude.ts";
import { codex } from "./providers/codex.ts";
import { demo } from "./providers/demo.ts";
import { gemini } from "./providers/gemini.ts";
import { kimi } from "./providers/kimi.ts";
import { opencode } from "./providers/opencode.ts";

const providers: readonly HeadlessProvider[] = [claude, codex, gemini, opencode, kimi, demo];

/** How `tool` is driven without a terminal, or null when it cannot be. */
export function headlessProvider(tool: string): HeadlessProvider | null {
  return providers.find((one) => one.tool === tool) ?? acpProvider(tool);
}
