import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { createTerminalAgent } from "../../../src/services/agent/terminal-agent.ts";
import { createExclusive } from "../../../src/system/locks.ts";
import { settle } from "../../support/fake-clock.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

/** A terminal agent whose turn does not stop, however often its key is pressed. */
function stubborn() {
  const composer = createFakeComposer({ swallows: 0 });
  const { deps } = composer;
  const working = (): TerminalState => ({
    ...deps.view.state(),
    turn: { phase: "active" },
    active_reasons: ["status_row"],
  });
  const line = createExclusive();
  const agent = createTerminalAgent({
    backend: "tmux",
    tool: "demo",
    profile: deps.profile,
    clock: deps.clock,
    view: { ...deps.view, state: working, judged: working, look: async () => working() },
    exclusivePane: { exclusive: (task) => line.run(() => task(deps.pane)), busy: line.busy },
    log: { line: () => {} },
  });
  const begin = () => {};
  return { agent, clock: composer.clock, interrupt: () => agent.interrupt({ begin }) };
}

const prompt = (policy: "turn_boundary" | "if_no_pending" | "always") => ({
  prompt: "now",
  policy,
  begin: () => {},
  onEvidence: () => {},
});

describe("while an interrupt is being carried out", () => {
  test.each(["turn_boundary", "if_no_pending", "always"] as const)(
    "a prompt under %s is refused at once, and said why",
    async (policy) => {
      const { agent, clock, interrupt } = stubborn();
      const interrupting = interrupt();
      await settle();
      expect(await agent.submit(prompt(policy))).toMatchObject({
        outcome: "refused",
        refusal: { code: "not_ready", detail: expect.stringContaining("interrupt") },
      });
      await clock.advance(60_000);
      expect(await interrupting).toMatchObject({ outcome: "failed" });
    },
  );

  test("an answer to a question that is not asked is refused at once", async () => {
    const { agent, clock, interrupt } = stubborn();
    const interrupting = interrupt();
    await settle();
    expect(await agent.decide({ option: 1 }).catch((error: unknown) => error)).toMatchObject({
      reason: "precondition_failed",
    });
    await clock.advance(60_000);
    await interrupting;
  });
});
