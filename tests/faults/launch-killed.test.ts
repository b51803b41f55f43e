import { afterAll, beforeAll, describe, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findAgent } from "../../src/services/sessions/find.ts";
import { createFaultFixture, type FaultFixture } from "../support/fault-fixture.ts";
import { countLabels, faultEnvironment, type Moment } from "../support/fault-steps.ts";
import { fileProblems, temporaries } from "../support/fault-story.ts";
import { faultTest } from "../support/fault-table.ts";

const entry = join(import.meta.dir, "../support/faulty-launch.ts");
const lanes = 3;

let fixture: FaultFixture;
beforeAll(async () => {
  fixture = await createFaultFixture();
});
afterAll(() => fixture[Symbol.asyncDispose]());

/** Launches or stops an agent in a process of its own, which may die. */
async function run(act: "launch" | "stop", name: string, kill?: Moment) {
  const trace = join(fixture.tmux.folder, `${name}-${act}.trace`);
  const { exitCode, stderr } = await fixture.tmux.processes.run([process.execPath, entry, act, name], {
    cwd: fixture.tmux.folder,
    timeoutMs: 60_000,
    env: {
      ...fixture.env,
      [faultEnvironment.trace]: trace,
      ...(kill ? { [faultEnvironment.kill]: JSON.stringify(kill) } : {}),
    },
  });
  return { exitCode, stderr, labels: () => countLabels(readFileSync(trace, "utf8")) };
}

/** Each occurrence of each step, before and after it. */
function moments(labels: Map<string, number>): Moment[] {
  return [...labels].flatMap(([label, count]) =>
    Array.from({ length: count }, (_, index) => index + 1).flatMap((nth) => [
      { label, nth, when: "before" as const },
      { label, nth, when: "after" as const },
    ]),
  );
}

/** An agent of this name can be had, is whole, and can be ended. */
async function usable(name: string, where: string): Promise<string[]> {
  const launch = await run("launch", name);
  // A launch that died as its very last act has done everything.
  if (launch.exitCode !== 0 && !launch.stderr.includes("already runs")) {
    return [`${where}: cannot be launched: ${launch.stderr}`];
  }
  const { sessionRoot, manifest } = findAgent(fixture.world, { agentName: name });
  const problems = [...fileProblems(sessionRoot), ...temporaries(sessionRoot)];
  if (!(await fixture.tmux.tmux.hasSession(manifest.tmux_session_name)))
    problems.push("its session is not there");
  const stop = await run("stop", name);
  if (stop.exitCode !== 0) problems.push(`cannot be stopped: ${stop.stderr}`);
  if (await fixture.tmux.tmux.hasSession(manifest.tmux_session_name)) problems.push("its session lives on");
  if (fixture.world.registry.read(manifest.agent_id)?.lifecycle.state !== "stopped") {
    problems.push("its record does not say that it is stopped");
  }
  return problems.map((problem) => `${where}: ${problem}`);
}

/** Runs `life` for every moment, several at once, and gathers what it complains about. */
async function atEach(
  plan: readonly Moment[],
  life: (name: string, moment: Moment, where: string) => Promise<string[]>,
) {
  const pending = [...plan.entries()];
  const found: string[] = [];
  const work = async () => {
    for (let next = pending.shift(); next; next = pending.shift()) {
      const [index, moment] = next;
      const where = `${moment.when} ${moment.label} ${moment.nth}`;
      found.push(...(await life(`agent-${index}`, moment, where)));
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  return found;
}

describe("a launch or a stop that is killed", () => {
  const launchRow = {
    area: "processes",
    fault: "A launch is killed before or after any of its steps",
    outcome: "nothing keeps the name from being launched, found and stopped",
    seen: "no agent, or a whole one",
    recovery: "the same launch again",
  } as const;

  faultTest(
    "leaves nothing that keeps the name from being launched, found and stopped",
    launchRow,
    async () => {
      const whole = await run("launch", "whole");
      expect(whole.exitCode).toBe(0);
      const plan = moments(whole.labels());
      expect(plan.map((moment) => moment.label)).toContain("launch.session");
      // Shared folders of the registry are made by the first launch only.
      const reached = plan.filter(({ label }) => label !== "file:registry-folder");
      const found = await atEach(reached, async (name, moment, where) => {
        const killed = await run("launch", name, moment);
        return [
          ...(killed.exitCode === null ? [] : [`${where}: not reached`]),
          ...(await usable(name, where)),
        ];
      });
      console.log(`${reached.length} moments of a launch`);
      expect(found).toEqual([]);
    },
    600_000,
  );

  const stopRow = {
    area: "processes",
    fault: "A stop is killed before or after any of its steps",
    outcome: "nothing is left of the agent that could not be ended",
    seen: "the agent, until it is stopped",
    recovery: "the next stop finishes it",
  } as const;

  faultTest(
    "is finished by the next stop",
    stopRow,
    async () => {
      expect((await run("launch", "ended")).exitCode).toBe(0);
      const whole = await run("stop", "ended");
      expect(whole.exitCode).toBe(0);
      const plan = moments(whole.labels());
      expect(plan.map((moment) => moment.label)).toContain("stop.session");
      const found = await atEach(plan, async (index, moment, where) => {
        const name = `stopped-${index}`;
        expect((await run("launch", name)).exitCode).toBe(0);
        const { manifest } = findAgent(fixture.world, { agentName: name });
        const killed = await run("stop", name, moment);
        if (killed.exitCode !== null) return [`${where}: not reached`];
        const stop = await run("stop", name);
        const problems = stop.exitCode === 0 ? [] : [`${where}: cannot be stopped again: ${stop.stderr}`];
        if (await fixture.tmux.tmux.hasSession(manifest.tmux_session_name)) {
          problems.push(`${where}: its session lives on`);
        }
        return [...problems, ...(await usable(name, where))];
      });
      console.log(`${plan.length} moments of a stop`);
      expect(found).toEqual([]);
    },
    120_000,
  );
});
