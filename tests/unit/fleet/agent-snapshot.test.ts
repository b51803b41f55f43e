import { describe, expect, test } from "bun:test";
import { describeProblem } from "../../../src/services/fleet/agent-snapshot.ts";

type Facts = Parameters<typeof describeProblem>[0];

const words = "svc-mgr agents single --agent-name bob";
const stuck = { kind: "stuck", message: "not ready since noon: ready_posture=unknown", details: {} };
const working: Facts = {
  record: {
    agent_name: "bob",
    lifecycle: { state: "active", relaunchable: true } as Facts["record"]["lifecycle"],
  },
  gone: false,
  status: { gateway_health: "healthy", managed_agent_recovery: "idle" },
  state: { availability: "available", diagnostics: [] },
};

describe("what keeps an agent from working", () => {
  const cases: { id: string; given: Partial<Facts>; want: string | null }[] = [
    { id: "nothing", given: {}, want: null },
    {
      id: "a tmux session that is gone",
      given: { gone: true },
      want: `its tmux session is gone. Start it again with: ${words} relaunch`,
    },
    {
      id: "a block of its queue, before a screen that stands still",
      given: {
        status: { ...working.status, admission_block: { reason: "disk_full", detail: "the disk is full" } },
        state: { availability: "available", diagnostics: [stuck] },
      },
      want: "the disk is full",
    },
    {
      id: "a screen that stands still and is not ready",
      given: { state: { availability: "available", diagnostics: [stuck] } },
      want: `it is stuck: ${stuck.message}. See why with: ${words} gateway tui explain`,
    },
    {
      id: "another diagnostic, which is no problem",
      given: {
        state: { availability: "available", diagnostics: [{ ...stuck, kind: "unproved_tool_version" }] },
      },
      want: null,
    },
    {
      id: "a program that has ended, without a gateway",
      given: {
        status: { ...working.status, gateway_health: "not_attached" },
        state: { availability: "unavailable", diagnostics: [] },
      },
      want: `its program has ended. Start it again with: ${words} relaunch`,
    },
  ];
  test.each(cases)("is $id", ({ given, want }) => {
    expect(describeProblem({ ...working, ...given })).toBe(want);
  });
});
