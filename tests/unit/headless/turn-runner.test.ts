import { expect, test } from "bun:test";
import type { Evidence } from "../../../src/protocol/gateway.ts";
import type { TurnProcess, TurnResult } from "../../../src/protocol/turn-files.ts";
import type { Submission } from "../../../src/services/agent/agent.ts";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { createTurnRunner } from "../../../src/services/headless/turn-runner.ts";
import { createManifestStore, readManifest, toRestarted } from "../../../src/services/sessions/manifest.ts";
import type { TmuxPane } from "../../../src/services/terminal/tmux/command.ts";
import { createIds } from "../../../src/system/ids.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { createFolderWatch } from "../../../src/system/watch.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";
import { until } from "../../support/until.ts";

const at = (second: number) => `2026-01-01T00:00:0${second}.000+00:00`;

/** A runner that has begun nothing, over a turn that an earlier one began for the request `one`. */
function setup(append: (kind: string) => void = () => {}) {
  const logged: string[] = [];
  const scratch = createScratch();
  const { files } = scratch;
  const clock = createFakeClock();
  const locks = createLocks({ clock });
  const manifest = sampleManifest();
  const manifestPath = scratch.path("manifest.json");
  files.write("test", manifestPath, JSON.stringify(manifest));
  const turns = createTurnDirectories({ files, sessionRoot: scratch.folder });
  const turn = turns.create({
    schema_version: 1,
    turn_id: "turn-1",
    turn_index: 7,
    tracked_agent_id: "session",
    request_id: "one",
    requested_at_utc: at(0),
    life: null,
    tool: "demo",
    executable: "demo",
    args: [],
    working_directory: "/",
    role_prompt: null,
    prompt: "x",
    session: { mode: "new" },
    model: null,
    display_style: "plain",
    display_detail: "concise",
  });
  const runner = createTurnRunner({
    clock,
    files,
    locks,
    turns,
    ids: createIds(),
    watch: createFolderWatch(),
    processes: createProcesses({ steps: quietSteps }),
    providerOf: () => null,
    pane: { begin: () => Promise.reject(new Error("nothing is begun here")) },
    manifests: createManifestStore({ files, locks }),
    manifestPath,
    log: { line: (what) => void logged.push(what) },
    events: { append },
  });
  return {
    runner,
    logged,
    manifest,
    clock,
    turns,
    onDisk: () => readManifest(files, manifestPath),
    /** What a relaunch does while it holds the manifest. */
    relaunching() {
      const held = locks.tryTake(`${manifestPath}.lock`);
      return () => {
        files.write(
          "test",
          manifestPath,
          JSON.stringify(toRestarted(manifest, { resume: { mode: "new" }, life: "NEW" })),
        );
        held?.release();
      };
    },
    saveProcess: (childPid: number | null) =>
      turn.saveProcess({
        ...({ runner_pid: 1, runner_start: null, child_start: null } satisfies Partial<TurnProcess>),
        child_pid: childPid,
        launched_at_utc: at(1),
      }),
    saveEvents(kinds: readonly string[]) {
      const lines = kinds.map((kind, index) =>
        JSON.stringify({
          kind,
          message: "m",
          turn_index: 7,
          provider: "demo",
          provider_event_type: "x",
          timestamp_utc: at(2 + index),
        }),
      );
      files.append("test", turn.paths.events, `no event\n${lines.join("\n")}\n`);
    },
    saveResult: (status: TurnResult["status"], source: string, session_id: string | null = null) =>
      turn.saveResult({
        schema_version: 1,
        status,
        completed_at_utc: at(9),
        completion_source: source,
        error: null,
        returncode: 0,
        signal: null,
        session_id,
        history_summary: "done",
        usage: null,
      }),
    resume() {
      const told: Evidence[] = [];
      return { turn: runner.resume("one", (evidence) => void told.push(evidence)), told };
    },
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

const ended = (proof: string) => ({ step: "turn_ended", at_utc: at(9), proof }) as const;
const submitted = { step: "submitted", at_utc: at(1), proof: "the tool was started as process 42" } as const;

test("a turn that ended unseen reports each of its steps once, in order, with its own time", async () => {
  using fixture = setup();
  fixture.saveProcess(42);
  fixture.saveEvents(["session", "assistant", "completion"]);
  fixture.saveResult("completed", "terminal_event");
  const { turn, told } = fixture.resume();
  expect(told).toEqual([
    submitted,
    { step: "turn_started", at_utc: at(2), proof: "the tool wrote its first event: session" },
    ended("completed, decided by terminal_event"),
  ]);
  expect(turn).toMatchObject({ turnId: "turn-1", turnIndex: 7 });
  expect(await turn?.ended).toEqual({ status: "completed", detail: "done" });
});

test("a tool that said nothing did not start its turn", () => {
  using fixture = setup();
  fixture.saveProcess(42);
  fixture.saveResult("failed", "process_exit");
  expect(fixture.resume().told).toEqual([submitted, ended("failed, decided by process_exit")]);
});

test.each([
  ["no runner has claimed", null],
  ["a runner claimed and started no tool for", { childPid: null }],
])("a turn that %s was not submitted", (_, claimed) => {
  using fixture = setup();
  if (claimed) fixture.saveProcess(claimed.childPid);
  fixture.saveResult("interrupted", "not_started");
  expect(fixture.resume().told).toEqual([ended("interrupted, decided by not_started")]);
});

test("a turn without a final state that nobody follows is none, and says nothing", () => {
  using fixture = setup();
  fixture.saveProcess(42);
  expect(fixture.resume()).toEqual({ turn: null, told: [] });
});

test("a turn whose end cannot be recorded frees its slot and is reported once", async () => {
  using fixture = setup((kind) => {
    if (kind === "turn_finished") throw new Error("the disk is full");
  });
  const { manifest } = fixture;
  await fixture.runner.takeOver(manifest);
  const { turn } = fixture.resume();
  expect(fixture.runner.active()).toEqual({ turnId: "turn-1", turnIndex: 7 });
  fixture.saveProcess(null);
  fixture.saveResult("completed", "terminal_event");
  expect(await turn?.ended).toEqual({ status: "completed", detail: "done" });
  expect(fixture.runner.active()).toBeNull();
  expect(fixture.logged.filter((what) => what.includes("end of the turn"))).toHaveLength(1);
  await fixture.runner.stop();
});

test("a turn ends although a listener throws", async () => {
  using fixture = setup();
  await fixture.runner.takeOver(fixture.manifest);
  fixture.runner.onChange(() => {
    throw new Error("a listener");
  });
  const { turn } = fixture.resume();
  fixture.saveProcess(null);
  fixture.saveResult("completed", "terminal_event");
  expect(await turn?.ended).toEqual({ status: "completed", detail: "done" });
  expect(fixture.runner.active()).toBeNull();
  await fixture.runner.stop();
});

test("the end of a turn is reported before its conversation is in the manifest, and counts at once", async () => {
  using fixture = setup();
  const { runner, manifest, clock } = fixture;
  await runner.takeOver(manifest);
  const { turn } = fixture.resume();
  fixture.saveProcess(42);
  fixture.saveResult("completed", "terminal_event", "conversation-1");
  expect(await turn?.ended).toMatchObject({ status: "completed" });
  const pinned = { session_id: "conversation-1", turn_index: 7, role_bootstrap_applied: true };
  expect(runner.latest(manifest).headless).toMatchObject(pinned);
  expect(fixture.onDisk().headless).toBeUndefined();
  await clock.advance(10);
  await until("the manifest to have it", () => fixture.onDisk().headless);
  expect(fixture.onDisk().headless).toMatchObject(pinned);
  await runner.stop();
});

test("a gateway that stops right after a turn leaves its conversation in the manifest", async () => {
  using fixture = setup();
  await fixture.runner.takeOver(fixture.manifest);
  const { turn } = fixture.resume();
  fixture.saveProcess(42);
  fixture.saveResult("completed", "terminal_event", "conversation-1");
  await turn?.ended;
  await fixture.runner.stop();
  expect(fixture.onDisk().headless).toMatchObject({ session_id: "conversation-1" });
});

test("a turn that waited for the manifest is not begun for an agent that was relaunched meanwhile", async () => {
  using fixture = setup();
  const { runner, manifest, clock, turns } = fixture;
  await runner.takeOver(manifest);
  const { turn } = fixture.resume();
  fixture.saveProcess(42);
  fixture.saveResult("completed", "terminal_event", "conversation-1");
  await turn?.ended;
  const relaunched = fixture.relaunching();
  const submission = { prompt: "next", onEvidence: () => {} } as unknown as Submission;
  const pane = { paneId: "%0" } as TmuxPane;
  const begun = runner.begin({ submission, session: { mode: "new" }, pane, manifest });
  // A matcher of a promise that rejects later would hold the thread, and with it the clock.
  const refused = begun.catch((error: Error) => error.message);
  await clock.advance(50);
  relaunched();
  await clock.advance(50);
  expect(await refused).toBe("the agent has just become a new instance");
  expect(turns.all()).toHaveLength(1);
  expect(fixture.onDisk().headless).toMatchObject({ life: "NEW", turn_index: 7 });
  expect(fixture.onDisk().headless).not.toHaveProperty("session_id");
  await runner.stop();
});
