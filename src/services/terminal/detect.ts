import type { Signals } from "./detect/signals.ts";
import type { Observation } from "./observation.ts";
import type { CompiledProfile } from "./profile.ts";

/**
 * Reads one observation by the rules of one profile. `profile` null (a tool that nothing describes) and a pane
 * without the tool's process read unknown. When unsure a value is `unknown`, never a guess. Pure, never throws.
 * Source: spec/terminal.md 2.1, 5.
 */
export declare function detect(observation: Observation, profile: CompiledProfile | null): Signals;
