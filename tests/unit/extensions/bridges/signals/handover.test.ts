import { expect, test } from "bun:test";
import { readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type HandoverFacts,
  planHandover,
  planSignals,
} from "../../../../../src/services/extensions/bridges/signals/handover.ts";
import { signalPaths } from "../../../../../src/services/extensions/bridges/signals/spool-source.ts";
import {
  lacksSignals,
  planNoSignals,
  type StartingTool,
  signalsAbsence,
  signalsDeclined,
  withSignals,
  writeHandover,
} from "../../../../../src/services/sessions/tool-signals.ts";
import type { Files } from "../../../../../src/system/files.ts";
import { createScratch } from "../../../../support/scratch.ts";
import { sampleManifest } from "../../../../support/session-samples.ts";

const factsOf = (given: Partial<HandoverFacts>): HandoverFacts => ({
  tool: "claude",
  sessionRoot: "/run/o'brien",
  hookCommand: ["/opt/svc gateway", "gateway", "signal"],
  args: [],
  env: { HOME: "/home/user" },
  userConfiguration: null,
  version: null,
  ...given,
});

const startingOf = (given: Partial<StartingTool>): StartingTool => {
  const { tool, sessionRoot, args, env } = factsOf(given);
  return { tool, executable: "/bin/tool", sessionRoot, args, env, declined: given.declined ?? false };
};

/** The plan of a start; `version`: what the executable says. */
const planStart = (files: Pick<Files, "read">, given: Partial<StartingTool>, version = "2.1.332") => {
  const run = async () => ({ stdout: `${version} (Claude Code)`, stderr: "", exitCode: 0 });
  return planSignals({ files, processes: { run } }, ["svc", "signal"], startingOf(given));
};

interface ClaudeHook {
  type: string;
  command: string;
  async: boolean;
  timeout: number;
}

test("claude gets a file of hooks that can neither fail nor print", async () => {
  const { handover } = planHandover(factsOf({}));
  expect(handover?.args).toEqual(["--settings", "/run/o'brien/signals/claude-settings.json"]);
  const { hooks } = JSON.parse(handover?.files["/run/o'brien/signals/claude-settings.json"] ?? "") as {
    hooks: Record<string, { matcher: string; hooks: ClaudeHook[] }[]>;
  };
  expect(Object.keys(hooks)).toEqual(
    [
      "SessionStart",
      "UserPromptSubmit",
      "PreToolUse",
      "PermissionRequest",
      "PostToolUse",
      "Stop",
      "StopFailure",
      "SessionEnd",
    ].sort(),
  );
  // A turn waits for no hook of ours; an end does, or its report would be lost.
  const waitedFor = Object.keys(hooks).filter((event) => hooks[event]?.[0]?.hooks[0]?.async === false);
  expect(waitedFor).toEqual(["SessionEnd"]);
  // On a busy machine a hook that nothing waits for may start late; it is not ended before it reported.
  const limits = Object.entries(hooks).map(([event, [one]]) => [event, one?.hooks[0]?.timeout]);
  expect(new Set(limits.map(([event, limit]) => (event === "SessionEnd" ? "end" : limit)))).toEqual(
    new Set(["end", 60]),
  );
  expect(hooks["SessionEnd"]?.[0]?.hooks[0]?.timeout).toBe(5);
  const command = hooks["Stop"]?.[0]?.hooks[0]?.command ?? "";
  // As the tool runs it: the executable is not there, and nobody hears of it.
  const run = Bun.spawnSync(["sh", "-c", command], { stdin: Buffer.from("{}") });
  expect({ code: run.exitCode, out: String(run.stdout), err: String(run.stderr) }).toEqual({
    code: 0,
    out: "",
    err: "",
  });
  const words = Bun.spawnSync(["sh", "-c", `printf '%s\\n' ${command.replace(/ 2>.*$/, "")}`]);
  expect(String(words.stdout).trimEnd().split("\n")).toEqual([
    "/opt/svc gateway",
    "gateway",
    "signal",
    "claude",
    "/run/o'brien/signals/reports.jsonl",
  ]);
});

/** Each refuses the whole file, without a word, when it names an event that the version does not know. */
test.each<{ version: string | null; without: string[] }>([
  { version: "2.0.0", without: ["PermissionRequest", "StopFailure"] },
  { version: "2.0.44", without: ["PermissionRequest", "StopFailure"] },
  { version: "2.0.45", without: ["StopFailure"] },
  { version: "2.1.77", without: ["StopFailure"] },
  { version: "2.1.78", without: [] },
  { version: "2.1.332", without: [] },
  { version: null, without: [] },
])("claude $version is asked for no event that it refuses", ({ version, without }) => {
  const { handover } = planHandover(factsOf({ version }));
  const { hooks } = JSON.parse(handover?.files["/run/o'brien/signals/claude-settings.json"] ?? "") as {
    hooks: Record<string, unknown>;
  };
  const left = ["PermissionRequest", "StopFailure"].filter((event) => !Object.hasOwn(hooks, event));
  expect(left).toEqual(without);
  expect(Object.keys(hooks)).toEqual(expect.arrayContaining(["SessionStart", "UserPromptSubmit", "Stop"]));
});

test("codex gets its notify program as TOML that it reads", () => {
  const { handover } = planHandover(
    factsOf({ tool: "codex", userConfiguration: 'model = "x"\n[tui]\nnotifications = false' }),
  );
  expect(handover?.args[0]).toBe("-c");
  expect(Bun.TOML.parse(handover?.args[1] ?? "")).toEqual({
    notify: ["/opt/svc gateway", "gateway", "signal", "codex", "/run/o'brien/signals/reports.jsonl"],
  });
});

test("opencode gets a plugin by whichever variable is free", () => {
  const first = planHandover(factsOf({ tool: "opencode" })).handover;
  expect(first?.env).toEqual({ OPENCODE_CONFIG: "/run/o'brien/signals/opencode.json" });
  expect(JSON.parse(first?.files["/run/o'brien/signals/opencode.json"] ?? "")).toEqual({
    plugin: ["file:///run/o'brien/signals/opencode-plugin.js"],
  });
  const second = planHandover(factsOf({ tool: "opencode", env: { OPENCODE_CONFIG: "/mine.json" } })).handover;
  expect(Object.keys(second?.env ?? {})).toEqual(["OPENCODE_CONFIG_CONTENT"]);
  expect(JSON.parse(second?.env["OPENCODE_CONFIG_CONTENT"] ?? "")).toEqual(
    JSON.parse(first?.files["/run/o'brien/signals/opencode.json"] ?? ""),
  );
});

test.each<{ id: string; facts: Partial<HandoverFacts>; why: string }>([
  { id: "claude with settings of its user", facts: { args: ["--settings", "mine.json"] }, why: "--settings" },
  { id: "claude with settings, in one word", facts: { args: ["--settings={}"] }, why: "--settings" },
  { id: "claude without hooks", facts: { args: ["--bare"] }, why: "--bare" },
  {
    id: "codex with notify in two words",
    facts: { tool: "codex", args: ["-c", 'notify=["x"]'] },
    why: "notify",
  },
  {
    id: "codex with notify in one word",
    facts: { tool: "codex", args: ['--config=notify = ["x"]'] },
    why: "notify",
  },
  {
    id: "codex with notify in its file",
    facts: { tool: "codex", userConfiguration: 'notify = ["x"]' },
    why: "config.toml",
  },
  {
    id: "codex with notify in a profile",
    facts: { tool: "codex", userConfiguration: '[profiles.a]\nnotify = ["x"]' },
    why: "config.toml",
  },
  {
    id: "codex with a file that is no TOML",
    facts: { tool: "codex", userConfiguration: "= nonsense" },
    why: "cannot be read",
  },
  {
    id: "opencode with both variables",
    facts: { tool: "opencode", env: { OPENCODE_CONFIG: "/a", OPENCODE_CONFIG_CONTENT: "{}" } },
    why: "both set",
  },
  { id: "gemini", facts: { tool: "gemini" }, why: "which svc does not change" },
  {
    id: "a tool of which no way is known",
    facts: { tool: "kimi" },
    why: "no way is known in which kimi reports",
  },
  { id: "a name of the prototype", facts: { tool: "constructor" }, why: "no way is known" },
])("$id is given nothing, and that is said", ({ facts, why }) => {
  const plan = planHandover(factsOf(facts));
  expect(plan.handover).toBeNull();
  expect(plan.refusal).toContain(why);
});

test.each([
  { id: "another home of codex", env: { HOME: "/nowhere", CODEX_HOME: "codex" } },
  { id: "the home of the user", env: { HOME: "home" } },
])("the user's notify is found in $id", async ({ env }) => {
  using scratch = createScratch();
  const home = scratch.path("CODEX_HOME" in env ? "codex" : "home/.codex");
  scratch.files.ensureDirectory("test", home);
  writeFileSync(join(home, "config.toml"), 'notify = ["notify-send"]\n');
  const there = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.startsWith("/") ? value : scratch.path(value)]),
  );
  const start = { tool: "codex", env: there };
  expect((await planStart(scratch.files, start)).record).toMatchObject({ given: false, declined: false });
  writeFileSync(join(home, "config.toml"), "");
  expect((await planStart(scratch.files, start)).record).toEqual({ given: true, declined: false, why: null });
});

test("what was declined stays so, and is no lack", async () => {
  using scratch = createScratch();
  const { record, handover } = await planStart(scratch.files, { declined: true });
  expect(handover).toEqual({ args: [], env: {}, folder: "/run/o'brien/signals", files: {} });
  const manifest = withSignals(sampleManifest({ tool: "claude" }), record);
  expect([signalsDeclined(manifest), signalsAbsence(manifest)]).toEqual([true, "--no-signals"]);
  expect(lacksSignals(manifest)).toBe(false);
});

test.each([
  { version: "2.0.0", asked: false },
  { version: "2.1.332", asked: true },
])("the version of claude is asked for at each start: $version", async ({ version, asked }) => {
  using scratch = createScratch();
  const { handover } = await planStart(scratch.files, {}, version);
  const [settings] = Object.values(handover.files);
  expect(settings?.includes("StopFailure")).toBe(asked);
});

test("a program that reads no reports asks for none, and its agents' sessions say so", async () => {
  using scratch = createScratch();
  const run = () => Promise.reject(new Error("nothing is run"));
  const plan = await planNoSignals({ files: scratch.files, processes: { run } }, startingOf({}));
  writeHandover(scratch.files, scratch.folder, plan.handover);
  expect(scratch.files.list(scratch.folder)).toEqual([]);
  const manifest = withSignals(sampleManifest({ tool: "claude" }), plan.record);
  expect(signalsAbsence(manifest)).toContain("asks no tool for reports");
});

test("why there are no reports is known of each session", async () => {
  using scratch = createScratch();
  const { record } = await planStart(scratch.files, { args: ["--settings", "x"] });
  const lacks = ["claude", "gemini"].map((tool) =>
    lacksSignals(withSignals(sampleManifest({ tool }), record)),
  );
  expect(lacks).toEqual([true, false]);
  const launched = sampleManifest();
  expect(lacksSignals(launched)).toBe(false);
  expect(signalsAbsence(launched)).toBe("an earlier version of svc started it");
  expect(signalsAbsence(withSignals(launched, { given: true, declined: false, why: null }))).toBeNull();
  expect(signalsAbsence(withSignals(launched, record))).toContain("--settings");
  expect(signalsAbsence({ ...launched, headless: {} })).toContain("headless");
  const { agent_launch_authority: authority } = launched;
  const joined = {
    ...launched,
    agent_launch_authority: { ...authority, session_origin: "joined_tmux" as const },
  };
  expect(signalsAbsence(joined)).toContain("joined");
});

test("each launch writes its files again, for this user alone", async () => {
  using scratch = createScratch();
  const { root, claudeSettings: path } = signalPaths(scratch.folder);
  const { handover } = await planStart(scratch.files, { sessionRoot: scratch.folder });
  writeHandover(scratch.files, scratch.folder, handover);
  writeFileSync(path, '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"rm -r ~"}]}]}}');
  writeHandover(scratch.files, scratch.folder, handover);
  expect(readFileSync(path, "utf8")).toBe(handover.files[path] ?? "");
  expect([root, path].map((at) => statSync(at).mode & 0o777)).toEqual([0o700, 0o600]);
});

test("a link in place of the folder is refused: nothing is written elsewhere", async () => {
  using scratch = createScratch();
  const { root } = signalPaths(scratch.folder);
  scratch.files.ensureDirectory("test", scratch.path("elsewhere"));
  symlinkSync(scratch.path("elsewhere"), root);
  const { handover } = await planStart(scratch.files, { sessionRoot: scratch.folder });
  expect(() => writeHandover(scratch.files, scratch.folder, handover)).toThrow("is a symbolic link");
  expect(scratch.files.list(scratch.path("elsewhere"))).toEqual([]);
});
