import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

const text = [
  "version: 1",
  "agents:",
  "  reviewer: { tool: demo, mailbox: true }",
  "  lead: { tool: demo }",
  "groups:",
  "  all: [reviewer, lead]",
  "",
].join("\n");

test("two folders with the same svc.yaml never reach each other's agents", async () => {
  await using fixture = createCliFixture();
  const [first, second] = ["first", "second"].map((name) => {
    const folder = join(fixture.folder, name);
    mkdirSync(folder);
    writeFileSync(join(folder, "svc.yaml"), text);
    return folder;
  }) as [string, string];
  const svc = (folder: string, ...words: string[]) => fixture.run("svc", words, { cwd: folder });
  const running = async () => {
    const { agents } = (await fixture.mgr("agents", "list", "--json")).json() as {
      agents: { agent_name: string; team: { file: string } | null }[];
    };
    return agents.map(({ agent_name, team }) => [agent_name, team?.file ?? null]);
  };
  const ofFirst = ["lead", "reviewer"].map((name) => [name, join(first, "svc.yaml")]);
  try {
    expect((await svc(first, "up", "--yes")).exitCode).toBe(0);
    expect(await running()).toEqual(ofFirst);

    // Without a prefix: each command of the second folder names the clash or finds nothing, and changes
    // nothing.
    const clash = await svc(second, "up", "--yes");
    expect(clash.exitCode).toBe(1);
    for (const part of [second, join(first, "svc.yaml"), "--prefix NAME", "another name", "reviewer", "lead"])
      expect(clash.stderr).toContain(part);
    const status = await svc(second, "status");
    expect([status.exitCode, status.stdout]).toEqual([
      1,
      expect.stringContaining(`! reviewer: an agent of this name runs that belongs to ${first}/svc.yaml`),
    ]);
    expect((await svc(second, "down", "--yes")).stdout).toContain("nothing runs");
    const told = await svc(second, "tell", "@all", "FAST");
    expect([told.exitCode, told.stderr]).toEqual([1, expect.stringContaining('"reviewer" gets nothing')]);
    const mailed = await svc(second, "mail", "@all", "hello", "you");
    expect([mailed.exitCode, mailed.stderr]).toEqual([
      2,
      expect.stringContaining("nobody of @all has a mailbox"),
    ]);
    expect(await running()).toEqual(ofFirst);

    // With a prefix both run, and each folder's words mean its own agents.
    const up = await svc(second, "up", "--yes", "--prefix", "b", "--json");
    expect([up.exitCode, up.json()]).toMatchObject([0, { prefix: "b", failures: [] }]);
    const ofSecond = ["b-lead", "b-reviewer"].map((name) => [name, join(second, "svc.yaml")]);
    expect(await running()).toEqual([...ofSecond, ...ofFirst]);
    expect((await svc(second, "status")).stdout).toBe(
      "= b-reviewer: as the file says\n= b-lead: as the file says\n",
    );
    const asked = async (name: string) => {
      const words = ["agents", "single", "--agent-name", name, "requests", "list", "--json"];
      return (await fixture.mgr(...words)).stdout.match(/"request_id"/g)?.length ?? 0;
    };
    expect((await svc(second, "tell", "@all", "FAST")).exitCode).toBe(0);
    expect([
      await asked("b-reviewer"),
      await asked("b-lead"),
      await asked("reviewer"),
      await asked("lead"),
    ]).toEqual([1, 1, 0, 0]);
    // A short name that means two agents is refused with both, where a person says it.
    for (const word of ["int", "stop"]) {
      const both = await svc(second, word, "reviewer");
      expect([both.exitCode, both.stderr]).toEqual([1, expect.stringContaining("b-reviewer")]);
      expect(both.stderr).toContain(`of ${first}/svc.yaml`);
    }
    const other = await svc(second, "up", "--yes", "--prefix", "c");
    expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining('"b-')]);
    expect(await running()).toEqual([...ofSecond, ...ofFirst]);

    // To an agent of a team a short name means the agent of its own team, wherever it is.
    const { agents } = (await fixture.mgr("agents", "list", "--json")).json() as {
      agents: { agent_name: string; manifest_path: string }[];
    };
    const lead = agents.find(({ agent_name }) => agent_name === "b-lead")?.manifest_path ?? "";
    const inLead = { cwd: first, env: { ...fixture.env, SVC_MANIFEST_PATH: lead } };
    expect((await fixture.run("svc", ["tell", "@reviewer", "FAST"], inLead)).exitCode).toBe(0);
    expect([await asked("b-reviewer"), await asked("reviewer")]).toEqual([2, 0]);
    expect((await fixture.run("svc", ["stop", "reviewer"], inLead)).exitCode).toBe(0);
    await until("its own reviewer to be stopped", async () => (await running()).length === 3);
    expect(await running()).toEqual([["b-lead", join(second, "svc.yaml")], ...ofFirst]);

    // A stop and a launch by hand under the same name make it another agent, which the file does not touch.
    expect((await svc(first, "stop", "lead")).exitCode).toBe(0);
    expect((await svc(first, "new", "lead", "demo")).exitCode).toBe(0);
    const byHand = await svc(first, "up", "--yes");
    expect([byHand.exitCode, byHand.stderr]).toEqual([
      1,
      expect.stringContaining(`! lead: an agent of this name runs that a person launched in ${first}`),
    ]);
    expect((await svc(first, "down", "--yes")).stdout).toBe("- reviewer: stop\n");
    expect(await running()).toEqual([
      ["b-lead", join(second, "svc.yaml")],
      ["lead", null],
    ]);
    // A restart keeps the owner.
    expect((await svc(second, "restart", "lead")).stderr).toContain("means two agents");
    expect((await svc(second, "restart", "b-lead")).exitCode).toBe(0);
    expect((await svc(second, "down", "--yes")).stdout).toBe("- b-lead: stop\n");
  } finally {
    for (const folder of [first, second]) await svc(folder, "down", "--yes");
    await fixture.mgr("agents", "single", "--agent-name", "lead", "stop");
  }
}, 240_000);
