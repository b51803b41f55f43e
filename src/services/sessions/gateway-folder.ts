import { Value } from "@sinclair/typebox/value";
import type { AttachContract, CurrentInstance, GatewayManifest, Manifest } from "../../protocol/files.ts";
import { GatewayStatus, protocolVersion } from "../../protocol/gateway.ts";
import { renderJson } from "../../protocol/json.ts";
import type { Files } from "../../system/files.ts";
import {
  type GatewayExecution,
  type GatewayIdentity,
  type LastStatus,
  readOfflineQueue,
  toOfflineStatus,
} from "../status/project.ts";
import { desiredExecutionMode, saveWish } from "./desired-config.ts";
import { sessionPaths } from "./roots.ts";

/** A session as far as its gateway folder is concerned. */
export interface GatewayFolder {
  manifest: Manifest;
  sessionRoot: string;
}

/** How a gateway of this session names itself: the runtime session id (spec/gateway.md 2.7). Pure. */
export function gatewayIdentity(
  manifest: Manifest,
  execution: GatewayExecution = { executionMode: "detached_process" },
): GatewayIdentity {
  return {
    attachIdentity: manifest.runtime.session_id,
    backend: manifest.backend,
    tmuxSessionName: manifest.tmux_session_name,
    agentName: manifest.agent_name,
    ...execution,
  };
}

/** The same of a session whose gateway does not run: it carries the mode that the next one is wanted in. */
function offlineIdentity(files: Files, { manifest, sessionRoot }: GatewayFolder): GatewayIdentity {
  return gatewayIdentity(manifest, { executionMode: desiredExecutionMode(files, sessionRoot) });
}

/** attach.json of a session: bootstrap state that any gateway can rebuild from the manifest. Pure. */
function buildAttachContract({ manifest, sessionRoot }: GatewayFolder): AttachContract {
  const { session_id: sessionId, agent_def_dir: definition } = manifest.runtime;
  return {
    schema_version: 1,
    attach_identity: sessionId,
    backend: manifest.backend,
    tmux_session_name: manifest.tmux_session_name,
    working_directory: manifest.working_directory,
    backend_metadata: { session_id: sessionId, tool: manifest.tool },
    manifest_path: sessionPaths(sessionRoot).manifest,
    ...(definition === null ? {} : { agent_def_dir: definition }),
    runtime_session_id: sessionId,
  };
}

/**
 * gateway_manifest.json: derived bookkeeping with the live process in it, or without one (contract 2.8).
 * Pure.
 */
export function buildGatewayManifest(
  folder: GatewayFolder,
  instance: CurrentInstance | null,
): GatewayManifest {
  return {
    ...buildAttachContract(folder),
    ...(instance && {
      gateway_pid: instance.pid,
      gateway_host: instance.host,
      gateway_port: instance.port,
      gateway_protocol_version: instance.protocol_version,
      gateway_execution_mode: instance.execution_mode,
    }),
    ...(instance?.tmux_window_id === undefined ? {} : { gateway_tmux_window_id: instance.tmux_window_id }),
    ...(instance?.tmux_window_index === undefined
      ? {}
      : { gateway_tmux_window_index: instance.tmux_window_index }),
    ...(instance?.tmux_pane_id === undefined ? {} : { gateway_tmux_pane_id: instance.tmux_pane_id }),
  };
}

export function writeGatewayManifest(
  files: Files,
  folder: GatewayFolder,
  instance: CurrentInstance | null,
): void {
  const text = renderJson(buildGatewayManifest(folder, instance));
  files.write("file:gateway-manifest", sessionPaths(folder.sessionRoot).gatewayManifest, text, {
    durable: false,
  });
}

/**
 * Makes the gateway folder of a session, so that its status can be read before the first attach: the version
 * marker, attach.json, gateway_manifest.json, desired-config.json and the offline state.json with epoch 0
 * (contract 2.1, 2.8). What follows from the manifest is written wherever it differs; what a person or an
 * earlier gateway left is kept.
 */
export function seedGatewayFolder(files: Files, folder: GatewayFolder): void {
  const paths = sessionPaths(folder.sessionRoot);
  for (const path of [paths.gatewayRoot, paths.logRoot, paths.runRoot]) {
    files.ensureDirectory("file:gateway-folder", path);
  }
  // To read one takes a fifth of the time of a write, and a gateway starts more often than these change.
  const derive = (label: string, path: string, text: string) => {
    if (files.read(path) !== text) files.write(label, path, text, { durable: false });
  };
  derive("file:protocol-version", paths.protocolVersion, `${protocolVersion}\n`);
  derive("file:attach", paths.attach, renderJson(buildAttachContract(folder)));
  if (!files.exists(paths.gatewayManifest)) writeGatewayManifest(files, folder, null);
  if (!files.exists(paths.desiredConfig)) saveWish(files, folder.sessionRoot, {});
  if (!files.exists(paths.state)) {
    files.write("file:state", paths.state, renderJson(readOfflineStatus(files, folder, null)));
  }
}

/**
 * The status of a session that no gateway serves, from queue.sqlite and, for what that lacks, from the last
 * status (ruling 34). `epoch`: of the gateway that ended just now.
 */
export function readOfflineStatus(files: Files, folder: GatewayFolder, epoch: number | null): GatewayStatus {
  const { queue, state } = sessionPaths(folder.sessionRoot);
  const saved = readSavedStatus(files, state);
  const last = epoch === null ? saved : { ...noStatus, ...saved, managed_agent_instance_epoch: epoch };
  const served = (last?.managed_agent_instance_epoch ?? 0) > 0;
  return toOfflineStatus(offlineIdentity(files, folder), readOfflineQueue(files, queue, served), last);
}

const noStatus: LastStatus = {
  queue_depth: 0,
  managed_agent_instance_epoch: 0,
  managed_agent_recovery: "idle",
};

function readSavedStatus(files: Files, path: string): GatewayStatus | null {
  try {
    const saved: unknown = JSON.parse(files.read(path) ?? "null");
    return Value.Check(GatewayStatus, saved) ? saved : null;
  } catch {
    return null;
  }
}
