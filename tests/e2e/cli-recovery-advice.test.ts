import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { follow, hints } from "../support/followed-hints.ts";
import { launchHeadless } from "../support/headless-fixture.ts";
import { until } from "../support/until.ts";

const one = "agents single --agent-name worker";
const live = `${one} gateway reminders list`;

/** A gateway that is started and serves nobody leaves this behind. */
const isClaimed = (at: Pick<CliAgent, "sessionRoot">) =>
  existsSync(join(at.sessionRoot, "gateway", "run", "current-instance.json"));

describe("a caller that asks for an agent that was stopped", () => {
  test("is advised to relaunch it, by every command and with and without a window", async () => {
    await using at = await launched("--gateway-background");
    await at.type(`${one} stop`);
    const prompted = await at.type(`${one} prompt --json`, "--prompt", "x");
    expect(prompted.exitCode).toBe(3);
    const detail = `no healthy gateway serves "worker" (no gateway runs for this agent). It was stopped. Start it again with: svc-mgr ${one} relaunch`;
    expect(prompted.error()).toEqual({ error: "unreachable", detail });
    for (const line of [
      `${one} interrupt`,
      live,
      `${one} gateway attach`,
      `${one} gateway attach --window`,
    ]) {
      const run = await at.type(line);
      expect([run.exitCode, hints(run)]).toEqual([3, [`${one} relaunch`]]);
    }
    expect(isClaimed(at)).toBe(false);
    await follow(at.fixture, prompted, [`${one} relaunch`]);
    expect(await at.type(live)).toMatchObject({ exitCode: 0 });
  }, 120_000);

  test("is shown so of a headless one too, which then takes prompts", async () => {
    await using at = await launchHeadless();
    await at.mgr("stop");
    const run = await at.mgr("prompt", "--prompt", "x");
    expect(run.exitCode).toBe(3);
    await follow(at.fixture, run, ["agents single --agent-name batch relaunch"]);
    expect(await at.mgr("prompt", "--wait", "--prompt", "x")).toMatchObject({ exitCode: 0 });
  }, 120_000);

  test("is advised to join it again where nobody knows how it was started", async () => {
    await using fixture = createCliFixture();
    const demo = [...fixture.command("svc-gateway"), "demo-agent"];
    await fixture.startSession("work", ["sh", "-c", `${demo.join(" ")}; exec sleep 600`]);
    const pane = await fixture.tmux("display-message", "-p", "-t", "=work:0.0", "#{pane_id}");
    const inside = {
      env: { ...fixture.env, TMUX: `${fixture.socket},1,0`, TMUX_PANE: pane, SVC_TMUX_SOCKET: "" },
    };
    const join = "agents self join --agent-name worker";
    await until(
      "it to be joined",
      async () => (await fixture.run("svc-mgr", join.split(" "), inside)).exitCode === 0,
    );
    await fixture.mgr(...one.split(" "), "stop");
    const run = await fixture.mgr(...live.split(" "));
    expect(run.exitCode).toBe(3);
    await fixture.tmux("respawn-pane", "-k", "-t", pane, "--", ...demo);
    await until(
      "its program",
      async () => (await fixture.tmux("capture-pane", "-p", "-t", pane)).trim() !== "",
    );
    await follow(fixture, run, [join], inside);
    expect(await fixture.mgr(...live.split(" "))).toMatchObject({ exitCode: 0 });
  }, 120_000);
});

test("a caller that asks for an agent whose tmux session is gone is advised to relaunch it", async () => {
  await using at = await launched();
  const pid = at.gatewayPid();
  await at.tmux("kill-session", "-t", `=${at.session}`);
  await until("its gateway's end", () => !at.fixture.alive(pid));
  for (const line of [`${one} gateway attach`, `${one} gateway attach --background`]) {
    const run = await at.type(line);
    expect([run.exitCode, hints(run)]).toEqual([3, [`${one} relaunch`]]);
  }
  const run = await at.type(live);
  expect(run.exitCode).toBe(3);
  expect(run.stderr).toContain("Its tmux session is gone");
  await follow(at.fixture, run, [`${one} relaunch`]);
  expect(await at.type(live)).toMatchObject({ exitCode: 0 });
}, 120_000);

describe("a caller that finds no gateway that answers", () => {
  test("is advised to start one where it was killed", async () => {
    await using at = await launched();
    const pid = at.gatewayPid();
    at.fixture.kill(pid);
    await until("the gateway's end", () => !at.fixture.alive(pid));
    const run = await at.type(live);
    expect(run.exitCode).toBe(3);
    await follow(at.fixture, run, [`${one} gateway attach`]);
    expect(await at.type(live)).toMatchObject({ exitCode: 0 });
  }, 120_000);

  // tmux wakes what is stopped in its panes, so only one without a window stays frozen.
  test("is advised to end it first where it is frozen", async () => {
    await using at = await launched("--gateway-background");
    const pid = at.gatewayPid();
    process.kill(pid, "SIGSTOP");
    const steps = [`${one} gateway detach`, `${one} gateway attach`];
    const [run, tried] = await Promise.all([at.type(live), at.type(`${one} gateway attach`)]);
    expect([tried.exitCode, hints(tried)]).toEqual([3, steps]);
    expect(run.exitCode).toBe(3);
    expect(run.stderr).toContain(`Process ${pid} is its gateway and does not answer`);
    await follow(at.fixture, run, steps);
    expect(at.fixture.alive(pid)).toBe(false);
    expect(await at.type(live)).toMatchObject({ exitCode: 0 });
  }, 120_000);
});
