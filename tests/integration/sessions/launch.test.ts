import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type NotifierStore, notifierStoreOn } from "../../../src/db/gateway/notifier-store.ts";
import { openGatewayDatabase } from "../../../src/db/gateway/request-store.ts";
import { defaultNotifierConfig } from "../../../src/services/notifier/config.ts";
import {
  type LaunchedSession,
  type LaunchRequest,
  launchAgent,
  undoSession,
} from "../../../src/services/sessions/launch.ts";
import { readManifest } from "../../../src/services/sessions/manifest.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createSessionFixture, type SessionFixture, standInAgent } from "../../support/session-fixture.ts";

/** Whether a failed launch left anything: session, session folder or record. */
async function remains(fixture: SessionFixture) {
  const folder = join(fixture.deps.runtimeRoot, "sessions", "local_interactive");
  return {
    sessions: await fixture.sessions(),
    folders: existsSync(folder) ? readdirSync(folder) : [],
    records: fixture.deps.registry.list().records,
  };
}

function notifierOf<T>(fixture: SessionFixture, sessionRoot: string, act: (store: NotifierStore) => T): T {
  const database = openGatewayDatabase({ ...fixture.deps, path: sessionPaths(sessionRoot).queue });
  try {
    return act(notifierStoreOn(database));
  } finally {
    database.close();
  }
}

async function onlyPane(fixture: SessionFixture, { manifest }: LaunchedSession) {
  const [pane] = await fixture.deps.tmux.panes(manifest.tmux_session_name);
  if (!pane) throw new Error("the session has no pane");
  return pane;
}

const nothing = { sessions: [], folders: [], records: [] };

describe("a launch", () => {
  test("starts the tool exactly as asked and makes the agent findable", async () => {
    await using fixture = await createSessionFixture();
    const args = ["two words", "it's", "", "--flag=$HOME;", "ünï\ncode"];
    const session = await launchAgent(
      fixture.deps,
      fixture.request({ args, env: { EXTRA: "yes" }, home: "/tool/home", unattended: true }),
    );

    const { manifest, manifestPath, sessionRoot, record } = session;
    expect(readManifest(fixture.deps.files, manifestPath)).toEqual(manifest);
    expect(fixture.deps.registry.read(record.agent_id)).toEqual(record);
    expect(await fixture.sessions()).toEqual([manifest.tmux_session_name]);
    expect(manifest.launch_plan).toMatchObject({
      executable: standInAgent,
      args: ["--unattended", ...args],
      home_selector: { env_var: "STAND_IN_HOME", home_path: "/tool/home" },
      env_var_names: ["EXTRA", "STAND_IN_HOME"],
    });

    const report = await fixture.report();
    expect(report).toContain(`cwd=${fixture.tmux.folder}`);
    const text = report.join("\n");
    expect(text).toContain(["--unattended", ...args].map((argument) => `arg=${argument}`).join("\n"));
    for (const line of ["EXTRA=yes", "STAND_IN_HOME=/tool/home", `SVC_MANIFEST_PATH=${manifestPath}`]) {
      expect(report).toContain(line);
    }
    expect(text).not.toMatch(/^SVC_.*TOKEN=./m);
    expect(await fixture.deps.tmux.environment(manifest.tmux_session_name)).toMatchObject({
      SVC_MANIFEST_PATH: manifestPath,
      SVC_AGENT_ID: manifest.agent_id,
    });
    expect(sessionRoot).toStartWith(join(fixture.deps.runtimeRoot, "sessions", "local_interactive"));
  });

  test("gets no variable that only the tmux server has, and puts no value where others read it", async () => {
    await using fixture = await createSessionFixture();
    const { tmux } = fixture;
    const others = { STALE_KEY: "old", MULTI: "one\nPATH=/nowhere\nTERM=none", name: "x" };
    for (const [name, value] of Object.entries(others)) await tmux.run("set-environment", "-g", name, value);
    const request = fixture.request({ env: { API_KEY: "s3cret" } });
    const { manifest } = await launchAgent(fixture.deps, request);
    const report = await fixture.report();
    const names = report.map((line) => line.split("=")[0] ?? "");
    expect(Object.keys(others).filter((name) => names.includes(name))).toEqual([]);
    for (const name of ["TMUX", "TMUX_PANE", "TERM", "PATH", "HOME"]) expect(names).toContain(name);
    expect(report).toContain("API_KEY=s3cret");
    const [pane] = await fixture.deps.tmux.panes(manifest.tmux_session_name);
    const tree = await fixture.deps.processes.tree(pane?.panePid ?? 0);
    const shown = [
      await tmux.run("show-environment", "-g"),
      await tmux.run("show-environment", "-t", `=${manifest.tmux_session_name}`),
      ...tree.flatMap(({ argv }) => argv),
    ];
    expect(shown.join("\n")).not.toContain("s3cret");
  });

  test("records the very pane and process that run it", async () => {
    await using fixture = await createSessionFixture();
    const { manifest } = await launchAgent(fixture.deps, fixture.request());
    const [pane] = await fixture.deps.tmux.panes(manifest.tmux_session_name);
    expect(manifest.tmux).toMatchObject({
      primary_window_index: "0",
      primary_window_name: "agent",
      primary_pane_id: pane?.paneId ?? "",
      socket: fixture.tmux.socket,
    });
    const tree = await fixture.deps.processes.tree(pane?.panePid ?? 0);
    const agent = tree.find((one) => one.argv.includes(standInAgent));
    expect(manifest.runtime.agent_pid).toBe(agent?.pid ?? -1);
  });

  test("under the name of an agent that was stopped keeps the settings of its mail notifier", async () => {
    await using fixture = await createSessionFixture();
    const first = await launchAgent(fixture.deps, fixture.request());
    expect(first.notifier).toBeNull();
    const config = {
      ...defaultNotifierConfig,
      enabled: true,
      interval_seconds: 30,
      mode: "unread_only",
    } as const;
    notifierOf(fixture, first.sessionRoot, (store) =>
      store.saveConfig({ ...config, notify_block_shared_tokens: [] }, "t"),
    );
    await undoSession(fixture.deps, first.manifest.tmux_session_name, await onlyPane(fixture, first));
    const second = await launchAgent(fixture.deps, fixture.request());
    expect(second.notifier).toEqual({ enabled: true });
    expect(notifierOf(fixture, second.sessionRoot, (store) => store.read())).toMatchObject({
      config,
      memory: { lastPollAtUtc: null, lastNotificationAtUtc: null },
    });
    // A damaged queue of the session before keeps nobody from launching.
    writeFileSync(sessionPaths(second.sessionRoot).queue, "no database");
    await undoSession(fixture.deps, second.manifest.tmux_session_name, await onlyPane(fixture, second));
    expect((await launchAgent(fixture.deps, fixture.request())).notifier).toEqual({
      error: expect.stringContaining("queue.sqlite is damaged"),
    });
  });

  test("by a team keeps the notifier's settings of the agent that an earlier version's up launched, and of no other one", async () => {
    await using fixture = await createSessionFixture();
    const team = { file: "/src/project/svc.yaml", member: "worker" };
    const first = await launchAgent(fixture.deps, fixture.request());
    const { agent_id: id } = first.manifest;
    const config = { ...defaultNotifierConfig, enabled: true, notify_block_shared_tokens: [] };
    notifierOf(fixture, first.sessionRoot, (store) => store.saveConfig(config, "t"));
    await undoSession(fixture.deps, first.manifest.tmux_session_name, await onlyPane(fixture, first));
    const kept = await launchAgent(fixture.deps, fixture.request({ team, agentOfEarlierUp: id }));
    expect(kept.notifier).toEqual({ enabled: true });
    // This one is the team's: a person who launches one of its name begins without its settings.
    await undoSession(fixture.deps, kept.manifest.tmux_session_name, await onlyPane(fixture, kept));
    const byHand = await launchAgent(fixture.deps, fixture.request());
    expect(byHand.notifier).toBeNull();
    notifierOf(fixture, byHand.sessionRoot, (store) => store.saveConfig(config, "t"));
    await undoSession(fixture.deps, byHand.manifest.tmux_session_name, await onlyPane(fixture, byHand));
    const other = await launchAgent(fixture.deps, fixture.request({ team, agentOfEarlierUp: null }));
    expect(other.notifier).toBeNull();
  });

  test("seeds the gateway's folder, so that the status can be read before any gateway ran", async () => {
    await using fixture = await createSessionFixture();
    const { manifest, sessionRoot } = await launchAgent(fixture.deps, fixture.request());
    const paths = sessionPaths(sessionRoot);
    const json = (path: string) => JSON.parse(fixture.deps.files.read(path) ?? "null") as unknown;
    expect(fixture.deps.files.read(paths.protocolVersion)).toBe("v1\n");
    expect(json(paths.state)).toEqual({
      schema_version: 1,
      protocol_version: "v1",
      attach_identity: manifest.runtime.session_id,
      backend: "local_interactive",
      tmux_session_name: manifest.tmux_session_name,
      gateway_health: "not_attached",
      managed_agent_connectivity: "unavailable",
      managed_agent_recovery: "idle",
      request_admission: "blocked_unavailable",
      terminal_surface_eligibility: "unknown",
      active_execution: "idle",
      execution_mode: "tmux_auxiliary_window",
      queue_depth: 0,
      managed_agent_instance_epoch: 0,
    });
    expect(json(paths.attach)).toMatchObject({
      schema_version: 1,
      attach_identity: manifest.runtime.session_id,
    });
    expect(json(paths.desiredConfig)).toMatchObject({ desired_execution_mode: "tmux_auxiliary_window" });
  });

  test("keeps everything to this user, and no launch script or secret behind", async () => {
    await using fixture = await createSessionFixture();
    const { sessionRoot } = await launchAgent(
      fixture.deps,
      fixture.request({ env: { THE_KEY: "very-secret" } }),
    );
    await fixture.report();
    for (const entry of readdirSync(sessionRoot, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      expect([path, statSync(path).mode & 0o777]).toEqual([path, entry.isDirectory() ? 0o700 : 0o600]);
      if (entry.isFile()) expect(fixture.deps.files.read(path)).not.toContain("very-secret");
    }
    expect(readdirSync(sessionRoot).filter((name) => name.endsWith(".sh"))).toEqual([]);
    expect(statSync(sessionRoot).mode & 0o777).toBe(0o700);
  });
});

describe("a launch is refused before anything is changed", () => {
  const cases: { id: string; change: Partial<LaunchRequest>; reason: string; says: string }[] = [
    { id: "for a bad name", change: { agentName: "a b" }, reason: "invalid_request", says: "agent name" },
    { id: "for a bad id", change: { agentId: "../x" }, reason: "invalid_request", says: "agent id" },
    {
      id: "without the working directory",
      change: { workdir: "/no/where" },
      reason: "invalid_request",
      says: "/no/where",
    },
  ];
  test.each(cases)("$id", async ({ change, reason, says }) => {
    await using fixture = await createSessionFixture();
    const launch = launchAgent(fixture.deps, fixture.request(change));
    expect(await awaitOutcome(launch)).toThrow(
      expect.objectContaining({ reason, message: expect.stringContaining(says) }),
    );
    expect(await remains(fixture)).toEqual(nothing);
  });

  test("when the tool is not there, with how to get it", async () => {
    await using fixture = await createSessionFixture();
    const tool = { ...fixture.tool, command: ["no-such-tool"] as [string] };
    expect(await awaitOutcome(launchAgent(fixture.deps, fixture.request({ tool })))).toThrow(
      expect.objectContaining({
        reason: "precondition_failed",
        message: expect.stringContaining(fixture.tool.installHint),
      }),
    );
    expect(await remains(fixture)).toEqual(nothing);
  });

  test("when the tool cannot do what was asked", async () => {
    await using fixture = await createSessionFixture();
    const tool = { ...fixture.tool, unattendedArgs: null, homeVariable: null };
    expect(
      await awaitOutcome(launchAgent(fixture.deps, fixture.request({ tool, unattended: true }))),
    ).toThrow("unattended");
    expect(await awaitOutcome(launchAgent(fixture.deps, fixture.request({ tool, home: "/h" })))).toThrow(
      "home",
    );
    expect(await remains(fixture)).toEqual(nothing);
  });

  test("while an agent of that name lives, saying how to see and end it", async () => {
    await using fixture = await createSessionFixture();
    const { manifest } = await launchAgent(fixture.deps, fixture.request());
    const again = launchAgent(fixture.deps, fixture.request({ agentId: "another-id" }));
    expect(await awaitOutcome(again)).toThrow(
      expect.objectContaining({
        reason: "conflict",
        message: expect.stringMatching(/tmux -S \S+ attach -t '=SVC-worker-\d+'/),
        data: expect.objectContaining({ remedy: { code: "end_agent", agent_name: "worker" } }),
      }),
    );
    expect(await fixture.sessions()).toEqual([manifest.tmux_session_name]);
  });
});

describe("a launch that fails leaves nothing behind", () => {
  test("when the tool ends at once: its last words are shown", async () => {
    await using fixture = await createSessionFixture();
    // Never recognised, so that only its end can be seen.
    const tool = { ...fixture.tool, occupies: () => false };
    expect(
      await awaitOutcome(launchAgent(fixture.deps, fixture.request({ tool, args: ["--leave"] }))),
    ).toThrow(
      expect.objectContaining({
        reason: "dispatch_failed",
        message: expect.stringContaining("cannot log in"),
      }),
    );
    expect(await remains(fixture)).toEqual(nothing);
  });

  test("when the tool is long in loading and then ends", async () => {
    await using fixture = await createSessionFixture();
    expect(
      await awaitOutcome(launchAgent(fixture.deps, fixture.request({ args: ["--leave-late"] }))),
    ).toThrow(
      expect.objectContaining({
        reason: "dispatch_failed",
        message: expect.stringContaining("unknown flag"),
      }),
    );
    expect(await remains(fixture)).toEqual(nothing);
  });

  test("when it is given up while the tool starts", async () => {
    await using fixture = await createSessionFixture();
    const tool = { ...fixture.tool, occupies: () => false };
    const abort = new AbortController();
    const launch = launchAgent(fixture.deps, fixture.request({ tool, signal: abort.signal }));
    await fixture.report();
    abort.abort();
    expect(await awaitOutcome(launch)).toThrow("interrupted");
    expect(await remains(fixture)).toEqual(nothing);
  });

  test.each([
    { when: "at once", nowMs: null },
    { when: "in the same millisecond", nowMs: Date.UTC(2026, 10, 21) },
  ])(
    "when three launch the same name $when: exactly one wins, and the others say where it is",
    async ({ nowMs }) => {
      await using fixture = await createSessionFixture();
      const { clock } = fixture.deps;
      const deps = { ...fixture.deps, clock: { ...clock, nowMs: () => nowMs ?? clock.nowMs() } };
      const results = await Promise.allSettled([1, 2, 3].map(() => launchAgent(deps, fixture.request())));
      const won = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
      expect(won.length).toBe(1);
      const lost = results.flatMap((one) => (one.status === "rejected" ? [one.reason] : []));
      for (const why of lost) {
        expect(why).toMatchObject({ reason: "conflict" });
        expect(why.message).toMatch(
          /^agent "worker" already runs in tmux session SVC-worker-\d+\. Look at it with/,
        );
      }
      const left = await remains(fixture);
      expect(left.sessions).toEqual([won[0]?.manifest.tmux_session_name ?? ""]);
      expect(left.folders).toEqual([won[0]?.manifest.runtime.session_id ?? ""]);
      expect(left.records.map((record) => record.generation_id)).toEqual([
        won[0]?.record.generation_id ?? "",
      ]);
    },
  );
});
