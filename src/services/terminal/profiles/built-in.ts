import type { ToolProfile } from "../../../protocol/tool-profile.ts";
import { claudeProfile } from "./claude.ts";
import { codexProfile } from "./codex.ts";
import { demoProfile } from "./demo.ts";
import { geminiProfile } from "./gemini.ts";
import { kimiProfile } from "./kimi.ts";
import { opencodeProfile } from "./opencode.ts";

export const builtInProfiles: readonly ToolProfile[] = [
  demoProfile,
  claudeProfile,
  codexProfile,
  geminiProfile,
  opencodeProfile,
  kimiProfile,
];
