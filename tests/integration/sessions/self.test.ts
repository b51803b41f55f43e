import { describe, expect, test } from "bun:test";
import { findSelf, isBesideAgent } from "../../../src/services/sessions/find.ts";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createSessionFixture, type SessionFixture } from "../../support/session-fixture.ts";
import { createTmux } from "../../support/tmux.ts";

function selfDeps(fixture: SessionFixture, env: Record<string, string>) {
  const { files, registry, tmux, clock } = fixture.deps;
  return { files, registry, tmux, env, nowMs: clock.nowMs() };
}

/** An agent, and the environment of a program in its pane. */
async function inside(fixture: SessionFixture) {
  // What a launch adds of the notifier is no part of a session that is found.
  const { notifier: _, ...session } = await launchAgent(fixture.deps, fixture.request());
  const { manifest, manifestPath } = session;
  const pane = { TMUX_PANE: manifest.tmux.primary_pane_id ?? "" };
  return {
    session,
    pane,
    env: { ...pane, SVC_MANIFEST_PATH: manifestPath, SVC_AGENT_ID: manifest.agent_id },
    unset: (...names: string[]) =>
      fixture.deps.tmux.setEnvironment(
        "test",
        manifest.tmux_session_name,
        Object.fromEntries(names.map((name) => [name, null])),
      ),
  };
}

describe("who runs in a session that an agent joined", () => {
  test.each([
    { id: "a shell in another pane is a person's", want: true },
    { id: "a shell in another pane of a session that was launched is not", origin: "launched", want: false },
    { id: "below an agent's program in another pane runs no person", below: true, want: false },
    { id: "a program in the agent's pane that names another pane is no person", inAgent: true, want: false },
    { id: "a program in no pane is no person", elsewhere: true, want: false },
    { id: "the agent's own pane is no person's", own: true, want: false },
  ])("$id", async ({ origin, below, inAgent, elsewhere, own, want }) => {
    await using fixture = await createSessionFixture();
    const { tmux, processes, tools } = fixture.deps;
    const { session, pane } = await inside(fixture);
    const { manifest } = session;
    const joined = { ...manifest.agent_launch_authority, session_origin: "joined_tmux" as const };
    await fixture.tmux.run("split-window", "-d", "-t", pane.TMUX_PANE, "sleep", "600");
    const panes = await tmux.panes(manifest.tmux_session_name);
    const other = panes.find(({ paneId }) => paneId !== pane.TMUX_PANE);
    const agentPid = panes.find(({ paneId }) => paneId === pane.TMUX_PANE)?.panePid ?? 0;
    const pid = elsewhere ? processes.selfPid() : inAgent || own ? agentPid : (other?.panePid ?? 0);
    const beside = isBesideAgent(
      {
        tmux,
        processes: { ...processes, selfPid: () => pid },
        tools: below ? [{ ...fixture.tool, occupies: ({ argv }) => argv.includes("600") }] : tools,
        env: { TMUX_PANE: own ? pane.TMUX_PANE : (other?.paneId ?? "") },
      },
      origin ? manifest : { ...manifest, agent_launch_authority: joined },
    );
    expect(await beside).toBe(want);
  });
});

describe("an agent finds itself", () => {
  test("by what its session publishes", async () => {
    await using fixture = await createSessionFixture();
    const { session, pane } = await inside(fixture);
    expect(await findSelf(selfDeps(fixture, pane))).toEqual(session);
  });

  test("by its own environment when the session no longer publishes", async () => {
    await using fixture = await createSessionFixture();
    const { session, env, unset } = await inside(fixture);
    await unset("SVC_MANIFEST_PATH", "SVC_AGENT_ID");
    expect(await findSelf(selfDeps(fixture, env))).toEqual(session);
  });

  test("by its id and the one fresh record of this session", async () => {
    await using fixture = await createSessionFixture();
    const { session, pane, unset } = await inside(fixture);
    await unset("SVC_MANIFEST_PATH");
    const env = { ...pane, SVC_AGENT_ID: session.manifest.agent_id };
    expect(await findSelf(selfDeps(fixture, env))).toEqual(session);
  });

  test("before a stale environment, by what the session says now", async () => {
    await using fixture = await createSessionFixture();
    const { session, env } = await inside(fixture);
    const stale = { ...env, SVC_MANIFEST_PATH: "/gone/manifest.json" };
    expect(await findSelf(selfDeps(fixture, stale))).toEqual(session);
  });

  test("outside tmux by the manifest alone", async () => {
    await using fixture = await createSessionFixture();
    const { session } = await inside(fixture);
    expect(await findSelf(selfDeps(fixture, { SVC_MANIFEST_PATH: session.manifestPath }))).toEqual(session);
  });
});

describe("nobody is taken for an agent", () => {
  test("in a session that is not the manifest's", async () => {
    await using fixture = await createSessionFixture();
    const { session } = await inside(fixture);
    const foreign = await fixture.tmux.newSession("foreign", ["sleep", "60"]);
    const env = { TMUX_PANE: foreign.paneId, SVC_MANIFEST_PATH: session.manifestPath };
    expect(await awaitOutcome(findSelf(selfDeps(fixture, env)))).toThrow(
      expect.objectContaining({ reason: "precondition_failed" }),
    );
  });

  test("in a session of the same name on another tmux server", async () => {
    await using fixture = await createSessionFixture();
    await using elsewhere = await createTmux();
    const { session, env } = await inside(fixture);
    const twin = await elsewhere.newSession(session.manifest.tmux_session_name, ["sleep", "60"]);
    const deps = { ...selfDeps(fixture, { ...env, TMUX_PANE: twin.paneId }), tmux: elsewhere.tmux };
    expect(await awaitOutcome(findSelf(deps))).toThrow(
      expect.objectContaining({
        reason: "precondition_failed",
        message: expect.stringContaining(elsewhere.socket),
      }),
    );
  });

  test("by an id whose record is of another session, or stopped", async () => {
    await using fixture = await createSessionFixture();
    const { session, pane, unset } = await inside(fixture);
    const foreign = await fixture.tmux.newSession("foreign", ["sleep", "60"]);
    const id = { SVC_AGENT_ID: session.manifest.agent_id };
    expect(await awaitOutcome(findSelf(selfDeps(fixture, { ...id, TMUX_PANE: foreign.paneId })))).toThrow(
      expect.objectContaining({
        reason: "not_found",
      }),
    );
    await unset("SVC_MANIFEST_PATH", "SVC_AGENT_ID");
    await fixture.deps.registry.markStopped(
      session.record.agent_id,
      session.record.generation_id,
      "operator_stop",
    );
    expect(await awaitOutcome(findSelf(selfDeps(fixture, { ...id, ...pane })))).toThrow(
      expect.objectContaining({
        reason: "not_found",
      }),
    );
  });

  test("without any of it, and is shown what to do", async () => {
    await using fixture = await createSessionFixture();
    expect(await awaitOutcome(findSelf(selfDeps(fixture, {})))).toThrow(
      expect.objectContaining({ data: { remedy: { code: "name_agent" } } }),
    );
    expect(await awaitOutcome(findSelf(selfDeps(fixture, { SVC_AGENT_ID: "x" })))).toThrow(
      expect.objectContaining({
        reason: "not_found",
      }),
    );
  });
});
