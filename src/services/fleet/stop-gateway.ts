import type { CurrentInstance, Manifest } from "../../protocol/files.ts";
import { gatewayIdentity } from "../sessions/gateway-folder.ts";
import { endProcesses, type KnownProcess, waitForEnd } from "../sessions/process-tree.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { closeWindow } from "../terminal/tmux-window.ts";
import { claimOf, linkGateway, readCurrentInstance } from "./gateway-link.ts";
import { isGatewayProcess, windowOf } from "./gateway-process.ts";
import { recordedProcessLives } from "./listener-proof.ts";
import { type ClaimDeps, clearClaims } from "./live-claims.ts";

/** `unproven`: a process has the recorded id, but nothing shows that it is this gateway; it was left alone. */
export type GatewayStop =
  | { outcome: "stopped"; pid: number }
  | { outcome: "not_running" }
  | { outcome: "unproven"; pid: number; why: string };

export type StopGatewayDeps = ClaimDeps;

/** A gateway finishes what it types before it leaves. */
const graceMs = 5000;
const endingMs = 500;

/**
 * Ends the gateway of a session: TERM to the recorded process, whose start time matches the record, once it proved to be this
 * session's gateway or, silent, is seen to be it; KILL after 5 s; then its window, when it had one. What a gateway leaves when it could
 * not end cleanly is put right (see `clearClaims`). Idempotent.
 */
export async function stopGateway(
  deps: StopGatewayDeps,
  session: { sessionRoot: string; manifest: Manifest },
): Promise<GatewayStop> {
  const { files, processes } = deps;
  const { sessionRoot, manifest } = session;
  const instance = readCurrentInstance(files, sessionPaths(sessionRoot).currentInstance);
  const startToken = instance && processes.startToken(instance.pid);
  // An id alone may be another process's by now.
  if (instance === null || startToken === null || !recordedProcessLives(processes, claimOf(instance))) {
    await clearClaims(deps, session, instance?.pid ?? null);
    return { outcome: "not_running" };
  }
  const gateway: KnownProcess = { pid: instance.pid, startToken };
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(deps, { sessionRoot, attachIdentity });
  const placed = { sessionRoot, session: manifest.tmux_session_name };
  if (link.state !== "healthy" && !(await isGatewayProcess({ processes, tmux }, placed, instance))) {
    // One that is about to end has no arguments any more, and is not ended yet.
    if (await waitForEnd(deps, [gateway], endingMs)) {
      await clearClaims(deps, session, instance.pid);
      return { outcome: "not_running" };
    }
    return { outcome: "unproven", pid: instance.pid, why: link.why };
  }
  await endProcesses(deps, [gateway], graceMs);
  await closeItsWindow(deps, session, instance);
  await clearClaims(deps, session, instance.pid);
  return { outcome: "stopped", pid: instance.pid };
}

/** A window closes with its program; one that tmux was set to keep does not. */
async function closeItsWindow(
  deps: StopGatewayDeps,
  { manifest }: { manifest: Manifest },
  instance: CurrentInstance,
): Promise<void> {
  const window = windowOf(instance);
  if (window === null) return;
  await closeWindow(deps.tmuxFor(manifest.tmux.socket), manifest.tmux_session_name, window);
}
