import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { demoProfile } from "../../src/services/terminal/profiles/demo.ts";
import { launched } from "../support/cli-agent.ts";

const key = "sk-ant-api03-AbCdEf1234567890";

interface Recording {
  state: string;
  folder: string;
  outcome: string;
  scrubbed: number;
  reads_otherwise: { field: string }[];
}

test("screens of a live agent are recorded, scrubbed, once each, and can be checked", async () => {
  await using at = await launched();
  await at.ready();
  const agent = "agents single --agent-name worker";
  const record = (...flags: string[]) =>
    at.type("tools record --agent-name worker --into recordings --tool-version 1 --json", ...flags);
  const recorded = async (...flags: string[]) => (await record(...flags)).json()["recordings"] as [Recording];

  const [first] = await recorded();
  expect(first).toMatchObject({ state: "ready", outcome: "recorded", reads_otherwise: [] });
  expect(first.folder).toBe(join(at.fixture.workdir, "recordings/demo/1/ready"));
  expect(statSync(join(first.folder, "screen.ansi.txt")).mode & 0o077).toBe(0);
  expect((await recorded())[0].outcome).toBe("unchanged");

  await at.type(`${agent} prompt --wait --json`, "--prompt", `use ${key}\nFAST`);
  const [second] = await recorded();
  expect(second).toMatchObject({ state: "ready-2", outcome: "recorded" });
  expect(second.scrubbed).toBeGreaterThan(0);
  const screen = readFileSync(join(second.folder, "screen.ansi.txt"), "utf8");
  expect(screen).toContain("use xx-xxx-xxxxx-xxxxxxxxxxxxxxxx");
  expect(screen).not.toContain(key);

  await at.type(`${agent} prompt`, "--prompt", "SLOW 60000");
  await at.busy();
  expect((await recorded("--state", "busy"))[0]).toMatchObject({ outcome: "recorded", reads_otherwise: [] });
  await at.type(`${agent} interrupt`);
  await at.ready();
  const refused = await record("--state", "busy");
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("--replace")]);

  // A name that says otherwise than what is read: the recording is for a profile to be mended by.
  const [named] = await recorded("--state", "busy", "--replace");
  expect(named).toMatchObject({ outcome: "replaced" });
  expect(named.reads_otherwise.map(({ field }) => field)).toContain("phase");
  const file = join(at.fixture.folder, "profiles.json");
  writeFileSync(file, JSON.stringify({ schema_version: 1, profiles: [demoProfile] }));
  const check = await at.type(`tools check ${file} --recordings recordings --json`);
  expect(check.exitCode).toBe(1);
  expect(check.json()).toMatchObject({
    wrong: 1,
    sources: [{ source: "svc" }, { source: "recordings", recordings: 3 }],
    differences: expect.arrayContaining([
      {
        source: "recordings",
        recording: "demo/1/busy",
        field: "phase",
        recorded: '"active"',
        read: '"ready"',
      },
    ]),
  });
}, 60_000);

test("each state of a while is recorded, and what cannot be recorded is refused with the reason", async () => {
  await using at = await launched();
  await at.ready();
  const watching = at.type("tools record --agent-name worker --into seen --for 6 --json");
  await at.type("agents single --agent-name worker prompt --json", "--prompt", "SLOW 2500");
  const { tool_version, recordings } = (await watching).json() as {
    tool_version: string;
    recordings: Recording[];
  };
  expect(tool_version).toBe("unknown");
  expect(recordings.map(({ state }) => state)).toEqual(expect.arrayContaining(["ready", "busy"]));

  const flags = ["--into x --state Busy", "--into x --state a --for 3", "--into x --tool-version latest", ""];
  for (const wrong of flags) {
    const run = await at.type(`tools record --agent-name worker ${wrong}`.trim());
    expect([run.exitCode, run.stdout]).toEqual([2, ""]);
  }
  const nobody = await at.type("tools record --agent-name nobody --into x");
  expect([nobody.exitCode, nobody.stderr]).toEqual([1, expect.stringContaining("nobody")]);
}, 60_000);
