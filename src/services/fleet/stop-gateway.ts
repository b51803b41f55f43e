import type { CurrentInstance, Manifest } from "../../protocol/files.ts";
import { renderJson } from "../../protocol/json.ts";
import type { Processes } from "../../system/processes.ts";
import { gatewayIdentity } from "../sessions/gateway-folder.ts";
import { endProcesses, isSameProcess, type KnownProcess } from "../sessions/process-tree.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { toOfflineStatus } from "../status/project.ts";
import { type GatewayLinkDeps, linkGateway, readCurrentInstance } from "./gateway-link.ts";

/** `unproven`: a process has the recorded id, but nothing shows that it is this gateway; it was left alone. */
export type GatewayStop =
  | { outcome: "stopped"; pid: number }
  | { outcome: "not_running" }
  | { outcome: "unproven"; pid: number; why: string };

export interface StopGatewayDeps extends GatewayLinkDeps {
  processes: Processes;
}

/** A gateway finishes what it types before it leaves. */
const graceMs = 10_000;

/**
 * Ends the gateway of a session: TERM to the recorded process once it answered as this session's gateway, or,
 * silent, is seen to serve this session root; KILL after 10 s. What a gateway leaves when it could not end
 * cleanly is put right: run files removed, offline status written with its epoch kept. Idempotent.
 */
export async function stopGateway(
  deps: StopGatewayDeps,
  session: { sessionRoot: string; manifest: Manifest },
): Promise<GatewayStop> {
  const { files, processes } = deps;
  const { sessionRoot, manifest } = session;
  const paths = sessionPaths(sessionRoot);
  const instance = readCurrentInstance(files, paths.currentInstance);
  if (instance === null) return { outcome: "not_running" };

  const startToken = processes.startToken(instance.pid);
  if (startToken === null || !processes.alive(instance.pid)) {
    tidy(deps, session, instance);
    return { outcome: "not_running" };
  }
  const gateway: KnownProcess = { pid: instance.pid, startToken };
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(deps, { sessionRoot, attachIdentity });
  if (link.state !== "healthy" && !(await servesSession(processes, instance.pid, sessionRoot))) {
    if (!isSameProcess(processes, gateway)) return { outcome: "not_running" };
    return { outcome: "unproven", pid: instance.pid, why: link.why };
  }
  await endProcesses(deps, [gateway], graceMs);
  tidy(deps, session, instance);
  return { outcome: "stopped", pid: instance.pid };
}

/** True when the process was started for exactly this session root. */
async function servesSession(processes: Processes, pid: number, sessionRoot: string): Promise<boolean> {
  const [self] = await processes.tree(pid);
  return self?.argv.includes(sessionRoot) ?? false;
}

/** A gateway that ended cleanly left nothing to do here; another one that began meanwhile is not touched. */
function tidy(
  deps: StopGatewayDeps,
  session: { sessionRoot: string; manifest: Manifest },
  instance: CurrentInstance,
): void {
  const { files } = deps;
  const paths = sessionPaths(session.sessionRoot);
  if (readCurrentInstance(files, paths.currentInstance)?.pid !== instance.pid) return;
  const offline = toOfflineStatus(gatewayIdentity(session.manifest), instance.managed_agent_instance_epoch);
  files.write("file:state", paths.state, renderJson(offline));
  files.remove("file:pid", paths.pidFile);
  files.remove("file:token", paths.token);
  files.remove("file:current-instance", paths.currentInstance);
}
