import { describe, expect, test } from "bun:test";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { submitAtOnce } from "../../../src/services/agent/agent.ts";
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
  const interrupt = async () => (await agent.interrupt()).submit();
  return { agent, clock: composer.clock, interrupt };
}

const prompt = (policy: "turn_boundary" | "if_no_pending" | "always") => ({
  prompt: "now",
  policy,
  onEvidence: () => {},
});

test("a permit that is disposed of while it is used keeps the pane until its use has ended", async () => {
  const { agent, clock } = stubborn();
  const permit = await agent.interrupt();
  const used = permit.submit();
  permit[Symbol.dispose]();
  const next = agent.interrupt();
  let hasNext = false;
  void next.then(() => {
    hasNext = true;
  });
  await settle();
  expect(hasNext).toBe(false);
  await clock.advance(60_000);
  await used;
  await next;
  expect(hasNext).toBe(true);
  await expect(permit.submit()).rejects.toThrow();
});

test("a permit that is not used gives the pane back", async () => {
  const { agent } = stubborn();
  (await agent.interrupt())[Symbol.dispose]();
  (await agent.interrupt())[Symbol.dispose]();
});

describe("while an interrupt is being carried out", () => {
  test.each(["turn_boundary", "if_no_pending", "always"] as const)(
    "a prompt under %s is refused at once, and said why",
    async (policy) => {
      const { agent, clock, interrupt } = stubborn();
      const interrupting = interrupt();
      await settle();
      expect(await submitAtOnce(agent, prompt(policy))).toMatchObject({
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
