import { describe, expect, test } from "bun:test";
import { type SubmitPolicy, submitAtOnce } from "../../../src/services/agent/agent.ts";
import { createTerminalAgent } from "../../../src/services/agent/terminal-agent.ts";
import { createFakeComposer } from "../../support/fake-composer.ts";

/** Gives "do it" to a tool whose first Enter is swallowed while a person types behind it. */
function submitBeside(policy: SubmitPolicy) {
  const composer = createFakeComposer({ swallows: 1, afterEnter: " and" });
  const { deps } = composer;
  const agent = createTerminalAgent({
    backend: "tmux",
    tool: "demo",
    profile: deps.profile,
    view: deps.view,
    clock: deps.clock,
    exclusivePane: { exclusive: (task) => task(deps.pane), busy: () => false },
    log: { line: () => {} },
  });
  const outcome = submitAtOnce(agent, {
    prompt: "do it",
    policy,
    requestId: "request-1",
    onEvidence: () => {},
  });
  return { ...composer, outcome };
}

describe.each(["turn_boundary", "if_no_pending", "always"] as const)("under %s", (policy) => {
  test("the words of a person that are again are not submitted with the second attempt", async () => {
    const { clock, outcome, pressed, draft } = submitBeside(policy);
    await clock.advance(60_000);
    expect(await outcome).toMatchObject({ outcome: "failed", disturbed: true });
    expect({ pressed, draft: draft() }).toEqual({ pressed: ["Enter", "C-u", "and"], draft: "and" });
  });

  test("the second attempt is made once the person's words have gone", async () => {
    const { clock, outcome, pressed, clearByHand } = submitBeside(policy);
    await clock.advance(10_000);
    clearByHand();
    await clock.advance(10_000);
    expect(await outcome).toMatchObject({ outcome: "submitted" });
    expect(pressed).toEqual(["Enter", "C-u", "and", "Enter"]);
  });
});
