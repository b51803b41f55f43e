import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { attachGateway } from "../../../src/services/fleet/attach-gateway.ts";
import { stopAgent } from "../../../src/services/fleet/stop-agent.ts";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { createSessionLab, type SessionLab, standInGateway } from "../../support/session-lab.ts";
import { until } from "../../support/until.ts";

const notRunning = { outcome: "not_running" } as const;

async function treeOf(lab: SessionLab, session: string): Promise<number[]> {
  const [pane] = await lab.deps.tmux.panes(session);
  return (await lab.deps.processes.tree(pane?.panePid ?? 0)).map((one) => one.pid);
}

function attachDeps(lab: SessionLab, env: Record<string, string> = {}) {
  return {
    ...lab.deps,
    env: { ...lab.deps.env, ...env },
    serveCommand: [process.execPath, standInGateway, "serve"],
  };
}

describe("stopping an agent", () => {
  test("ends its processes and its session, and the record says so", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const pids = await treeOf(lab, session.manifest.tmux_session_name);
    const stop = await stopAgent(lab.deps, session);
    expect(stop).toMatchObject({
      gateway: notRunning,
      survivingPids: [],
      sessionEnded: true,
      recordStopped: true,
    });
    expect(stop.endedProcesses).toBeGreaterThanOrEqual(2);
    expect(pids.filter((pid) => lab.deps.processes.alive(pid))).toEqual([]);
    expect(await lab.sessions()).toEqual([]);
    expect(lab.deps.registry.read(session.record.agent_id)?.lifecycle).toMatchObject({
      state: "stopped",
      stop_reason: "operator_stop",
    });
  });

  test("the session ends only in the turn of a caller that may end one", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const [pid = 0] = await treeOf(lab, session.manifest.tmux_session_name);
    const release = await lab.tmux.mutex.take();
    const stopping = stopAgent(lab.deps, session);
    await lab.whenGone(pid);
    expect(await lab.sessions()).toEqual([session.manifest.tmux_session_name]);
    release();
    expect(await stopping).toMatchObject({ sessionEnded: true });
    expect(await lab.sessions()).toEqual([]);
  });

  test("also ends what ignores TERM, with its children", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request({ args: ["--stubborn"] }));
    await lab.report();
    const pids = await treeOf(lab, session.manifest.tmux_session_name);
    expect((await stopAgent(lab.deps, session)).survivingPids).toEqual([]);
    expect(pids.filter((pid) => lab.deps.processes.alive(pid))).toEqual([]);
  });

  test("twice is once", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    await stopAgent(lab.deps, session);
    const before = lab.deps.registry.read(session.record.agent_id);
    const again = await stopAgent(lab.deps, { ...session, record: before });
    expect(again).toEqual({
      gateway: notRunning,
      endedProcesses: 0,
      survivingPids: [],
      sessionEnded: false,
      recordStopped: false,
      interruptedTurns: [],
      unwritten: [],
    });
    expect(lab.deps.registry.read(session.record.agent_id)).toEqual(before);
  });

  test("whose manifest does not say where its tmux server is: ends nothing where it is not found", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const { socket, ...place } = session.manifest.tmux;
    const earlier = { ...session, manifest: { ...session.manifest, tmux: place } };
    const from = (path: string | undefined) => ({
      ...lab.deps,
      tmuxFor: () => lab.deps.tmuxFor(path),
    });
    const pids = await treeOf(lab, session.manifest.tmux_session_name);
    await expect(stopAgent(from(join(lab.tmux.folder, "elsewhere")), earlier)).rejects.toThrow(
      /process \d+ may be "worker".*TMUX_TMPDIR/,
    );
    expect(pids.filter((pid) => !lab.deps.processes.alive(pid))).toEqual([]);
    expect(lab.deps.registry.read(session.record.agent_id)?.lifecycle.state).toBe("active");
    expect(await stopAgent(from(socket), earlier)).toMatchObject({ sessionEnded: true, recordStopped: true });
  });

  test("leaves alone a session whose name only begins alike", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const sibling = `${session.manifest.tmux_session_name}0`;
    await lab.tmux.newSession(sibling, ["sleep", "60"]);
    await stopAgent(lab.deps, session);
    await stopAgent(lab.deps, session);
    expect(await lab.sessions()).toEqual([sibling]);
  });

  test("works when the agent has left and its pane is a shell", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const agentPid = session.manifest.runtime.agent_pid ?? 0;
    lab.deps.processes.signal(agentPid, "SIGKILL");
    const stop = await stopAgent(lab.deps, session);
    expect(stop).toMatchObject({ survivingPids: [], sessionEnded: true, recordStopped: true });
    expect(await lab.sessions()).toEqual([]);
  });

  test("leaves alone who has the id of a pane's former process, where an earlier stop was cut short", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const name = session.manifest.tmux_session_name;
    const [pane] = await lab.deps.tmux.panes(name);
    await lab.deps.tmux.keepPane("test", pane?.paneId ?? "", true);
    for (const pid of (await treeOf(lab, name)).reverse()) lab.deps.processes.signal(pid, "SIGKILL");
    await until("the pane is dead", async () => (await lab.deps.tmux.panes(name))[0]?.dead);
    const stranger = lab.deps.processes.pipe(["sleep", "60"]);
    const processes = { ...lab.deps.processes, tree: () => lab.deps.processes.tree(stranger.pid) };
    expect(await stopAgent({ ...lab.deps, processes }, session)).toMatchObject({
      endedProcesses: 0,
      sessionEnded: true,
    });
    expect(lab.deps.processes.alive(stranger.pid)).toBe(true);
    stranger.kill();
  });

  test("a stopped agent may be launched again under its name", async () => {
    await using lab = await createSessionLab();
    await stopAgent(lab.deps, await launchAgent(lab.deps, lab.request()));
    const again = await launchAgent(lab.deps, lab.request());
    expect(lab.deps.registry.read(again.record.agent_id)?.lifecycle.state).toBe("active");
  });
});

describe("stopping an agent with a gateway", () => {
  test("ends the gateway first and leaves no live file", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const { link } = await attachGateway(attachDeps(lab), session, {});
    const stop = await stopAgent(lab.deps, session);
    expect(stop.gateway).toEqual({ outcome: "stopped", pid: link.instance.pid });
    expect(lab.deps.processes.alive(link.instance.pid)).toBe(false);
    expect(lab.deps.files.exists(sessionPaths(session.sessionRoot).currentInstance)).toBe(false);
  });

  test("puts right what a killed gateway left, and keeps its epoch", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const { link } = await attachGateway(attachDeps(lab), session, {});
    lab.deps.processes.signal(link.instance.pid, "SIGKILL");
    const { currentInstance, state } = sessionPaths(session.sessionRoot);
    const stop = await stopAgent(lab.deps, session);
    expect(["not_running", "stopped"]).toContain(stop.gateway.outcome);
    expect(lab.deps.files.exists(currentInstance)).toBe(false);
    expect(JSON.parse(lab.deps.files.read(state) ?? "")).toMatchObject({
      gateway_health: "not_attached",
      managed_agent_instance_epoch: 3,
    });
  });

  test("ends one that no longer answers, known by its command line", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const { link } = await attachGateway(attachDeps(lab), session, {});
    lab.deps.processes.signal(link.instance.pid, "SIGKILL");
    const deaf = lab.deps.processes.detach(
      "test:deaf",
      [process.execPath, standInGateway, "serve", "--session-root", session.sessionRoot],
      {
        env: { ...lab.deps.env, STAND_IN_MODE: "deaf" } as Record<string, string>,
        cwd: session.sessionRoot,
        logPath: join(lab.tmux.folder, "deaf.log"),
      },
    );
    await lab.whenServedBy(session.sessionRoot, deaf.pid);
    const stop = await stopAgent(lab.deps, session);
    expect(stop.gateway).toEqual({ outcome: "stopped", pid: deaf.pid });
    expect(lab.deps.processes.alive(deaf.pid)).toBe(false);
  });

  test("never signals a stranger that has the recorded id", async () => {
    await using lab = await createSessionLab();
    const session = await launchAgent(lab.deps, lab.request());
    const stranger = lab.deps.processes.pipe(["sleep", "60"]);
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
    const stop = await stopAgent(lab.deps, session);
    expect(stop.gateway).toMatchObject({ outcome: "unproven", pid: stranger.pid });
    expect(lab.deps.processes.alive(stranger.pid)).toBe(true);
    stranger.kill();
    await stranger.exited;
  });
});
