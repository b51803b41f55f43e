import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

test("stop and int take several names, a group and all, with a result for each", async () => {
  await using fixture = createCliFixture();
  const team = join(fixture.folder, "team");
  mkdirSync(team);
  writeFileSync(
    join(team, "svc.yaml"),
    "version: 1\nagents:\n  lead: { tool: demo }\n  helper: { tool: demo }\ngroups:\n  all: [lead, helper]\n  some: [lead]\n",
  );
  const svc = (...words: string[]) => fixture.run("svc", words);
  const inTeam = (...words: string[]) => fixture.run("svc", words, { cwd: team });
  const running = async () => (await svc("ls", "-q")).stdout.trim().split("\n").sort();
  for (const name of ["a", "b", "c"]) expect((await svc("new", name, "demo")).exitCode).toBe(0);
  expect((await inTeam("up", "--yes")).exitCode).toBe(0);
  expect(await running()).toEqual(["a", "b", "c", "helper", "lead"]);

  await svc("tell", "a", "SLOW 600000");
  await until("its turn", async () => (await svc()).stdout.includes(" busy "));
  const interrupted = await svc("int", "a", "b");
  expect([interrupted.exitCode, interrupted.stdout]).toEqual([0, "a: interrupted\nb: nothing was running\n"]);

  // The worst of the results, and what failed on standard error.
  const some = await svc("stop", "a", "nobody", "a");
  expect([some.exitCode, some.stdout, some.stderr]).toEqual([
    1,
    'stopped "a"\n',
    expect.stringMatching(/^there is no agent named "nobody"/),
  ]);
  const document = await svc("stop", "--json", "b", "nobody");
  expect([document.exitCode, document.json()]).toMatchObject([
    1,
    {
      results: [
        { agent_name: "b", exit_code: 0, result: { success: true } },
        { agent_name: "nobody", exit_code: 1, result: { error: "not_found" } },
      ],
    },
  ]);
  expect(await running()).toEqual(["c", "helper", "lead"]);

  // Below a team's file all are those that it launched.
  const group = await inTeam("stop", "@some");
  expect([group.exitCode, group.stdout]).toEqual([0, 'stopped "lead"\n']);
  const absent = await inTeam("int", "@all");
  expect([absent.exitCode, absent.stderr]).toEqual([
    1,
    expect.stringContaining('"lead" is not interrupted: '),
  ]);
  const ofTeam = await inTeam("stop", "--all");
  expect([ofTeam.exitCode, ofTeam.stdout]).toEqual([0, 'stopped "helper"\n']);
  expect(await running()).toEqual(["c"]);
  expect((await inTeam("stop", "--all")).stdout).toBe(
    `no agents run that ${join(team, "svc.yaml")} launched\n`,
  );
  expect((await svc("stop", "--all")).stdout).toBe('stopped "c"\n');
  expect((await svc("stop", "--all")).stdout).toBe("no agents run\n");

  for (const words of [["stop"], ["stop", "a", "--all"], ["int", "@nobody"]]) {
    expect((await svc(...words)).exitCode).toBe(2);
  }
}, 120_000);

test("the list shows folder, time and last prompt, and its words lead on", async () => {
  await using fixture = createCliFixture();
  const svc = (...words: string[]) => fixture.run("svc", words);
  expect((await svc("new", "worker", "demo", "-w")).exitCode).toBe(0);
  expect((await svc("ask", "worker", "say", "hello\nFAST")).exitCode).toBe(0);
  const listed = await until("the agent at rest", async () => {
    const { stdout } = await svc("list");
    return / ready +\d+s /.test(stdout) ? stdout : null;
  });
  expect(listed).toMatch(/^NAME +TOOL +STATE +SINCE +QUEUE +MAIL +FOLDER +LAST PROMPT$/m);
  expect(listed).toMatch(
    new RegExp(`^worker +demo +ready +\\d+s +0 +- +${fixture.workdir} +say hello FAST$`, "m"),
  );
  expect((await svc("--json")).json()).toMatchObject({ agents: [{ working_directory: fixture.workdir }] });
  expect((await svc("-q")).stdout).toBe("worker\n");
  expect((await svc("help", "kill")).stdout).toContain("svc stop [<name>] [options]");
  expect((await svc("help")).stdout).toContain("kill (stop)");
  expect((await svc("complete", "--line", "svc record worker ")).stdout).toBe(
    "on\t\noff\t\nstatus\t\n:none\n",
  );
  expect((await svc("complete", "--line", "svc ask ")).stdout).toMatch(/^worker\t/);
  writeFileSync(
    join(fixture.workdir, "svc.yaml"),
    "version: 1\nagents:\n  lead: { tool: demo }\ngroups:\n  reviewers: [lead]\n",
  );
  expect((await svc("complete", "--line", "svc tell @")).stdout).toMatch(/^@reviewers\t/);
  expect((await svc("kill", "worker")).exitCode).toBe(0);
  expect((await svc("complete", "--line", "svc ask ")).stdout).toBe(":none\n");
}, 120_000);
