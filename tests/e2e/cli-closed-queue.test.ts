import { describe, expect, test } from "bun:test";
import { launched } from "../support/cli-agent.ts";
import { follow, hints } from "../support/followed-hints.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";
const queue = `${one} requests list`;

describe("a caller that is refused by a closed queue", () => {
  test("gets the exact command to open it for another instance of the agent", async () => {
    await using at = await launched();
    await at.type(`${one} prompt`, "--prompt", "SLOW 600000");
    await at.busy();
    await at.type(`${one} prompt`, "--prompt", "later");
    expect(await at.type(`${one} relaunch`)).toMatchObject({ exitCode: 0 });
    for (const command of ["gateway status", "why"]) {
      const shown = await at.type(`${one} ${command}`);
      expect([shown.exitCode, shown.stdout]).toEqual([
        0,
        expect.stringContaining(`Open it with: svc-mgr ${one} gateway reconcile`),
      ]);
    }
    const interrupted = await at.type(`${one} interrupt`);
    expect([interrupted.exitCode, hints(interrupted)]).toEqual([1, [`${one} gateway reconcile`]]);
    const told = await at.type(`${one} prompt --json`, "--prompt", "x");
    const detail = `the agent is a new instance; reconcile before new work. Open it with: svc-mgr ${one} gateway reconcile`;
    expect(told.error()).toEqual({ detail });
    const run = await at.type(`${one} prompt`, "--prompt", "x");
    expect(run.exitCode).toBe(1);
    await follow(at.fixture, run, [`${one} gateway reconcile`]);
    expect(await at.type(`${one} prompt --wait`, "--prompt", "x\nFAST")).toMatchObject({ exitCode: 0 });
  }, 120_000);

  test("never closes for a relaunch without a gateway that finds no request", async () => {
    await using at = await launched();
    expect(await at.type(`${one} prompt --wait`, "--prompt", "FAST")).toMatchObject({ exitCode: 0 });
    expect(await at.type(`${one} gateway detach`)).toMatchObject({ exitCode: 0 });
    expect(await at.type(`${one} relaunch`)).toMatchObject({ exitCode: 0 });
    expect(await at.type(`${one} gateway attach`)).toMatchObject({ exitCode: 0 });
    expect(await at.type(`${one} prompt --wait`, "--prompt", "FAST")).toMatchObject({ exitCode: 0 });

    // With one that waits it stays closed, and so it does for a program that somebody else started in the
    // pane.
    await at.type(`${one} prompt`, "--prompt", "SLOW 600000");
    await at.busy();
    await at.type(`${one} prompt`, "--prompt", "later");
    expect(await at.type(`${one} gateway detach`)).toMatchObject({ exitCode: 0 });
    expect(await at.type(`${one} relaunch`)).toMatchObject({ exitCode: 0 });
    expect(await at.type(`${one} gateway attach`)).toMatchObject({ exitCode: 0 });
    const refused = await at.type(`${one} prompt`, "--prompt", "x");
    expect([refused.exitCode, hints(refused)]).toEqual([1, [`${one} gateway reconcile`]]);
  }, 120_000);

  test("is advised to relaunch an agent whose session is gone although its gateway lives", async () => {
    await using at = await launched("--gateway-background");
    await at.tmux("new-session", "-d", "-s", "another", "sleep", "600");
    await at.tmux("kill-session", "-t", `=${at.session}`);
    await until("the gateway to see it", async () => {
      const status = await at.type(`${one} gateway status --json`);
      return status.json()["request_admission"] === "blocked_unavailable";
    });
    const run = await at.type(`${one} prompt`, "--prompt", "x");
    expect(run.exitCode).toBe(1);
    await follow(at.fixture, run, [`${one} relaunch`]);
    expect(await at.type(queue)).toMatchObject({ exitCode: 0 });
  }, 120_000);
});
