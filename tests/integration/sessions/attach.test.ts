import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { attachGateway } from "../../../src/services/fleet/attach-gateway.ts";
import { linkGateway } from "../../../src/services/fleet/gateway-link.ts";
import { stopGateway } from "../../../src/services/fleet/stop-agent.ts";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { gatewayIdentity } from "../../../src/services/sessions/manifest.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { awaitOutcome } from "../../support/await-outcome.ts";
import { createSessionFixture, type SessionFixture, standInGateway } from "../../support/session-fixture.ts";

function attachDeps(fixture: SessionFixture, env: Record<string, string> = {}) {
  return {
    ...fixture.deps,
    env: { ...fixture.deps.env, ...env },
    serveCommand: [process.execPath, standInGateway, "serve"],
  };
}

/** An agent in the fixture; its gateways are ended before the fixture is. */
async function launched(fixture: SessionFixture) {
  const session = await launchAgent(fixture.deps, fixture.request());
  const starts = () =>
    (fixture.deps.files.read(join(session.sessionRoot, "starts")) ?? "").trimEnd().split("\n");
  return {
    ...session,
    starts,
    link: (env: Record<string, string> = {}) =>
      linkGateway(attachDeps(fixture, env), {
        sessionRoot: session.sessionRoot,
        attachIdentity: gatewayIdentity(session.manifest).attachIdentity,
      }),
    async [Symbol.asyncDispose]() {
      await stopGateway(fixture.deps, session);
    },
  };
}

describe("attaching a gateway", () => {
  test("starts one on the agent's own tmux server and resolves when it is healthy", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    const { link, started } = await attachGateway(attachDeps(fixture), session, {});
    expect(started).toBe(true);
    expect(link.status.attach_identity).toBe(session.manifest.runtime.session_id);
    expect(session.starts()).toEqual([`${link.instance.pid} ${fixture.tmux.socket}`]);
  });

  test("leaves a healthy one as it is, also when asked several times at once", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    const all = await Promise.all([1, 2, 3].map(() => attachGateway(attachDeps(fixture), session, {})));
    expect(all.map((one) => one.started).sort()).toEqual([false, false, true]);
    expect(new Set(all.map((one) => one.link.instance.pid)).size).toBe(1);
    expect(session.starts().length).toBe(1);
  });

  test("starts another one when the recorded one is dead", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    const first = await attachGateway(attachDeps(fixture), session, {});
    fixture.deps.processes.signal(first.link.instance.pid, "SIGKILL");
    const second = await attachGateway(attachDeps(fixture), session, {});
    expect(second.started).toBe(true);
    expect(second.link.instance.pid).not.toBe(first.link.instance.pid);
  });

  test("says what the gateway said when it does not start, and only that", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    writeFileSync(sessionPaths(session.sessionRoot).gatewayLog, "an older failure\n");
    const attach = (executionMode: "detached_process" | "tmux_auxiliary_window") =>
      attachGateway(attachDeps(fixture, { STAND_IN_MODE: "fail" }), session, { executionMode });
    expect(await awaitOutcome(attach("detached_process"))).toThrow(
      expect.objectContaining({
        reason: "unavailable",
        message: "the gateway ended with exit code 4:\ncannot open the queue",
      }),
    );
    expect(await awaitOutcome(attach("tmux_auxiliary_window"))).toThrow(
      expect.objectContaining({
        reason: "unavailable",
        message: "the gateway ended:\ncannot open the queue",
      }),
    );
  });

  test("says how to go on when the agent's tmux session is gone", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    const { agent_name: name, tmux_session_name: gone } = session.manifest;
    await fixture.deps.tmux.killSession("test.kill", gone);
    expect(await awaitOutcome(attachGateway(attachDeps(fixture), session, {}))).toThrow(
      expect.objectContaining({
        reason: "unavailable",
        message: `tmux session ${gone} of "${name}" is gone`,
        data: { remedy: { code: "relaunch_agent", agent_name: name } },
      }),
    );
  });
});

describe("a recorded gateway is believed only when it proves to be this session's", () => {
  test("without a record there is none", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    expect(await session.link()).toMatchObject({ state: "absent" });
  });

  test("a half-written record is none", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    writeFileSync(sessionPaths(session.sessionRoot).currentInstance, '{"pid":');
    expect(await session.link()).toMatchObject({ state: "absent" });
  });

  test("a port that nobody listens on is stale", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    const { link } = await attachGateway(attachDeps(fixture), session, {});
    fixture.deps.processes.signal(link.instance.pid, "SIGKILL");
    await fixture.whenGone(link.instance.pid);
    expect(await session.link()).toMatchObject({ state: "stale" });
  });

  test("the gateway of another agent on that port is stale", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    const { pid } = fixture.deps.processes.detach(
      "test:other",
      [process.execPath, standInGateway, "serve", "--session-root", session.sessionRoot],
      {
        env: { ...fixture.deps.env, STAND_IN_MODE: "other" } as Record<string, string>,
        cwd: session.sessionRoot,
        logPath: join(fixture.tmux.folder, "other.log"),
      },
    );
    await fixture.whenServedBy(session.sessionRoot, pid);
    expect(await session.link()).toMatchObject({
      state: "stale",
      why: expect.stringContaining("another-session"),
    });
  });

  test("with a token file beside the record the token is found, SVC_GATEWAY_TOKEN comes first", async () => {
    await using fixture = await createSessionFixture();
    await using session = await launched(fixture);
    writeFileSync(sessionPaths(session.sessionRoot).token, "the-token\n", { mode: 0o600 });
    await attachGateway(attachDeps(fixture), session, {});
    expect(await session.link()).toMatchObject({ state: "healthy" });
    expect(await session.link({ SVC_GATEWAY_TOKEN: "wrong" })).toMatchObject({
      state: "stale",
      why: "a token is needed",
    });
  });
});
