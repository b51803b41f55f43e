import type { Labels } from "../../unit/terminal/corpus.ts";

/** What a person sees in a screen, in the words of the corpus: what a step says of the frame it records. */
export const reads = {
  /** An empty composer that takes input. `banner`: what the last rows say of the newest turn. */
  ready: (banner: "none" | "interrupted" | "known_failure" = "none"): Labels => ({
    ...composer,
    ready_posture: "yes",
    phase: "ready",
    business_state: "idle",
    last_turn: banner,
  }),
  draft: (draft: string): Labels => ({
    ...composer,
    editing_input: "yes",
    ready_posture: "no",
    phase: "unknown",
    business_state: "idle",
    draft,
  }),
  /** An empty composer whose text would be a command of a shell. */
  shellMode: (): Labels => ({
    ...nothing,
    accepting_input: "no",
    editing_input: "yes",
    ready_posture: "no",
    business_state: "idle",
  }),
  /** A turn runs and nothing is held behind it. */
  busy: (): Labels => ({ ...composer, ready_posture: "no", phase: "active", business_state: "working" }),
  /** A turn runs and the tool holds input behind it. */
  pending: (): Labels => ({
    ...composer,
    ready_posture: "no",
    pending_input: "yes",
    phase: "active",
    business_state: "working",
  }),
  asking: (decision: NonNullable<Labels["decision"]>): Labels => ({
    ...nothing,
    accepting_input: "no",
    editing_input: "no",
    business_state: "awaiting_operator",
    decision,
  }),
  /** The tool's program has ended; whatever stands on the screen says nothing. */
  gone: (): Labels => ({ ...nothing, business_state: null }),
};

const nothing: Labels = {
  accepting_input: "unknown",
  editing_input: "unknown",
  ready_posture: "unknown",
  pending_input: "unknown",
  phase: "unknown",
  business_state: "unknown",
  draft: "",
  last_turn: "none",
  decision: null,
};

const composer: Labels = { ...nothing, accepting_input: "yes", editing_input: "no", pending_input: "no" };
