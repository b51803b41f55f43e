import type { AttachContract, DesiredConfig, Manifest } from "../../protocol/files.ts";
import { type GatewayStatus, protocolVersion } from "../../protocol/gateway.ts";
import { renderJson } from "../../protocol/json.ts";
import type { Files } from "../../system/files.ts";
import { type GatewayIdentity, toOfflineStatus } from "../status/project.ts";
import { sessionPaths } from "./roots.ts";

/** How a gateway of this session names itself: the runtime session id (spec/gateway.md 2.7). Pure. */
export function gatewayIdentity(manifest: Manifest): GatewayIdentity {
  return {
    attachIdentity: manifest.runtime.session_id,
    backend: manifest.backend,
    tmuxSessionName: manifest.tmux_session_name,
    executionMode: "detached_process",
  };
}

/** attach.json of a session: bootstrap state that any gateway can rebuild from the manifest. Pure. */
function buildAttachContract(manifest: Manifest, manifestPath: string): AttachContract {
  const { session_id: sessionId, agent_def_dir: definition } = manifest.runtime;
  return {
    schema_version: 1,
    attach_identity: sessionId,
    backend: manifest.backend,
    tmux_session_name: manifest.tmux_session_name,
    working_directory: manifest.working_directory,
    backend_metadata: { session_id: sessionId, tool: manifest.tool },
    manifest_path: manifestPath,
    ...(definition === null ? {} : { agent_def_dir: definition }),
    runtime_session_id: sessionId,
  };
}

/**
 * Makes the gateway folder of a session that has never had a gateway, so that its status can be read before
 * the first attach: the version marker, attach.json, desired-config.json and the offline state.json with epoch
 * 0 (contract 2.1, 2.8). What a person or an earlier attach wished for is kept.
 */
export function seedGatewayFolder(
  files: Files,
  facts: { manifest: Manifest; manifestPath: string; sessionRoot: string },
): void {
  const { manifest, manifestPath } = facts;
  const paths = sessionPaths(facts.sessionRoot);
  const offline: GatewayStatus = toOfflineStatus(gatewayIdentity(manifest), 0);
  const desired: DesiredConfig = { schema_version: 1, desired_execution_mode: "detached_process" };
  for (const folder of [paths.gatewayRoot, paths.logRoot, paths.runRoot]) {
    files.ensureDirectory("file:gateway-folder", folder);
  }
  files.write("file:protocol-version", paths.protocolVersion, `${protocolVersion}\n`);
  files.write("file:attach", paths.attach, renderJson(buildAttachContract(manifest, manifestPath)));
  if (!files.exists(paths.desiredConfig)) {
    files.write("file:desired-config", paths.desiredConfig, renderJson(desired));
  }
  files.write("file:state", paths.state, renderJson(offline));
}
