import { expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import {
  type RefusedSubmission,
  refusePermit,
  type SubmitOutcome,
} from "../../../src/services/agent/agent.ts";
import { createContextMaintenance } from "../../../src/services/notifier/config.ts";
import { createFakeAgent, fakePermit } from "../../support/fake-agent.ts";

const commands = { reset: "/clear", compact: "/compact" };
const never = new AbortController().signal;

function setup(
  options: { tool?: string; outcome?: SubmitOutcome | RefusedSubmission; ready?: boolean } = {},
) {
  const given: string[] = [];
  const waited: number[] = [];
  const maintenance = createContextMaintenance({
    commands,
    agent: {
      tool: options.tool ?? "codex",
      async reserve({ prompt, policy }) {
        given.push(`${policy} ${prompt}`);
        const { outcome } = options;
        if (outcome?.outcome === "refused") return refusePermit(outcome.refusal);
        return fakePermit(async () => outcome ?? { outcome: "submitted" });
      },
      terminal: {
        ...createFakeAgent().terminal,
        async waitFor(_wanted, { timeoutMs }) {
          waited.push(timeoutMs);
          return { satisfied: options.ready ?? true, waitedMs: 0, state: {} as TerminalState };
        },
      },
    },
  });
  return { maintenance, given, waited };
}

test("compaction is the tool's own command at a turn boundary, and has two minutes", async () => {
  const { maintenance, given, waited } = setup();
  expect(await maintenance.tend("compact", never)).toBeNull();
  expect([given, waited]).toEqual([["turn_boundary /compact"], [120_000]]);
});

test("a new chat is the tool's reset command, and has fifteen seconds", async () => {
  const { maintenance, given, waited } = setup({ tool: "claude" });
  expect(await maintenance.tend("new_chat", never)).toBeNull();
  expect([given, waited]).toEqual([["turn_boundary /clear"], [15_000]]);
});

test("compaction is supported for codex alone", async () => {
  expect(setup().maintenance.compactUnsupported()).toBeNull();
  const { maintenance, given } = setup({ tool: "claude" });
  expect(maintenance.compactUnsupported()).toContain("codex");
  expect([await maintenance.tend("compact", never), given]).toEqual([expect.stringContaining("compact"), []]);
});

test.each([
  {
    id: "a refusal tells its code",
    outcome: { outcome: "refused", refusal: { ready: false, code: "not_ready", detail: "busy" } },
    why: "not_ready: busy",
  },
  {
    id: "a failure tells its detail",
    outcome: { outcome: "failed", typed: false, detail: "Enter was not taken" },
    why: "Enter was not taken",
  },
] as const)("$id", async ({ outcome, why }) => {
  expect(await setup({ outcome }).maintenance.tend("compact", never)).toBe(why);
});

test("an agent that does not come back is a failure", async () => {
  expect(await setup({ ready: false }).maintenance.tend("compact", never)).toContain("did not become ready");
});
