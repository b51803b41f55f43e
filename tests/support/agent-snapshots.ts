import type { AttentionFacts } from "../../src/services/fleet/attention-facts.ts";
import type { AgentSnapshot } from "../../src/services/fleet/fleet-list.ts";

/**
 * What a ready agent of the demo tool looks like in a list; `attention`: what differs from one that needs
 * nobody.
 */
export function agentSnapshot(
  name: string,
  {
    attention = {},
    ...change
  }: Partial<Omit<AgentSnapshot, "attention">> & { attention?: Partial<AttentionFacts> } = {},
): AgentSnapshot {
  const id = `id-${name}`;
  return {
    record: {
      agent_name: name,
      agent_id: id,
      identity: { tool: "demo", backend: "local_interactive" },
      lifecycle: { state: "active" },
      terminal: {},
      runtime: { manifest_path: "/m" },
    } as unknown as AgentSnapshot["record"],
    state: agentState("ready"),
    gone: false,
    answered: true,
    turnSinceUtc: null,
    gatewayBaseUrl: "http://127.0.0.1:12345",
    workingDirectory: "/project",
    queueDepth: 0,
    unreadMail: null,
    problem: null,
    attention: {
      agent: { id, name, trackedId: id, generation: "instance-1" },
      relaunch: "possible",
      attachLine: `tmux attach -t '=SVC-${name}-1'`,
      unusable: null,
      session: "alive",
      programEnded: null,
      gateway: { state: "live", why: "" },
      epoch: 3,
      block: null,
      unreconciled: false,
      queueDepth: 0,
      decision: null,
      screenRows: [],
      parked: null,
      draft: null,
      stuck: null,
      failed: [],
      wakesHeld: null,
      budget: null,
      ...attention,
    },
    ...change,
  };
}

/** Of an agent in this phase. */
export const agentState = (phase: "ready" | "active" | "unknown") =>
  ({
    availability: "available",
    turn: { phase },
    last_turn: { result: "none", updated_at_utc: null },
  }) as unknown as NonNullable<AgentSnapshot["state"]>;

/** A question with these options, asked at `sinceUtc`. */
export const question = (
  text: string,
  options: readonly string[] = ["Yes", "No"],
  sinceUtc = "2026-01-01T00:00:00.000+00:00",
): NonNullable<AttentionFacts["decision"]> => ({
  kind: "selection_menu",
  question: text,
  id: `question-${text}`,
  since_utc: sinceUtc,
  options: options.map((option, index) => ({ index: index + 1, text: option, selected: index === 0 })),
});
