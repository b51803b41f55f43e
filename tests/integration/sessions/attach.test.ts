import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { attachGateway } from "../../../src/services/fleet/attach-gateway.ts";
import { linkGateway } from "../../../src/services/fleet/gateway-link.ts";
import { stopGateway } from "../../../src/services/fleet/stop-agent.ts";
import { gatewayIdentity } from "../../../src/services/sessions/gateway-folder.ts";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { createSessionLab, type SessionLab, standInGateway } from "../../support/session-lab.ts";

function attachDeps(lab: SessionLab, env: Record<string, string> = {}) {
  return {
    ...lab.deps,
    env: { ...lab.deps.env, ...env },
    serveCommand: [process.execPath, standInGateway, "serve"],
  };
}

/** An agent in the lab; its gateways are ended before the lab is. */
async function launched(lab: SessionLab) {
  const session = await launchAgent(lab.deps, lab.request());
  const starts = () => (lab.deps.files.read(join(session.sessionRoot, "starts")) ?? "").trimEnd().split("\n");
  return {
    ...session,
    starts,
    link: (env: Record<string, string> = {}) =>
      linkGateway(attachDeps(lab, env), {
        sessionRoot: session.sessionRoot,
        attachIdentity: gatewayIdentity(session.manifest).attachIdentity,
      }),
    async [Symbol.asyncDispose]() {
      await stopGateway(lab.deps, session);
    },
  };
}

describe("attaching a gateway", () => {
  test("starts one on the agent's own tmux server and resolves when it is healthy", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    const { link, started } = await attachGateway(attachDeps(lab), session, {});
    expect(started).toBe(true);
    expect(link.status.attach_identity).toBe(session.manifest.runtime.session_id);
    expect(session.starts()).toEqual([`${link.instance.pid} ${lab.tmux.socket}`]);
  });

  test("leaves a healthy one as it is, also when asked several times at once", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    const all = await Promise.all([1, 2, 3].map(() => attachGateway(attachDeps(lab), session, {})));
    expect(all.map((one) => one.started).sort()).toEqual([false, false, true]);
    expect(new Set(all.map((one) => one.link.instance.pid)).size).toBe(1);
    expect(session.starts().length).toBe(1);
  });

  test("starts another one when the recorded one is dead", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    const first = await attachGateway(attachDeps(lab), session, {});
    lab.deps.processes.signal(first.link.instance.pid, "SIGKILL");
    const second = await attachGateway(attachDeps(lab), session, {});
    expect(second.started).toBe(true);
    expect(second.link.instance.pid).not.toBe(first.link.instance.pid);
  });

  test("says what the gateway said when it does not start, and only that", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    writeFileSync(sessionPaths(session.sessionRoot).gatewayLog, "an older failure\n");
    const attach = (executionMode: "detached_process" | "tmux_auxiliary_window") =>
      attachGateway(attachDeps(lab, { STAND_IN_MODE: "fail" }), session, { executionMode });
    await expect(attach("detached_process")).rejects.toMatchObject({
      reason: "unavailable",
      message: "the gateway ended with exit code 4:\ncannot open the queue",
    });
    await expect(attach("tmux_auxiliary_window")).rejects.toMatchObject({
      reason: "unavailable",
      message: "the gateway ended:\ncannot open the queue",
    });
  });

  test("says how to go on when the agent's tmux session is gone", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    const { agent_name: name, tmux_session_name: gone } = session.manifest;
    await lab.deps.tmux.killSession("test.kill", gone);
    await expect(attachGateway(attachDeps(lab), session, {})).rejects.toMatchObject({
      reason: "unavailable",
      message: `tmux session ${gone} of "${name}" is gone. Start the agent again with: svc-mgr agents single --agent-name ${name} relaunch`,
    });
  });
});

describe("a recorded gateway is believed only when it proves to be this session's", () => {
  test("without a record there is none", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    expect(await session.link()).toMatchObject({ state: "absent" });
  });

  test("a half-written record is none", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    writeFileSync(sessionPaths(session.sessionRoot).currentInstance, '{"pid":');
    expect(await session.link()).toMatchObject({ state: "absent" });
  });

  test("a port that nobody listens on is stale", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    const { link } = await attachGateway(attachDeps(lab), session, {});
    lab.deps.processes.signal(link.instance.pid, "SIGKILL");
    await lab.whenGone(link.instance.pid);
    expect(await session.link()).toMatchObject({ state: "stale" });
  });

  test("the gateway of another agent on that port is stale", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    const { pid } = lab.deps.processes.detach(
      "test:other",
      [process.execPath, standInGateway, "serve", "--session-root", session.sessionRoot],
      {
        env: { ...lab.deps.env, STAND_IN_MODE: "other" } as Record<string, string>,
        cwd: session.sessionRoot,
        logPath: join(lab.tmux.folder, "other.log"),
      },
    );
    await lab.whenServedBy(session.sessionRoot, pid);
    expect(await session.link()).toMatchObject({
      state: "stale",
      why: expect.stringContaining("another-session"),
    });
  });

  test("with a token file beside the record the token is found, SVC_GATEWAY_TOKEN comes first", async () => {
    await using lab = await createSessionLab();
    await using session = await launched(lab);
    writeFileSync(sessionPaths(session.sessionRoot).token, "the-token\n", { mode: 0o600 });
    await attachGateway(attachDeps(lab), session, {});
    expect(await session.link()).toMatchObject({ state: "healthy" });
    expect(await session.link({ SVC_GATEWAY_TOKEN: "wrong" })).toMatchObject({
      state: "stale",
      why: "a token is needed",
    });
  });
});
