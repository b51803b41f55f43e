import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DemoLogRecord } from "../../src/services/demo/log.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { createTmux } from "../support/tmux.ts";
import { until } from "../support/until.ts";

const program = join(import.meta.dir, "../../src/cli/svc-gateway.ts");
const hostileProgram = join(import.meta.dir, "../support/hostile/svc-gateway.ts");

type Records<K> = Extract<DemoLogRecord, { kind: K }>[];

/** The scripted agent started by a shell in a tmux pane of its own; ends with the fixture. */
async function setup(options: { script?: object; args?: string[] } = {}) {
  const t = await createTmux();
  const logPath = join(t.folder, "demo.jsonl");
  const scriptPath = join(t.folder, "script.json");
  writeFileSync(scriptPath, JSON.stringify({ schema_version: 1, ...options.script }));
  writeFileSync(logPath, "");
  const pane = await t.newSession("demo", ["env", "PS1=shell> ", "sh"]);
  const args = ["demo-agent", "--log", logPath, "--script", scriptPath, ...(options.args ?? [])];
  const keys = (...names: string[]) => t.run("send-keys", "-t", pane.paneId, ...names);
  const misbehaves = ["hostile", "startup"].some((name) => name in (options.script ?? {}));
  const entry = misbehaves ? hostileProgram : program;
  await keys("-l", "--", `stty -echo; ${[process.execPath, entry, ...args].join(" ")}; echo "code $?"`);
  await keys("Enter");

  const fixture = {
    t,
    logPath,
    keys,
    type: (text: string) => keys("-l", "--", text),
    async paste(text: string) {
      const path = join(t.folder, "prompt");
      writeFileSync(path, text);
      await t.run("load-buffer", "-b", "prompt", path);
      await t.run("paste-buffer", "-p", "-d", "-b", "prompt", "-t", pane.paneId);
    },
    prompt: async (text: string) => {
      await fixture.paste(text);
      await keys("Enter");
    },
    log: <K extends DemoLogRecord["kind"]>(kind: K) =>
      parseDemoLog(readFileSync(logPath, "utf8")).filter((record) => record.kind === kind) as Records<K>,
    logged: (kind: DemoLogRecord["kind"], count = 1) =>
      until(`${count} x ${kind}`, () => fixture.log(kind).length >= count),
    fact: (format: string) => t.run("display-message", "-p", "-t", pane.paneId, format),
    shows: (pattern: RegExp) =>
      until(`the screen shows ${pattern}`, async () => pattern.test(await fixture.screen())),
    titled: (pattern: RegExp) =>
      until(`the title is ${pattern}`, async () => pattern.test(await fixture.fact("#{pane_title}"))),
    screen: () => t.screen(pane.paneId),
    [Symbol.asyncDispose]: () => t[Symbol.asyncDispose](),
  };
  return fixture;
}

/** Resolves when the agent accepts input. */
async function ready(options: Parameters<typeof setup>[0] = {}) {
  const fixture = await setup(options);
  await fixture.shows(/▶ Type a message/);
  return fixture;
}

describe("the scripted agent in tmux", () => {
  test("receives a pasted prompt exactly, is seen busy by its title and ends its turn", async () => {
    await using fixture = await ready();
    const prompt = 'first line\n\tsecond: $HOME ; ü 漢 🙂 \\ "quoted"\nSLOW 4000';
    expect(await fixture.fact("#{pane_title}")).toBe("demo: ready");
    await fixture.prompt(prompt);
    await fixture.titled(/^[⠀-⣿] demo: working$/);
    await fixture.shows(/Working… \(\d+s · esc to interrupt\)/);
    await fixture.shows(/— done in \d+s —/);
    await fixture.titled(/^demo: ready$/);
    expect(fixture.log("submitted")).toMatchObject([{ text: prompt, while: "idle" }]);
    expect(fixture.log("turn_ended")).toMatchObject([{ result: "success" }]);
  });

  test("keeps the cursor on the composer's row", async () => {
    await using fixture = await ready();
    const rowAtCursor = async () =>
      (await fixture.screen()).split("\n")[Number(await fixture.fact("#{cursor_y}"))];
    expect(await rowAtCursor()).toStartWith("▶ Type a message");
    await fixture.type("draft");
    await fixture.shows(/▶ draft/);
    expect(await rowAtCursor()).toBe("▶ draft");
  });

  test("takes 20 KB as one chip and submits it in full", async () => {
    await using fixture = await ready();
    const prompt = Array.from({ length: 400 }, (_, line) => `line ${line} ${"x".repeat(40)}`).join("\n");
    await fixture.paste(prompt);
    await fixture.shows(/▶ \[Pasted #1 · 400 lines\]/);
    await fixture.keys("Enter");
    await fixture.logged("submitted");
    expect(fixture.log("submitted")[0]?.text).toBe(prompt);
  });

  test("queues input while busy, and Escape starts it at once", async () => {
    await using fixture = await ready();
    await fixture.prompt("SLOW 600000");
    await fixture.logged("turn_started");
    await fixture.prompt("next\nFAST");
    await fixture.shows(/esc to interrupt\)\n {2}⧗ next…\n─/);
    await fixture.keys("Escape");
    await fixture.logged("turn_ended", 2);
    expect(fixture.log("turn_ended").map((record) => record.result)).toEqual(["interrupted", "success"]);
    await fixture.shows(/✗ interrupted/);
  });

  test("asks by a menu, loses what is pasted into it and takes the answer", async () => {
    await using fixture = await ready({ args: ["--speed", "20"] });
    await fixture.prompt("MENU remove it?");
    await fixture.titled(/^demo: action required$/);
    await fixture.shows(/remove it\?\n❯ 1\. Yes\n {2}2\. No\n {2}3\. Always/);
    await fixture.paste("lost words");
    await fixture.logged("lost_input");
    await fixture.keys("Down");
    await fixture.keys("Enter");
    await fixture.logged("menu_answered");
    expect(fixture.log("menu_answered")).toMatchObject([{ option: 2, label: "No" }]);
    await fixture.shows(/▶ Type a message/);
  });

  test("swallows the Enter that the script names, and no other", async () => {
    await using fixture = await ready({ script: { hostile: { swallow_enter: { on: [1] } } } });
    await fixture.prompt("FAST");
    await fixture.logged("enter_swallowed");
    await fixture.shows(/▶ FAST/);
    await fixture.keys("Enter");
    await fixture.logged("turn_ended");
    expect(fixture.log("submitted")).toHaveLength(1);
  });

  test("asks for trust before anything else", async () => {
    await using fixture = await setup({ script: { startup: { trust_dialog: true } } });
    await fixture.shows(/Do you trust this folder\?\n❯ 1\. Yes, continue\n {2}2\. No, exit/);
    await fixture.keys("Enter");
    await fixture.shows(/▶ Type a message/);
  });

  test("follows a change of the window's size", async () => {
    await using fixture = await ready();
    await fixture.t.run("resize-window", "-t", "demo", "-x", "60", "-y", "12");
    await fixture.logged("resize");
    expect(fixture.log("resize").at(-1)).toMatchObject({ cols: 60, rows: 12 });
    await fixture.shows(/^─{60}\n▶ Type a message\n─{60}$/m);
  });
});

describe("the scripted agent's end", () => {
  test("by /exit leaves a shell that works, and its last frame above it", async () => {
    await using fixture = await ready();
    await fixture.prompt("/exit");
    await fixture.shows(/▶ Type a message\n─+\nenter to send.*\ncode 0\nshell>/);
    expect(await fixture.fact("#{pane_current_command} #{pane_title}")).toBe("sh ");
    await fixture.type("echo a$((1+1))b");
    await fixture.keys("Enter");
    await fixture.shows(/a2b/);
  });

  test("by a crash has code 3, restores nothing and loses no line of its log", async () => {
    await using fixture = await ready({ script: { hostile: { crash_on_prompt: { on: [1] } } } });
    await fixture.prompt("one");
    await fixture.shows(/code 3/);
    expect(fixture.log("submitted")).toMatchObject([{ text: "one" }]);
    expect(fixture.log("exited")).toMatchObject([{ code: 3, why: "crash_on_prompt" }]);
    expect(await fixture.fact("#{pane_title}")).toBe("demo: ready");
  });

  test.each(["SIGTERM", "SIGHUP"] as const)("by %s is clean", async (signal) => {
    await using fixture = await ready();
    process.kill(fixture.log("started")[0]?.pid ?? 0, signal);
    await fixture.shows(/code 0/);
    expect(fixture.log("exited")).toMatchObject([{ code: 0, why: signal }]);
  });

  test("comes with the terminal's end", async () => {
    await using fixture = await ready();
    const pid = fixture.log("started")[0]?.pid ?? 0;
    await fixture.t.killServer();
    await until("the agent has gone", () => !fixture.t.processes.alive(pid));
    expect(fixture.log("exited")).toHaveLength(1);
  });

  test("comes with the terminal's end also where its log has gone before", async () => {
    await using fixture = await ready();
    const pid = fixture.log("started")[0]?.pid ?? 0;
    rmSync(fixture.logPath);
    mkdirSync(fixture.logPath);
    await fixture.t.killServer();
    await until("the agent has gone", () => !fixture.t.processes.alive(pid));
  });

  test("comes with code 1 and the cause when its log cannot be written", async () => {
    await using fixture = await ready();
    rmSync(fixture.logPath);
    mkdirSync(fixture.logPath);
    await fixture.prompt("x");
    await fixture.shows(/the log .*demo\.jsonl cannot be written[\s\S]*code 1/);
  });
});

describe("the scripted agent without what it needs", () => {
  const run = (...args: string[]) => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, program, "demo-agent", ...args], {
      stdin: "ignore",
    });
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  };

  test("refuses to run without a terminal", () => {
    expect(run()).toEqual({ exitCode: 2, stdout: "", stderr: expect.stringContaining("needs a terminal") });
  });

  test.each([
    { id: "an unknown flag", args: ["--nope"], want: "--nope" },
    { id: "a speed of 0", args: ["--speed", "0"], want: "--speed" },
    { id: "a script that is not there", args: ["--script", "/nonexistent.json"], want: "no such file" },
  ])("refuses $id", ({ args, want }) => {
    expect(run(...args)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(want) });
  });

  test("--help shows the flags", () => {
    expect(run("--help")).toEqual({
      exitCode: 0,
      stdout: expect.stringContaining("--script FILE"),
      stderr: "",
    });
  });
});
