import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Manifest } from "../../../src/protocol/files.ts";
import { attachGateway } from "../../../src/services/fleet/attach-gateway.ts";
import { planForgetting } from "../../../src/services/fleet/forget-agent.ts";
import { stopAgent } from "../../../src/services/fleet/stop-agent.ts";
import { createTurnDirectories } from "../../../src/services/headless/turn-directory.ts";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createSessionFixture, type SessionFixture, standInGateway } from "../../support/session-fixture.ts";
import { until } from "../../support/until.ts";

const notRunning = { outcome: "not_running" } as const;

async function treeOf(fixture: SessionFixture, session: string): Promise<number[]> {
  const [pane] = await fixture.deps.tmux.panes(session);
  return (await fixture.deps.processes.tree(pane?.panePid ?? 0)).map((one) => one.pid);
}

function attachDeps(fixture: SessionFixture, env: Record<string, string> = {}) {
  return {
    ...fixture.deps,
    env: { ...fixture.deps.env, ...env },
    serveCommand: [process.execPath, standInGateway, "serve"],
  };
}

describe("stopping an agent", () => {
  test("ends its processes and its session, and the record says so", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const pids = await treeOf(fixture, session.manifest.tmux_session_name);
    const stop = await stopAgent(fixture.deps, session);
    expect(stop).toMatchObject({
      gateway: notRunning,
      survivingPids: [],
      sessionEnded: true,
      recordStopped: true,
    });
    expect(stop.endedProcesses).toBeGreaterThanOrEqual(2);
    expect(pids.filter((pid) => fixture.deps.processes.alive(pid))).toEqual([]);
    expect(await fixture.sessions()).toEqual([]);
    expect(fixture.deps.registry.read(session.record.agent_id)?.lifecycle).toMatchObject({
      state: "stopped",
      stop_reason: "operator_stop",
    });
  });

  test("the session ends only in the turn of a caller that may end one", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const [pid = 0] = await treeOf(fixture, session.manifest.tmux_session_name);
    const release = await fixture.tmux.mutex.take();
    const stopping = stopAgent(fixture.deps, session);
    await fixture.whenGone(pid);
    expect(await fixture.sessions()).toEqual([session.manifest.tmux_session_name]);
    release();
    expect(await stopping).toMatchObject({ sessionEnded: true });
    expect(await fixture.sessions()).toEqual([]);
  });

  test("also ends what ignores TERM, with its children", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request({ args: ["--stubborn"] }));
    await fixture.report();
    const pids = await treeOf(fixture, session.manifest.tmux_session_name);
    expect((await stopAgent(fixture.deps, session)).survivingPids).toEqual([]);
    expect(pids.filter((pid) => fixture.deps.processes.alive(pid))).toEqual([]);
  });

  test("a joined pane whose first turn has just ended is a shell again, before the manifest has the turn's number", async () => {
    await using fixture = await createSessionFixture();
    const { manifest: launched, ...session } = await launchAgent(fixture.deps, fixture.request());
    const manifest: Manifest = {
      ...launched,
      backend: "demo_headless",
      agent_launch_authority: { ...launched.agent_launch_authority, session_origin: "joined_tmux" },
    };
    const turn = createTurnDirectories({ ...fixture.deps, sessionRoot: session.sessionRoot }).create({
      schema_version: 1,
      turn_id: "turn-1",
      turn_index: 1,
      tracked_agent_id: "session",
      request_id: null,
      requested_at_utc: "2026-01-01T00:00:00.000+00:00",
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
    turn.saveResult({
      schema_version: 1,
      status: "completed",
      completed_at_utc: "2026-01-01T00:00:01.000+00:00",
      completion_source: "terminal_event",
      error: null,
      returncode: 0,
      signal: null,
      session_id: null,
      history_summary: null,
      usage: null,
    });
    const paneOf = async () => (await fixture.deps.tmux.panes(manifest.tmux_session_name))[0]?.panePid;
    const before = await paneOf();
    expect(await stopAgent(fixture.deps, { ...session, manifest })).toMatchObject({ interruptedTurns: [] });
    expect(await paneOf()).toBeGreaterThan(0);
    expect(await paneOf()).not.toBe(before);
  });

  test("twice is once", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    await stopAgent(fixture.deps, session);
    const before = fixture.deps.registry.read(session.record.agent_id);
    const again = await stopAgent(fixture.deps, { ...session, record: before });
    expect(again).toEqual({
      gateway: notRunning,
      endedProcesses: 0,
      survivingPids: [],
      sessionEnded: false,
      recordStopped: false,
      interruptedTurns: [],
      unwritten: [],
    });
    expect(fixture.deps.registry.read(session.record.agent_id)).toEqual(before);
  });

  test("whose manifest does not say where its tmux server is: ends nothing where it is not found", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const { socket, ...place } = session.manifest.tmux;
    const earlier = { ...session, manifest: { ...session.manifest, tmux: place } };
    const from = (path: string | undefined) => ({
      ...fixture.deps,
      tmuxFor: () => fixture.deps.tmuxFor(path),
    });
    const pids = await treeOf(fixture, session.manifest.tmux_session_name);
    expect(await awaitOutcome(stopAgent(from(join(fixture.tmux.folder, "elsewhere")), earlier))).toThrow(
      /process \d+ may be "worker".*TMUX_TMPDIR/,
    );
    expect(pids.filter((pid) => !fixture.deps.processes.alive(pid))).toEqual([]);
    expect(fixture.deps.registry.read(session.record.agent_id)?.lifecycle.state).toBe("active");
    expect(await stopAgent(from(socket), earlier)).toMatchObject({ sessionEnded: true, recordStopped: true });
  });

  test("leaves alone a session whose name only begins alike", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const sibling = `${session.manifest.tmux_session_name}0`;
    await fixture.tmux.newSession(sibling, ["sleep", "60"]);
    await stopAgent(fixture.deps, session);
    await stopAgent(fixture.deps, session);
    expect(await fixture.sessions()).toEqual([sibling]);
  });

  test("works when the agent has left and its pane is a shell", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const agentPid = session.manifest.runtime.agent_pid ?? 0;
    fixture.deps.processes.signal(agentPid, "SIGKILL");
    const stop = await stopAgent(fixture.deps, session);
    expect(stop).toMatchObject({ survivingPids: [], sessionEnded: true, recordStopped: true });
    expect(await fixture.sessions()).toEqual([]);
  });

  test("leaves alone who has the id of a pane's former process, where an earlier stop was cut short", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const name = session.manifest.tmux_session_name;
    const [pane] = await fixture.deps.tmux.panes(name);
    await fixture.deps.tmux.keepPane("test", pane?.paneId ?? "", true);
    for (const pid of (await treeOf(fixture, name)).reverse()) fixture.deps.processes.signal(pid, "SIGKILL");
    await until("the pane is dead", async () => (await fixture.deps.tmux.panes(name))[0]?.dead);
    const stranger = fixture.deps.processes.pipe(["sleep", "60"]);
    const processes = { ...fixture.deps.processes, tree: () => fixture.deps.processes.tree(stranger.pid) };
    expect(await stopAgent({ ...fixture.deps, processes }, session)).toMatchObject({
      endedProcesses: 0,
      sessionEnded: true,
    });
    expect(fixture.deps.processes.alive(stranger.pid)).toBe(true);
    stranger.kill();
  });

  test("finds a session that a person renamed, although another one has its name now", async () => {
    await using fixture = await createSessionFixture();
    const { tmux } = fixture;
    const session = await launchAgent(fixture.deps, fixture.request());
    const name = session.manifest.tmux_session_name;
    const pids = await treeOf(fixture, name);
    await tmux.run("rename-session", "-t", `=${name}`, "mine");
    await tmux.newSession("other", ["sleep", "600"]);
    await tmux.run("rename-session", "-t", "=other", name);
    expect(await fixture.deps.sessionAlive(session.record)).toBe(true);
    expect(await awaitOutcome(launchAgent(fixture.deps, fixture.request()))).toThrow("already runs");
    expect(await stopAgent(fixture.deps, session)).toMatchObject({ survivingPids: [], sessionEnded: true });
    expect(pids.filter((pid) => fixture.deps.processes.alive(pid))).toEqual([]);
    expect(await tmux.run("list-sessions", "-F", "#{session_name}")).toBe(name);
  });

  test.each([
    {
      id: "whose session was closed under it",
      args: ["--stubborn"],
      lose: ({ tmux }: SessionFixture, name: string) => tmux.run("kill-session", "-t", `=${name}`),
    },
    {
      id: "whose pane a person moved into a session of theirs",
      args: [],
      lose: async ({ tmux }: SessionFixture, name: string) => {
        await tmux.newSession("theirs", ["sleep", "600"]);
        await tmux.run("join-pane", "-d", "-s", `=${name}:0.0`, "-t", "=theirs:");
      },
    },
  ])("ends a program $id, before it says stopped or removes its record", async ({ args, lose }) => {
    await using fixture = await createSessionFixture();
    const { processes } = fixture.deps;
    const session = await launchAgent(fixture.deps, fixture.request({ args }));
    await fixture.report();
    const pid = session.manifest.runtime.agent_pid ?? 0;
    await lose(fixture, session.manifest.tmux_session_name);
    await until("the session has gone", async () => !(await fixture.deps.sessionAlive(session.record)));
    expect(processes.alive(pid)).toBe(true);
    expect(await awaitOutcome(planForgetting(fixture.deps, session.record))).toThrow(
      `process ${pid} of "worker"`,
    );
    const stop = await stopAgent(fixture.deps, session);
    expect([stop.survivingPids, processes.alive(pid)]).toEqual([[], false]);
    expect(await planForgetting(fixture.deps, session.record)).toMatchObject({ record: session.record });
  });

  test("leaves alone a process of the user that its manifest names and that is not its tool's program", async () => {
    await using fixture = await createSessionFixture();
    const { processes } = fixture.deps;
    const session = await launchAgent(fixture.deps, fixture.request());
    await fixture.tmux.newSession("theirs", ["sleep", "600"]);
    const [victim = 0] = await treeOf(fixture, "theirs");
    const runtime = {
      ...session.manifest.runtime,
      agent_pid: victim,
      agent_start_token: processes.startToken(victim),
    };
    const manifest: Manifest = { ...session.manifest, runtime };
    writeFileSync(session.manifestPath, JSON.stringify(manifest));
    expect(await stopAgent(fixture.deps, { ...session, manifest })).toMatchObject({
      survivingPids: [],
      sessionEnded: true,
    });
    expect(processes.alive(victim)).toBe(true);
    expect(await planForgetting(fixture.deps, session.record)).toMatchObject({ record: session.record });
  });

  test("a stopped agent may be launched again under its name", async () => {
    await using fixture = await createSessionFixture();
    await stopAgent(fixture.deps, await launchAgent(fixture.deps, fixture.request()));
    const again = await launchAgent(fixture.deps, fixture.request());
    expect(fixture.deps.registry.read(again.record.agent_id)?.lifecycle.state).toBe("active");
  });
});

describe("stopping an agent with a gateway", () => {
  test("ends the gateway first and leaves no live file", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const { link } = await attachGateway(attachDeps(fixture), session, {});
    const stop = await stopAgent(fixture.deps, session);
    expect(stop.gateway).toEqual({ outcome: "stopped", pid: link.instance.pid });
    expect(fixture.deps.processes.alive(link.instance.pid)).toBe(false);
    expect(fixture.deps.files.exists(sessionPaths(session.sessionRoot).currentInstance)).toBe(false);
  });

  test("puts right what a killed gateway left, and keeps its epoch", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const { link } = await attachGateway(attachDeps(fixture), session, {});
    fixture.deps.processes.signal(link.instance.pid, "SIGKILL");
    const { currentInstance, state } = sessionPaths(session.sessionRoot);
    const stop = await stopAgent(fixture.deps, session);
    expect(["not_running", "stopped"]).toContain(stop.gateway.outcome);
    expect(fixture.deps.files.exists(currentInstance)).toBe(false);
    expect(JSON.parse(fixture.deps.files.read(state) ?? "")).toMatchObject({
      gateway_health: "not_attached",
      managed_agent_instance_epoch: 3,
    });
  });

  test("ends one that no longer answers, known by its command line", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const { link } = await attachGateway(attachDeps(fixture), session, {});
    fixture.deps.processes.signal(link.instance.pid, "SIGKILL");
    const deaf = fixture.deps.processes.detach(
      "test:deaf",
      [process.execPath, standInGateway, "serve", "--session-root", session.sessionRoot],
      {
        env: { ...fixture.deps.env, STAND_IN_MODE: "deaf" } as Record<string, string>,
        cwd: session.sessionRoot,
        logPath: join(fixture.tmux.folder, "deaf.log"),
      },
    );
    await fixture.whenServedBy(session.sessionRoot, deaf.pid);
    const stop = await stopAgent(fixture.deps, session);
    expect(stop.gateway).toEqual({ outcome: "stopped", pid: deaf.pid });
    expect(fixture.deps.processes.alive(deaf.pid)).toBe(false);
  });

  test("never signals a stranger that has the recorded id", async () => {
    await using fixture = await createSessionFixture();
    const session = await launchAgent(fixture.deps, fixture.request());
    const stranger = fixture.deps.processes.pipe(["sleep", "60"]);
    const { currentInstance } = sessionPaths(session.sessionRoot);
    const instance = {
      schema_version: 1,
      protocol_version: "v1",
      pid: stranger.pid,
      host: "127.0.0.1",
      port: 9,
      execution_mode: "detached_process",
      managed_agent_instance_epoch: 1,
    };
    writeFileSync(currentInstance, JSON.stringify(instance));
    const stop = await stopAgent(fixture.deps, session);
    expect(stop.gateway).toMatchObject({ outcome: "unproven", pid: stranger.pid });
    expect(fixture.deps.processes.alive(stranger.pid)).toBe(true);
    stranger.kill();
    await stranger.exited;
  });
});
