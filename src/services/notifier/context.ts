import type { Agent } from "../agent/agent.ts";
import type { BeforeWake } from "./decide.ts";

/** How the agent's context is tended before a wake-up. */
export interface ContextTending {
  /** Why `compact` cannot be done with this agent, or null. */
  compactUnsupported(): string | null;
  /**
   * Gives the agent its tool's own command and waits until it can begin a turn again, or until `signal` aborts. Null
   * when it can, else why not. Never rejects.
   */
  tend(action: BeforeWake, signal: AbortSignal): Promise<string | null>;
}

/** A compaction is a turn of the model; a reset is not. */
const waitMs: Record<BeforeWake, number> = { compact: 120_000, new_chat: 15_000 };

/** Where compaction before a wake-up was proved; anything else is reported unsupported (contract 2.6). */
const compactTools: readonly string[] = ["codex"];

/** `commands`: of the tool's profile, null without one. */
export function createContextTending(deps: {
  agent: Pick<Agent, "tool" | "tracked" | "submit" | "waitFor">;
  commands: { reset: string; compact: string | null } | null;
}): ContextTending {
  const { agent, commands } = deps;
  const compactCommand = compactTools.includes(agent.tool) ? (commands?.compact ?? null) : null;

  return {
    compactUnsupported: () =>
      agent.tracked && compactCommand !== null
        ? null
        : `pre_notification_context_action=compact needs a terminal agent of ${compactTools.join(" or ")}`,
    async tend(action, signal) {
      const prompt = action === "compact" ? compactCommand : (commands?.reset ?? null);
      if (prompt === null) return `this tool has no known command for ${action}`;
      const outcome = await agent.submit({
        prompt,
        policy: "turn_boundary",
        begin: () => {},
        onEvidence: () => {},
      });
      if (outcome.outcome === "refused") return `${outcome.refusal.code}: ${outcome.refusal.detail}`;
      if (outcome.outcome === "failed") return outcome.detail;
      const ready = await agent.waitFor("ready", { timeoutMs: waitMs[action], signal });
      return ready?.satisfied ? null : `${prompt} was given, but the agent did not become ready after it`;
    },
  };
}
