/**
 * A gateway as far as finding and ending it goes, run as its own process: answers health and status, writes
 * and removes the current-instance record. `STAND_IN_MODE`: `fail` ends at once, `other` serves another
 * session, `deaf` listens and never answers.
 */
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { challengeAnswerHeader, challengeHeader } from "../../src/protocol/wire.ts";
import { answerChallenge } from "../../src/services/fleet/listener-proof.ts";
import { parseExecutionVariables } from "../../src/services/sessions/environment.ts";
import { gatewayIdentity, readManifest } from "../../src/services/sessions/manifest.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { toOfflineStatus } from "../../src/services/status/project.ts";
import { createSystem } from "../../src/system/system.ts";

const sessionRoot = process.argv[process.argv.indexOf("--session-root") + 1] ?? "";
const mode = process.env["STAND_IN_MODE"] ?? "";
const paths = sessionPaths(sessionRoot);
const { files, processes } = createSystem();
const manifest = readManifest(files, paths.manifest);
if (mode === "fail") {
  console.error("cannot open the queue");
  process.exit(4);
}

const identity = gatewayIdentity(manifest, parseExecutionVariables(process.env));
if (mode === "other") identity.attachIdentity = "another-session";
const token = files.read(paths.token)?.trim();

const key = "a key of the stand-in";
const server: Bun.Server<undefined> = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    if (mode === "deaf") return new Promise<Response>(() => {});
    const { pathname } = new URL(request.url);
    if (pathname === "/health") {
      const challenge = request.headers.get(challengeHeader) ?? "";
      const headers = { [challengeAnswerHeader]: answerChallenge(key, challenge, server.port ?? 0) };
      return Response.json({ protocol_version: "v1", status: "ok" }, { headers });
    }
    if (token && request.headers.get("authorization") !== `Bearer ${token}`) {
      return Response.json({ detail: "a token is needed" }, { status: 401 });
    }
    return Response.json({
      ...toOfflineStatus(
        identity,
        { instance: { epoch: 3, instanceId: null, reconciledEpoch: 3 }, depth: 0, block: null },
        null,
      ),
      gateway_health: "healthy",
    });
  },
});

mkdirSync(paths.runRoot, { recursive: true });
appendFileSync(`${sessionRoot}/starts`, `${process.pid} ${process.env["SVC_TMUX_SOCKET"] ?? ""}\n`);
writeFileSync(paths.challengeKey, key);
writeFileSync(
  paths.currentInstance,
  JSON.stringify({
    schema_version: 1,
    protocol_version: "v1",
    pid: process.pid,
    process_start: processes.startToken(process.pid),
    host: "127.0.0.1",
    port: server.port,
    execution_mode: identity.executionMode,
    ...(identity.auxiliaryWindow && {
      tmux_window_id: identity.auxiliaryWindow.windowId,
      tmux_window_index: identity.auxiliaryWindow.windowIndex,
      tmux_pane_id: identity.auxiliaryWindow.paneId,
    }),
    managed_agent_instance_epoch: 3,
  }),
);
process.on("SIGTERM", () => {
  rmSync(paths.currentInstance, { force: true });
  process.exit(0);
});
