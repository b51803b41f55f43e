import { expect, test } from "bun:test";
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { TerminalState } from "../../../src/protocol/terminal.ts";
import { profileFor } from "../../../src/services/terminal/profiles/profile.ts";
import type { ControlConnection } from "../../../src/services/terminal/tmux/control.ts";
import { createLauncher } from "../../../src/services/terminal/tmux/launch.ts";
import type { TmuxCommand } from "../../../src/services/terminal/tmux/protocol.ts";
import { createTracker, type Tracker } from "../../../src/services/terminal/tracker.ts";
import type { Clock } from "../../../src/system/clock.ts";
import { sampleManifest } from "../../support/session-samples.ts";
import { createTmux, type TmuxFixture } from "../../support/tmux.ts";
import { until } from "../../support/until.ts";

/** A process of the demo tool that draws nothing by itself: tests write its screen through its terminal. */
const fakeTuiCommand = ["sh", "-c", "stty raw -echo; while :; do sleep 1000; done", "sh", "demo-agent"];

interface FakeTui {
  /** Replaces the whole screen and the title; 36 rows, cursor in the composer. */
  draw(frame: { title?: string; lines?: readonly string[]; draft?: string }): void;
  /** Writes as the program would. */
  write(text: string): void;
}

/** The program in `paneId`, which must have been started with `fakeTuiCommand`. */
async function openFakeTui(t: TmuxFixture, paneId: string): Promise<FakeTui> {
  const pid = Number(await t.run("display-message", "-p", "-t", paneId, "#{pane_pid}"));
  await until("the program runs", async () =>
    (await t.processes.tree(pid)).some(({ command }) => command === "sleep"),
  );
  const tty = openSync(await t.run("display-message", "-p", "-t", paneId, "#{pane_tty}"), "w");
  const write = (text: string) => {
    writeSync(tty, text);
  };
  return {
    write,
    draw({ title = "demo: ready", lines = [], draft = "" }) {
      const rule = "─".repeat(120);
      const rows = ["svc demo agent v1", ...lines];
      const above = rows.map((row) => `${row}\r\n`).join("");
      const composer = `${rule}\r\n▶ ${draft}\x1b7\r\n${rule}\x1b8`;
      write(`\x1b[2J\x1b[H\x1b]2;${title}\x07${above}${composer}`);
    },
  };
}

const SESSION = "SVC-worker-1";

/** Short enough that a test need not wait, long enough that a poll cannot pass for a push. */
const timings = {
  watch_poll_interval_seconds: 0.1,
  stability_threshold_seconds: 0.2,
  completion_stability_seconds: 0.2,
  unknown_to_stalled_timeout_seconds: 30,
  stale_active_recovery_seconds: 5,
  final_stable_active_recovery_seconds: 20,
};

async function setup() {
  const t = await createTmux();
  const folder = join(t.folder, "scripts");
  t.files.ensureDirectory("test", folder);
  const launcher = createLauncher({ ...t, folder });
  const launch = () =>
    launcher.launch({
      session: SESSION,
      workdir: t.folder,
      command: fakeTuiCommand,
      env: {},
      sessionEnv: {},
    });
  const pane = await launch();
  const tui = await openFakeTui(t, pane.paneId);
  const connection = await t.control(SESSION);
  const sent: TmuxCommand[] = [];
  const control: ControlConnection = {
    ...connection,
    run(commands) {
      sent.push(...commands);
      return connection.run(commands);
    },
  };
  const timers = new Map<number, number>();
  const lines: string[] = [];
  const tracker = createTracker({
    control,
    tmux: t.tmux,
    processes: t.processes,
    clock: listing(t.clock, timers),
    profile: profileFor("demo"),
    manifest: sampleManifest({
      tmux: {
        sessionName: SESSION,
        windowName: "agent",
        windowId: pane.windowId,
        paneId: pane.paneId,
        socket: t.socket,
      },
    }),
    sessionRoot: "/sessions/one",
    log: { line: (text, fields) => lines.push(`${text} ${fields?.["error"] ?? ""}`) },
    timings,
  });
  tracker.start();
  await tracker.firstLook(60_000);
  const captures = () => sent.filter(([name]) => name === "capture-pane").length;
  return {
    t,
    pane,
    tui,
    tracker,
    connection,
    captures,
    timers,
    lines,
    launch,
    async [Symbol.asyncDispose]() {
      await tracker.stop();
      await t[Symbol.asyncDispose]();
    },
  };
}

/** The first state, present or future, that satisfies `wanted`; by push only. */
function state(tracker: Tracker, wanted: (state: TerminalState) => boolean): Promise<TerminalState> {
  const now = tracker.state();
  if (wanted(now)) return Promise.resolve(now);
  return new Promise((resolve) => {
    const stop = tracker.subscribe((next) => {
      if (!wanted(next)) return;
      stop();
      resolve(next);
    });
  });
}

const ready = ({ turn, stability }: TerminalState) => turn.phase === "ready" && stability.stable;
const busy = ({ turn }: TerminalState) => turn.phase === "active";

function listing(clock: Clock, live: Map<number, number>): Clock {
  let last = 0;
  return {
    ...clock,
    after(delayMs, run) {
      const id = ++last;
      live.set(id, delayMs);
      const cancel = clock.after(delayMs, () => {
        live.delete(id);
        run();
      });
      return () => {
        live.delete(id);
        cancel();
      };
    },
  };
}

const spinner = { title: "⠋ demo: working", lines: ["⠋ Thinking… (1s · esc to interrupt)"] };

test("what the pane shows becomes a state: ready, busy, ready again with success", async () => {
  await using s = await setup();
  s.tui.draw({});
  const first = await state(s.tracker, ready);
  expect(first).toMatchObject({
    terminal_id: "local_interactive-20261121-044700Z-0a1b2c3d",
    diagnostics: { availability: "available", transport_state: "tmux_up", process_state: "tui_up" },
    surface: { accepting_input: "yes", editing_input: "no", ready_posture: "yes", pending_input: "no" },
    probe_snapshot: { pane_id: s.pane.paneId, pane_pid: s.pane.panePid },
    tracked_session: { observed_tool_version: "1", tmux_session_name: SESSION },
    last_turn: { result: "none" },
  });
  s.tui.draw(spinner);
  await state(s.tracker, busy);
  s.tui.draw({ lines: ["> hello", "an answer", "— done in 1s —"] });
  const after = await state(s.tracker, ({ last_turn }) => last_turn.result === "success");
  expect(after.last_turn.source).toBe("surface_inference");
});

test("a settled screen causes no command and has one timer, the resynchronisation", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  // The sample that found it stable was the last; what is left is one timer of about thirty seconds.
  await until(
    "the loop sleeps",
    () => s.timers.size === 1 && [...s.timers.values()].every((ms) => ms > 29_000),
  );
  const before = s.captures();
  await s.t.run("new-window", "-d", "-t", `=${SESSION}:`, "--", "sh", "-c", "seq 1 2000; cat");
  await until("the other window has written", async () =>
    (await s.t.run("list-windows", "-t", `=${SESSION}`, "-F", "#{history_size}"))
      .split("\n")
      .some((n) => Number(n) > 1000),
  );
  expect(s.captures() - before).toBeLessThanOrEqual(1);
  // No poll is near: the change below is seen because it is pushed.
  s.tui.draw(spinner);
  await state(s.tracker, busy);
});

test("a busy screen is sampled at most every thirty milliseconds, and its last frame is seen", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  const before = { captures: s.captures(), ms: s.t.clock.monotonicMs() };
  for (let frame = 1; frame <= 100; frame++) {
    s.tui.draw({ ...spinner, lines: [`⠋ Frame ${frame}… (1s · esc to interrupt)`] });
    // One answer of tmux a frame keeps the frames apart.
    await s.connection.run([["display-message"]]);
  }
  await state(
    s.tracker,
    ({ probe_snapshot }) => probe_snapshot?.captured_text_excerpt.includes("Frame 100…") === true,
  );
  const spentMs = s.t.clock.monotonicMs() - before.ms;
  expect(s.captures() - before.captures).toBeLessThanOrEqual(spentMs / 30 + 2);
  expect(s.captures() - before.captures).toBeGreaterThan(0);
});

test("a look sees everything drawn before it was asked for", async () => {
  await using s = await setup();
  for (const draft of ["one", "two", "three"]) {
    s.tui.draw({ draft });
    await until("tmux has it", async () => (await s.t.screen(s.pane.paneId)).includes(`▶ ${draft}`));
    const seen = await s.tracker.look();
    expect(seen.surface.editing_input).toBe("yes");
    expect(seen.probe_snapshot?.captured_text_excerpt).toContain(draft);
  }
  expect((await s.tracker.observe())?.pane).toMatchObject({
    width: 120,
    height: 36,
    title: "demo: ready",
    inMode: false,
  });
});

test("when the agent's process ends its state is tui_down, though its last screen is still there", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  const tree = await s.t.processes.tree(s.pane.panePid);
  for (const { pid, argv } of tree) if (argv.includes("demo-agent")) s.t.processes.signal(pid, "SIGKILL");
  const down = await state(s.tracker, ({ diagnostics }) => diagnostics.process_state === "tui_down");
  expect(down.diagnostics).toMatchObject({ availability: "tui_down", parse_status: "skipped_tui_down" });
  expect(down.surface.ready_posture).toBe("unknown");
  expect(s.tracker.paneId()).toBe(s.pane.paneId);
});

test("when the session ends it is tmux_missing at once, whatever else runs on that server", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  await s.t.newSession(`${SESSION}0`, fakeTuiCommand);
  await s.t.run("kill-session", "-t", `=${SESSION}`);
  const gone = await state(s.tracker, ({ diagnostics }) => diagnostics.transport_state === "tmux_missing");
  expect(gone.diagnostics).toMatchObject({
    availability: "unavailable",
    parse_status: "transport_unavailable",
  });
  expect(s.tracker.paneId()).toBeNull();
  expect(s.tracker.instanceId()).toBeNull();
  const entries = s.tracker.history(1000).entries.length;
  await s.tracker.look();
  expect(s.tracker.history(1000).entries.length).toBe(entries);
});

test("when only the agent's pane is closed it is tmux_missing, and no other pane replaces it", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  await s.t.run("split-window", "-d", "-t", s.pane.paneId, "--", ...fakeTuiCommand);
  await s.t.run("kill-pane", "-t", s.pane.paneId);
  await state(s.tracker, ({ diagnostics }) => diagnostics.transport_state === "tmux_missing");
  expect(s.tracker.paneId()).toBeNull();
});

test("after the server was killed and the session made again the state is read afresh, as a new instance", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  const first = s.tracker.instanceId();
  expect(first).toContain(String(s.pane.panePid));
  process.kill(Number(await s.t.run("display-message", "-p", "#{pid}")), "SIGKILL");
  await state(s.tracker, ({ diagnostics }) => diagnostics.transport_state !== "tmux_up");
  expect(s.tracker.instanceId()).toBeNull();
  await s.t.startServer();
  const pane = await s.launch();
  await state(s.tracker, ({ diagnostics }) => diagnostics.process_state === "tui_up");
  expect(pane.paneId).toBe(s.pane.paneId);
  expect(s.tracker.instanceId()).not.toBe(first);
  const tui = await openFakeTui(s.t, pane.paneId);
  tui.draw({});
  await state(s.tracker, ready);
});

test("a noted prompt makes the turn active at once, before anything is drawn", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  let material = false;
  const stop = s.tracker.subscribe((_, change) => {
    material ||= change.material;
  });
  s.tracker.notePrompt({ baseline: null, sawActivity: false, command: false });
  stop();
  expect(s.tracker.state().turn.phase).toBe("active");
  expect(material).toBe(true);
});

test("a pane in copy mode is still read, and says so", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  await s.t.run("copy-mode", "-t", s.pane.paneId);
  expect((await s.tracker.observe())?.pane.inMode).toBe(true);
  expect(s.tracker.state().surface.ready_posture).toBe("yes");
});

test("a listener that throws is reported once and silences nobody", async () => {
  await using s = await setup();
  s.tracker.subscribe(() => {
    throw new Error("listener broke");
  });
  s.tui.draw({});
  await state(s.tracker, ready);
  s.tui.draw(spinner);
  await state(s.tracker, busy);
  expect(s.lines).toEqual(["a listener of the terminal state failed listener broke"]);
});

test("a tracker that is stopped samples no more and leaves no timer; it may be started again", async () => {
  await using s = await setup();
  s.tui.draw({});
  await state(s.tracker, ready);
  await s.tracker.stop();
  await s.tracker.stop();
  expect(s.timers.size).toBe(0);
  const before = s.captures();
  s.tui.draw(spinner);
  await until("tmux has it", async () => (await s.t.screen(s.pane.paneId)).includes("Thinking"));
  expect(s.captures()).toBe(before);
  s.tracker.start();
  s.tracker.start();
  await state(s.tracker, busy);
});

test("a first look does not wait for a terminal that is not there", async () => {
  await using t: TmuxFixture = await createTmux();
  await t.newSession("keeper", ["cat"]);
  const { createControlConnection } = await import("../../../src/services/terminal/tmux/control.ts");
  const control = createControlConnection({ ...t, session: SESSION, log: () => {} });
  const tracker = createTracker({
    control,
    tmux: t.tmux,
    processes: t.processes,
    clock: t.clock,
    profile: null,
    sessionRoot: "/s",
    log: { line() {} },
    manifest: sampleManifest({
      tmux: { sessionName: SESSION, windowName: "agent", windowId: "@0", paneId: "%0", socket: t.socket },
    }),
  });
  control.start();
  tracker.start();
  await tracker.firstLook(60_000);
  expect(tracker.state().diagnostics).toMatchObject({
    transport_state: "tmux_missing",
    availability: "unavailable",
  });
  await tracker.stop();
  await control.stop();
});
