import { expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

test("a turn that failed, was interrupted or hit a limit is no success: exit 1, and the reason", async () => {
  await using fixture = createCliFixture();
  const svc = (...words: string[]) => fixture.run("svc", words);
  expect((await svc("new", "worker", "demo", "-w")).exitCode).toBe(0);
  expect((await svc("new", "reporter", "demo", "-w", "--", "--signals")).exitCode).toBe(0);

  const failed = await svc("ask", "--json", "reporter", "FAIL boom");
  expect([failed.exitCode, failed.json()]).toMatchObject([
    1,
    { success: false, detail: "failed: the turn failed", turn: { status: "failed" } },
  ]);
  const shown = await svc("ask", "reporter", "again\nFAIL boom");
  expect([shown.exitCode, shown.stdout]).toEqual([1, "the turn has no answer (failed: the turn failed)\n"]);
  expect(shown.stderr).toContain("the turn did not succeed: failed");
  expect((await svc("ask", "reporter", "then\nFAST")).exitCode).toBe(0);

  const asking = svc("ask", "--json", "worker", "x\nSLOW 600000");
  await until("its turn", async () => (await svc("ls")).stdout.includes(" busy "));
  expect((await svc("int", "worker")).exitCode).toBe(0);
  const interrupted = await asking;
  expect([interrupted.exitCode, interrupted.json()]).toMatchObject([
    1,
    { success: false, detail: "interrupted" },
  ]);

  const limited = await svc("ask", "--json", "worker", "x\nLIMIT");
  expect([limited.exitCode, limited.json()]).toMatchObject([
    1,
    { success: false, detail: expect.stringMatching(/^limit: .*usage limit reached/) },
  ]);
  for (const name of ["worker", "reporter"]) await svc("stop", name);
}, 120_000);
