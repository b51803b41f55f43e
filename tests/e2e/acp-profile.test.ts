import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";

const scripted = join(import.meta.dir, "../support/hostile-acp.ts");
const agent = {
  tool: "mine-acp",
  command: [process.execPath, scripted, "tells", "MINE", "SHELL_PROGRAM", "MISSING"],
  env: { MINE: "yes", SHELL_PROGRAM: { program: "sh" }, MISSING: { program: "no-such-program" } },
  modes: { ask: "careful", unattended: "wild" },
};

describe("an ACP agent of the user's own profile", () => {
  let fixture: CliFixture;
  let path: string;
  beforeAll(() => {
    fixture = createCliFixture();
    path = join(fixture.folder, "profiles.json");
    fixture.env["SVC_ACP_PROFILES"] = path;
  });
  afterAll(() => fixture[Symbol.asyncDispose]());

  const profiles = (agents: unknown, mode = 0o600) => {
    writeFileSync(path, JSON.stringify({ schema_version: 1, agents }));
    chmodSync(path, mode);
  };
  const launch = (name: string, ...flags: string[]) =>
    fixture.mgr("agents", "launch", "--tool", "mine-acp", "--agent-name", name, ...flags);

  test.each([
    { id: "asks", flags: [], mode: "careful" },
    { id: "unattended", flags: ["--unattended"], mode: "wild" },
  ])("is run by its command, with its variables, in its mode: $id", async ({ id, flags, mode }) => {
    profiles([agent]);
    const { exitCode, stderr } = await launch(id, ...flags);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    const { stdout } = await fixture.run("svc", ["ask", id, "hello"]);
    expect(stdout).toMatch(new RegExp(`^mode=${mode} MINE=yes SHELL_PROGRAM=/\\S*/sh MISSING=\\n$`));
  });

  test.each([
    { id: "a file that others may write", agents: [agent], mode: 0o622, want: "chmod" },
    { id: "two of one name", agents: [agent, agent], mode: 0o600, want: "two profiles of mine-acp" },
    { id: "a name without -acp", agents: [{ ...agent, tool: "mine" }], mode: 0o600, want: "agents.0.tool" },
    { id: "no command", agents: [{ ...agent, command: [] }], mode: 0o600, want: "agents.0.command" },
  ])("is refused, and nothing is started: $id", async ({ agents, mode, want }) => {
    profiles(agents, mode);
    const { exitCode, stderr } = await launch("refused");
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain(path);
    expect(stderr).toContain(want);
    expect((await fixture.sessions()).filter((name) => name.includes("refused"))).toEqual([]);
  });
});
