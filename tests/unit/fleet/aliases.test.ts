import { describe, expect, test } from "bun:test";
import { aliasesOf, chooseAgent, type Named } from "../../../src/services/fleet/directory.ts";
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

describe("which agent is selected", () => {
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

  const bob = (facts: Partial<Named>) => agent({ ...facts, tracked_agent_id: facts.agent_id ?? "x" });
  test.each([
    {
      id: "both run",
      among: [bob({ agent_id: "bob", agent_name: "alice" }), bob({ agent_id: "x", agent_name: "bob" })],
    },
    {
      id: "the named one was stopped",
      among: [
        bob({ agent_id: "bob", agent_name: "alice" }),
        bob({ agent_id: "x", agent_name: "bob", lifecycle_state: "stopped" }),
      ],
    },
    {
      id: "the one with the id is also named so",
      among: [bob({ agent_id: "bob", agent_name: "bob" }), bob({ agent_id: "x", agent_name: "bob" })],
    },
    {
      id: "a name without its SVC-",
      among: [bob({ agent_id: "bob", agent_name: "alice" }), bob({ agent_id: "x", agent_name: "SVC-bob" })],
    },
    {
      id: "the session of one is the name of another",
      among: [
        agent({ tracked_agent_id: "x", agent_id: "x", agent_name: "bob" }),
        agent({ tracked_agent_id: "y", agent_id: "y", session_name: "bob" }),
      ],
      want: ["x", "y"],
    },
  ])(
    "an id of one agent that is the name of another means neither: $id",
    ({ among, want = ["bob", "x"] }) => {
      expect(refusal(among, "bob")).toEqual({ reason: "ambiguous", ids: want } as unknown);
      expect(refusal([...among].reverse(), "bob")).toEqual({ reason: "ambiguous", ids: want } as unknown);
    },
  );

  test("an agent whose name is its own id is selected by it", () => {
    expect(refusal([bob({ agent_id: "bob", agent_name: "bob" })], "bob")).toBe("bob");
  });

  test("the refusal says how each is reached", () => {
    const among = [
      bob({ agent_id: "bob", agent_name: "alice", runtime_session_id: "session-a" }),
      bob({ agent_id: "x", agent_name: "bob", runtime_session_id: "session-b" }),
    ];
    expect(() => chooseAgent(among, "bob")).toThrow(
      '"alice" with the id bob, reached as session-a; "bob" with the id x, reached as session-b',
    );
  });
});
