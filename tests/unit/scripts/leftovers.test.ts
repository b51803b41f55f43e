import { expect, test } from "bun:test";
import { endLeftovers } from "../../../scripts/leftovers.ts";

const mark = () => ({ name: "SVC_TEST_MARK", value: `mark-${crypto.randomUUID()}` });

test("what stops within the grace is nobody's leftover", async () => {
  const own = mark();
  const child = Bun.spawn(["sleep", "0.2"], { env: { ...process.env, [own.name]: own.value } });
  expect(await endLeftovers(own)).toEqual([]);
  await child.exited;
});

// Where /proc does not tell, nothing is found and nothing is promised.
const known = process.platform === "linux" ? 2 : 0;
test("a process that stays is reported and ended, by variable or by argument", async () => {
  const own = mark();
  const byVariable = Bun.spawn(["sleep", "60"], {
    env: { PATH: process.env["PATH"] ?? "", [own.name]: own.value },
  });
  const byArgument = Bun.spawn(["sh", "-c", `read line; : ${own.value}`], {
    stdin: "pipe",
    env: { PATH: process.env["PATH"] ?? "" },
  });
  const left = await endLeftovers(own, 100);
  expect(left.map(({ pid }) => pid).sort()).toEqual([byVariable.pid, byArgument.pid].sort().slice(0, known));
  for (const child of [byVariable, byArgument]) child.kill("SIGKILL");
  await Promise.all([byVariable.exited, byArgument.exited]);
});
