import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TurnRequest } from "../../../src/protocol/turn-files.ts";
import { createBridge } from "../../../src/services/headless/bridge.ts";
import { headlessProvider } from "../../../src/services/headless/providers.ts";
import { interruptTurn, settleTurn } from "../../../src/services/headless/settle-turn.ts";
import { createTurnDirectories, toTurnStatus } from "../../../src/services/headless/turn-directory.ts";
import { createTurnReader, followTurn } from "../../../src/services/headless/turn-reader.ts";
import { createClock } from "../../../src/system/clock.ts";
import type { Files } from "../../../src/system/files.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFolderWatch } from "../../../src/system/watch.ts";
import { createScratch } from "../../support/scratch.ts";
import { createTestSignal, until } from "../../support/until.ts";

const gateway = join(import.meta.dir, "../../../src/cli/svc-gateway.ts");

function setup() {
  const scratch = createScratch();
  const { files } = scratch;
  const clock = createClock();
  const locks = createLocks({ clock });
  const processes = createProcesses({ steps: quietSteps });
  const shown: string[] = [];
  const log = scratch.path("provider.log");
  const settling = { files, clock, locks, processes, providerOf: headlessProvider };
  const env = { PATH: process.env["PATH"] ?? "", HOME: scratch.folder };
  const bridge = createBridge({ ...settling, env, show: (text) => void shown.push(text) });
  const turns = createTurnDirectories({ files, sessionRoot: scratch.folder });
  const request = (changes: Partial<TurnRequest> = {}): TurnRequest => ({
    schema_version: 1,
    turn_id: "turn-1",
    turn_index: 1,
    tracked_agent_id: "session",
    request_id: null,
    requested_at_utc: "2026-01-01T00:00:00.000+00:00",
    life: null,
    tool: "demo",
    executable: process.execPath,
    args: [gateway, "gateway", "demo-agent", "--log", log, "--state", scratch.path("state")],
    working_directory: scratch.folder,
    role_prompt: null,
    prompt: "hello",
    session: { mode: "new" },
    model: null,
    display_style: "plain",
    display_detail: "concise",
    ...changes,
  });
  return {
    files,
    bridge,
    turns,
    request,
    settling,
    processes,
    shown,
    scratch,
    reader: createTurnReader({ files, turns }),
    runs: () => (existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n").length : 0),
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

describe("the bridge", () => {
  test("a turn that ends while its status is read has not lost its result", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    const result = {
      schema_version: 1,
      status: "completed",
      completed_at_utc: "2026-01-01T00:00:00.000+00:00",
      returncode: 0,
      signal: null,
      completion_source: "terminal_event",
      session_id: null,
      history_summary: null,
      error: null,
      usage: null,
    } as const;
    const ending = {
      ...turn,
      result() {
        const before = turn.result();
        if (before === null) turn.saveResult(result);
        return before;
      },
    };
    expect(toTurnStatus(fixture.files, ending)).toMatchObject({ status: "active", error: null });
    expect(toTurnStatus(fixture.files, turn)).toMatchObject({ status: "completed" });
  });

  test("runs a turn once and refuses it ever after", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    expect(await fixture.bridge.run(turn.paths.folder)).toBe("ran");
    expect(turn.result()).toMatchObject({ status: "completed", returncode: 0 });
    expect(toTurnStatus(fixture.files, turn)).toMatchObject({
      completion_source: "process_exit",
      decided_by: "terminal_event",
    });
    expect(readFileSync(turn.paths.exitCode, "utf8")).toBe("0\n");
    expect(await fixture.bridge.run(turn.paths.folder)).toBe("refused");
    expect(fixture.runs()).toBe(1);
    expect(fixture.shown.join("")).toStartWith("\nturn 1: hello\n");
    expect(fixture.shown.join("")).toContain("You said: hello");
  });

  test("two bridges of one turn run it once", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    const outcomes = await Promise.all([1, 2].map(() => fixture.bridge.run(turn.paths.folder)));
    expect([outcomes.toSorted(), fixture.runs()]).toEqual([["ran", "refused"], 1]);
  });

  test("an interrupt that came before it keeps the tool from being started", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    turn.saveInterrupt({ requested_at_utc: "2026-01-01T00:00:01.000+00:00", requested_by: "gateway" });
    await fixture.bridge.run(turn.paths.folder);
    expect(turn.result()).toMatchObject({ status: "interrupted", completion_source: "not_started" });
    expect(fixture.runs()).toBe(0);
  });

  test("a tool that cannot be started is a failed turn", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request({ executable: "/nowhere/at/all" }));
    await fixture.bridge.run(turn.paths.folder);
    expect(turn.result()).toMatchObject({
      status: "failed",
      error: expect.stringContaining("could not be started"),
    });
  });

  test("an interrupt ends the tool, and one of a turn that has ended is a no_op", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request({ prompt: "SLOW 600000" }));
    const ran = fixture.bridge.run(turn.paths.folder);
    await until("the tool's run", () => fixture.runs() === 1);
    expect(await interruptTurn(fixture.settling, turn, "gateway")).toMatchObject({ outcome: "interrupted" });
    await ran;
    expect(turn.result()).toMatchObject({ status: "interrupted" });
    expect(await interruptTurn(fixture.settling, turn, "gateway")).toMatchObject({ outcome: "no_op" });
  });

  test("output that a left process holds open does not hold the turn", async () => {
    using fixture = setup();
    const says = 'cat >/dev/null; echo \'{"type":"end","status":"success"}\'; sleep 300 & echo $! >&2';
    const turn = fixture.turns.create(fixture.request({ executable: "/bin/sh", args: ["-c", says] }));
    await fixture.bridge.run(turn.paths.folder);
    expect(turn.result()).toMatchObject({ status: "completed" });
    const left = Number(readFileSync(turn.paths.stderr, "utf8"));
    expect(fixture.processes.signal(left, "SIGKILL")).toBe(true);
  });
});

/** The processes of this machine that were started with `text` in their arguments. */
function startedWith(text: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text);
    } catch {
      // It has ended.
      return false;
    }
  });
}

describe("the prompt of a turn", () => {
  test.each(["claude", "codex", "gemini", "opencode", "kimi"])(
    "is in no process list while %s works",
    async (tool) => {
      using fixture = setup();
      const secret = `private-${tool}-${crypto.randomUUID()}`;
      const prompt = `${secret}\nof two lines`;
      const given = fixture.scratch.path("given");
      const executable = fixture.scratch.path(tool);
      writeFileSync(executable, `#!/bin/sh\ncat >'${given}'\nsleep 300\nexit 0\n`, { mode: 0o700 });
      const turn = fixture.turns.create(fixture.request({ tool, prompt, executable, args: [] }));
      const ran = fixture.bridge.run(turn.paths.folder);
      const byFile = tool === "kimi";
      await until(
        "the prompt",
        () => existsSync(given) && (byFile || readFileSync(given, "utf8") === prompt),
      );
      const pid = String(turn.process()?.child_pid);
      expect(startedWith(executable)).toContain(pid);
      expect(startedWith(secret)).toEqual([]);
      expect(readFileSync(`/proc/${pid}/environ`, "utf8").includes(secret)).toBe(false);
      if (byFile) {
        // Its shell has the same arguments for a moment before it becomes `sleep`.
        expect(startedWith(turn.paths.prompt)).toContain(pid);
        expect(readFileSync(turn.paths.prompt, "utf8")).toBe(prompt);
        expect(statSync(turn.paths.prompt).mode & 0o777).toBe(0o600);
      }
      await interruptTurn(fixture.settling, turn, "gateway");
      await ran;
    },
  );
});

describe("a turn whose runner is gone", () => {
  const dead = { runner_pid: 2 ** 22 + 1, runner_start: "1", child_pid: null, child_start: null };
  const launched_at_utc = "2026-01-01T00:00:00.000+00:00";

  test("that no runner claimed is settled only by who may say so, and is never run then", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    expect(await settleTurn(fixture.settling, turn)).toBeNull();
    expect(await settleTurn(fixture.settling, turn, { unbegun: "never started" })).toMatchObject({
      status: "failed",
      completion_source: "not_started",
      error: "never started",
    });
    expect(toTurnStatus(fixture.files, turn)).toMatchObject({
      completion_source: null,
      decided_by: "not_started",
    });
    expect([await fixture.bridge.run(turn.paths.folder), fixture.runs()]).toEqual(["refused", 0]);
  });

  test("fails for want of an exit code", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    turn.saveProcess({ ...dead, launched_at_utc });
    expect(await settleTurn(fixture.settling, turn)).toMatchObject({
      status: "failed",
      completion_source: "missing_evidence",
    });
  });

  test("is completed when its output proves it", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    turn.saveProcess({ ...dead, launched_at_utc });
    const lines = [
      { type: "session", session_id: "abc" },
      { type: "answer", text: "done" },
      { type: "end", status: "success" },
    ];
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    fixture.files.append("test", turn.paths.stdout, text);
    const result = await settleTurn(fixture.settling, turn);
    expect(result).toMatchObject({ status: "completed", session_id: "abc", history_summary: "done" });
    expect(await settleTurn(fixture.settling, turn)).toEqual(result);
  });

  test("between its final state and the exit code gets the exit code from the next look", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    await fixture.bridge.run(turn.paths.folder);
    fixture.files.removeFile("test", turn.paths.exitCode);
    expect(await settleTurn(fixture.settling, turn)).toMatchObject({ status: "completed" });
    expect(readFileSync(turn.paths.exitCode, "utf8")).toBe("0\n");
    fixture.files.removeFile("test", turn.paths.exitCode);
    const ended = Promise.withResolvers<unknown>();
    const followed = followTurn(
      { ...fixture.settling, watch: createFolderWatch(), log: { line: () => {} } },
      turn,
      {
        claimWithinMs: 0,
        news: { onStarted: () => {}, onEvent: () => {}, onEnd: ended.resolve },
      },
    );
    expect(await ended.promise).toMatchObject({ status: "completed" });
    await followed.stop();
    expect(readFileSync(turn.paths.exitCode, "utf8")).toBe("0\n");
  });

  test("on a full disk is tried again now and then, not all the time", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    turn.saveProcess({ ...dead, launched_at_utc });
    const attempts = createTestSignal<number>();
    const files: Files = {
      ...fixture.files,
      write() {
        attempts.emit(performance.now());
        fixture.files.append("test", join(turn.paths.folder, "left"), "a notice of the folder");
        throw new Error("ENOSPC");
      },
    };
    const full = createTurnDirectories({ files, sessionRoot: fixture.scratch.folder }).find(turn.turnId);
    if (!full) throw new Error("no turn");
    const nothing = { onStarted: () => {}, onEvent: () => {}, onEnd: () => {} };
    const deps = { ...fixture.settling, files, watch: createFolderWatch(), log: { line: () => {} } };
    const followed = followTurn(deps, full, { claimWithinMs: 0, news: nothing });
    await attempts.until("three attempts", () => attempts.values.length >= 3);
    await followed.stop();
    const [first = 0, , third = 0] = attempts.values;
    expect(third - first).toBeGreaterThan(900);
  });

  test("is interrupted when that was asked for", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request());
    turn.saveProcess({ ...dead, launched_at_utc });
    turn.saveInterrupt({ requested_at_utc: launched_at_utc, requested_by: "gateway" });
    expect(await settleTurn(fixture.settling, turn)).toMatchObject({ status: "interrupted" });
  });
});

describe("turn directories", () => {
  test.each(["../up", "a/b", ".", "..", "", "a\\b", "a\u0000b", "x".repeat(101), "-dash"])(
    "%j is no turn id",
    (turnId) => {
      using fixture = setup();
      expect(fixture.turns.find(turnId)).toBeNull();
      expect(() => fixture.turns.create(fixture.request({ turn_id: turnId }))).toThrow("turn_id");
    },
  );

  test("a turn is made once, and the newest come first", () => {
    using fixture = setup();
    for (const index of [1, 2, 3]) {
      fixture.turns.create(fixture.request({ turn_id: `turn-${index}`, turn_index: index }));
    }
    expect(() => fixture.turns.create(fixture.request({ turn_id: "turn-2" }))).toThrow("exists");
    expect(fixture.turns.list(2).map((turn) => turn.turnId)).toEqual(["turn-3", "turn-2"]);
    const [newest] = fixture.turns.list(1);
    expect(newest && toTurnStatus(fixture.files, newest)).toMatchObject({ status: "active", turn_index: 3 });
  });

  test("events are read in pages, past lines that are none of ours", async () => {
    using fixture = setup();
    const turn = fixture.turns.create(fixture.request({ prompt: "one two three" }));
    await fixture.bridge.run(turn.paths.folder);
    fixture.files.append("test", turn.paths.events, "no event\n");
    const all = fixture.reader.events("turn-1", 0)?.toArray() ?? [];
    expect(all.length).toBeGreaterThan(4);
    expect(fixture.reader.events("turn-1", 2)?.take(2).toArray()).toEqual(all.slice(2, 4));
    expect(fixture.reader.events("turn-2", 0)).toBeNull();
  });
});

test("a tool that closes its input at once, with a large prompt, ends its turn as it says", async () => {
  using fixture = setup();
  const says = 'exec <&-; echo \'{"type":"end","status":"success"}\'';
  const prompt = "x".repeat(8 * 1024 * 1024);
  const turn = fixture.turns.create(fixture.request({ executable: "/bin/sh", args: ["-c", says], prompt }));
  await fixture.bridge.run(turn.paths.folder);
  expect(turn.result()).toMatchObject({ status: "completed", returncode: 0 });
});

test("a verdict on a line of 20 MB is read by the bridge, and once more by who settles", async () => {
  using fixture = setup();
  const script = `process.stdout.write(JSON.stringify({ type: "end", text: "x".repeat(20_000_000), status: "success" }) + "\\n")`;
  const turn = fixture.turns.create(fixture.request({ args: ["-e", script, "--"] }));
  await fixture.bridge.run(turn.paths.folder);
  expect(turn.result()).toMatchObject({ status: "completed", completion_source: "terminal_event" });
  expect(fixture.files.stat(turn.paths.stdout)?.size).toBeGreaterThan(20_000_000);
  fixture.files.removeFile("test", turn.paths.result);
  const dead = { runner_pid: 2 ** 22 + 1, runner_start: "1", child_pid: null, child_start: null };
  turn.saveProcess({ ...dead, launched_at_utc: "2026-01-01T00:00:00.000+00:00" });
  expect(await settleTurn(fixture.settling, turn)).toMatchObject({ status: "completed" });
});

test("a prompt of 8 MB reaches the tool whole", async () => {
  using fixture = setup();
  const says = 'printf \'{"type":"answer","text":"%s"}\\n{"type":"end","status":"success"}\\n\' $(wc -c)';
  const prompt = "x".repeat(8 * 1024 * 1024);
  const turn = fixture.turns.create(fixture.request({ executable: "/bin/sh", args: ["-c", says], prompt }));
  await fixture.bridge.run(turn.paths.folder);
  expect(turn.result()?.history_summary).toBe(String(prompt.length));
});
