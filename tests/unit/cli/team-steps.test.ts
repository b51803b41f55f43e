import { expect, test } from "bun:test";
import { interruptedSteps, performSteps } from "../../../src/cli/team/team-steps.ts";
import type { TeamStep } from "../../../src/services/extensions/team/plan.ts";

const launch = (agent: string): TeamStep => ({ step: "worktree", agent });
const steps = ["a", "b", "c", "d"].map(launch);
const nameOf = (step: TeamStep) => ("agent" in step ? step.agent : step.person);

test("no step begins after an interruption, and the report names the done and the left steps", async () => {
  const abort = new AbortController();
  const begun: string[] = [];
  const performed = await performSteps(
    steps,
    async (step) => {
      begun.push(nameOf(step));
      if (nameOf(step) !== "b") return null;
      abort.abort();
      return "the launch was interrupted and undone";
    },
    abort.signal,
  );
  expect(begun).toEqual(["a", "b"]);
  const failure = interruptedSteps(performed, nameOf, "svc up", { file: "/p/svc.yaml" });
  expect([failure.exitCode, failure.message]).toEqual([
    130,
    [
      "interrupted; svc up does the rest when it is called again",
      "done: a",
      "failed: b: the launch was interrupted and undone",
      "not done: c",
      "not done: d",
    ].join("\n"),
  ]);
  expect(failure.json).toMatchObject({
    error: "interrupted",
    file: "/p/svc.yaml",
    done: [launch("a")],
    not_done: [launch("c"), launch("d")],
  });
});

test("a failed step does not keep the others from being done", async () => {
  const { signal } = new AbortController();
  const fails = async (step: TeamStep) => (nameOf(step) === "a" ? "no" : null);
  const { done, failures, left } = await performSteps(steps, fails, signal);
  expect([done, failures, left]).toEqual([steps.slice(1), [{ step: launch("a"), detail: "no" }], []]);
});
