import { describe, expect, test } from "bun:test";
import { aliasesOf, chooseAgent, type Named } from "../../../src/services/fleet/aliases.ts";
import { ServiceError } from "../../../src/system/errors.ts";

const agent = (facts: Partial<Named> = {}) => ({
  identity: {
    tracked_agent_id: "id-1",
    transport: "tui",
    terminal_id: "session-1",
    session_name: "SVC-worker-17",
    runtime_session_id: "session-1",
    agent_name: "worker",
    agent_id: "id-1",
    lifecycle_state: "active",
    ...facts,
  } satisfies Named,
});

const refusal = (candidates: readonly ReturnType<typeof agent>[], ref: string): unknown => {
  try {
    return chooseAgent(candidates, ref).identity.tracked_agent_id;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { reason: error.reason, ids: error.data?.["agent_ids"] };
  }
};

describe("what an agent is called by", () => {
  test.each([
    {
      id: "a terminal agent",
      facts: {},
      want: ["id-1", "session-1", "SVC-worker-17", "worker", "SVC-worker"],
    },
    {
      id: "a name that begins with SVC- is also one without",
      facts: { agent_name: "SVC-worker" },
      want: ["id-1", "session-1", "SVC-worker-17", "SVC-worker", "worker"],
    },
    {
      id: "a headless agent has no terminal and no session name",
      facts: { transport: "headless" as const, tracked_agent_id: "session-1" },
      want: ["session-1", "worker", "SVC-worker", "id-1"],
    },
    {
      id: "what is unknown is no alias",
      facts: { terminal_id: null, session_name: "", runtime_session_id: null, agent_name: null },
      want: ["id-1"],
    },
  ])("$id", ({ facts, want }) => {
    expect(aliasesOf(agent(facts).identity)).toEqual([...want]);
  });
});

describe("which agent is meant", () => {
  const running = agent({ tracked_agent_id: "a", agent_id: "a" });
  const other = agent({ tracked_agent_id: "b", agent_id: "b" });
  const stopped = agent({ tracked_agent_id: "c", agent_id: "c", lifecycle_state: "stopped" });
  const relaunching = agent({ tracked_agent_id: "d", agent_id: "d", lifecycle_state: "relaunching" });

  test.each([
    { id: "the only one", among: [stopped], want: "c" },
    { id: "one that runs before one that was stopped", among: [stopped, running], want: "a" },
    { id: "one that is being launched again runs", among: [stopped, relaunching], want: "d" },
    {
      id: "two that run are told as candidates, and no stopped one",
      among: [other, stopped, running],
      want: { reason: "ambiguous", ids: ["a", "b"] },
    },
    {
      id: "two that were stopped are told as candidates",
      among: [stopped, { identity: { ...stopped.identity, tracked_agent_id: "e", agent_id: "e" } }],
      want: { reason: "ambiguous", ids: ["c", "e"] },
    },
    { id: "none", among: [], want: { reason: "not_found", ids: undefined } },
  ])("$id", ({ among, want }) => {
    expect(refusal(among, "worker")).toEqual(want as unknown);
  });

  test("an agent tracked under the word wins over those that only are called so", () => {
    const called = agent({ tracked_agent_id: "x", agent_name: "c" });
    expect(refusal([called, stopped], "c")).toBe("c");
  });
});
