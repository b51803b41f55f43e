import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtInProfiles } from "../../src/services/terminal/profiles/built-in.ts";
import { createCliFixture } from "../support/cli-fixture.ts";

const fixture = createCliFixture();
afterAll(() => fixture[Symbol.asyncDispose]());
const screen = (tool: string, version: string, state: string) =>
  join(import.meta.dir, "../screens", tool, version, state, "screen.ansi.txt");

test("tools list names each profile and what it was proved on", async () => {
  const listed = await fixture.mgr("tools", "list", "--json");
  const tools = listed.json()["tools"] as { tool: string; tested: boolean; proved_versions: string[] }[];
  expect(tools.map((one) => one.tool).sort()).toEqual([
    "claude",
    "codex",
    "demo",
    "gemini",
    "kimi",
    "opencode",
  ]);
  expect(tools.filter((one) => !one.tested).map((one) => one.tool)).toEqual(["kimi"]);
});

test("tools explain reads a recording from a file and says why", async () => {
  const file = screen("claude", "2.1.197", "busy");
  const explained = await fixture.mgr("tools", "explain", "--tool", "claude", "--screen", file, "--json");
  expect(explained.json()).toMatchObject({
    surface: { ready_posture: { value: "no", reason: expect.stringContaining("busy") } },
    turn: { phase: "active" },
    prompt_ready: { holds: false },
  });
});

test("tools explain reads standard input, a title and a cursor", async () => {
  const input = readFileSync(screen("claude", "2.1.197", "ready"), "utf8");
  const explain = (title: string) =>
    fixture.run("svc-mgr", ["tools", "explain", "--tool", "claude", "--screen", "-", "--title", title], {
      input,
    });
  expect((await explain("✳ work")).stdout).toContain("prompt ready     yes");
  expect((await explain("⠂ work")).stdout).toContain("prompt ready     no");
});

test("tools show prints a file of profiles that can be used as it is", async () => {
  const shown = await fixture.mgr("tools", "show", "--tool", "codex");
  const file = join(fixture.folder, "shown.json");
  writeFileSync(file, shown.stdout.replace('"profile_version": "', '"profile_version": "mine-'));
  const env = { ...fixture.env, SVC_TOOL_PROFILES: file };
  const listed = await fixture.run("svc-mgr", ["tools", "list", "--json"], { env });
  const tools = listed.json()["tools"] as { tool: string; profile_version: string; source: string }[];
  expect(tools.find((one) => one.tool === "codex")).toMatchObject({
    profile_version: expect.stringMatching(/^mine-/),
    source: "SVC_TOOL_PROFILES",
  });
  expect((await fixture.mgr("tools", "show", "--tool", "codex", "--json")).json()).toEqual(shown.json());
  const unknown = await fixture.mgr("tools", "show", "--tool", "nobody");
  expect(unknown.exitCode).toBe(2);
  expect(unknown.stderr).toContain('no profile describes "nobody"; known are: demo, claude');
});

test("a profile file changes how a tool is read, without a rebuild", async () => {
  const claude = builtInProfiles.find((profile) => profile.tool === "claude");
  const file = join(fixture.folder, "profiles.json");
  const changed = {
    ...claude,
    profile_version: "mine",
    title: { idle: [], busy: ["^my busy title$"], decision: [] },
  };
  writeFileSync(file, JSON.stringify({ schema_version: 1, profiles: [changed] }));
  const env = { ...fixture.env, SVC_TOOL_PROFILES: file };
  const explained = await fixture.run(
    "svc-mgr",
    [
      "tools",
      "explain",
      "--tool",
      "claude",
      "--title",
      "my busy title",
      "--json",
      "--screen",
      screen("claude", "2.1.197", "ready"),
    ],
    { env },
  );
  expect(explained.json()).toMatchObject({
    profile_version: "mine",
    title: "busy",
    prompt_ready: { holds: false },
  });
  writeFileSync(file, '{"schema_version":1,"profiles":[{"tool":"x"}]}');
  const refused = await fixture.run("svc-mgr", ["tools", "list"], { env });
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("SVC_TOOL_PROFILES")]);
});

test("tools check reads every recording by a file of profiles and names what differs", async () => {
  const gemini = builtInProfiles.find((profile) => profile.tool === "gemini");
  const file = join(fixture.folder, "checked.json");
  const check = (busy: object[]) => {
    writeFileSync(file, JSON.stringify({ schema_version: 1, profiles: [{ ...gemini, busy }] }));
    return fixture.mgr("tools", "check", file, "--json");
  };
  const right = await check([...(gemini?.busy ?? [])]);
  expect([right.exitCode, right.json()["wrong"]]).toEqual([0, 0]);
  const wrong = await check([]);
  expect(wrong.exitCode).toBe(1);
  expect(wrong.json()["differences"]).toContainEqual({
    source: "svc",
    recording: "gemini/0.61.0/busy",
    field: "ready_posture",
    recorded: '"no"',
    read: '"yes"',
  });
  const none = await fixture.mgr("tools", "check", file, "--recordings", fixture.folder);
  expect(none.exitCode).toBe(2);
  expect(none.stderr).toContain("holds no recording of gemini");
});
