import { expect, test } from "bun:test";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { until } from "../support/until.ts";

test("a program that leaves another behind is waited for no longer than it may take", async () => {
  const processes = createProcesses({ steps: quietSteps });
  const output = await processes.run(["/bin/sh", "-c", "sleep 600 & echo $!"], { timeoutMs: 5000 });
  const left = Number(output.stdout);
  expect(output).toMatchObject({ exitCode: 0, stderr: "" });
  expect(processes.alive(left)).toBe(true);
  processes.signal(left, "SIGKILL");
}, 30_000);

test("a program that takes too long is ended with all that it started", async () => {
  const processes = createProcesses({ steps: quietSteps });
  const inner = "sleep 600 & echo $!; wait";
  const output = await processes.run(["/bin/sh", "-c", `/bin/sh -c '${inner}'; true`], { timeoutMs: 1000 });
  const left = Number(output.stdout);
  expect([output.exitCode, left > 1]).toEqual([null, true]);
  await until("its end", () => !processes.alive(left));
}, 30_000);

test("a program that was suspended is shown so until it goes on", async () => {
  const processes = createProcesses({ steps: quietSteps });
  const child = processes.pipe(["sleep", "600"]);
  const isStopped = async () => (await processes.tree(child.pid))[0]?.isStopped === true;
  expect(await isStopped()).toBe(false);
  process.kill(child.pid, "SIGSTOP");
  await until("it is suspended", isStopped);
  process.kill(child.pid, "SIGCONT");
  await until("it goes on", async () => !(await isStopped()));
  child.kill();
});

test("all that a program said is there, however much it was", async () => {
  const processes = createProcesses({ steps: quietSteps });
  const { stdout } = await processes.run(["/bin/sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x"]);
  expect(stdout.length).toBe(3_000_000);
}, 30_000);
