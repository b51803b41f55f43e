import type { Manifest } from "../../protocol/files.ts";
import type { Processes } from "../../system/processes.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import { createAnnouncement } from "../sessions/announcement.ts";
import { retireLiveFiles } from "../sessions/live-files.ts";
import type { Registry } from "../sessions/registry.ts";
import { sessionPaths } from "../sessions/roots.ts";
import type { Tmux } from "../terminal/tmux-command.ts";
import { type GatewayLink, type GatewayLinkDeps, readCurrentInstance } from "./gateway-link.ts";
import { isGatewayProcess } from "./gateway-process.ts";

export interface ClaimDeps extends GatewayLinkDeps {
  processes: Processes;
  registry: Registry;
  tmuxFor: (socket: string | undefined) => Tmux;
  /** Variables or a registry record could not be set; the next look at the gateway sets them. */
  onClaimError?: (what: string, error: unknown) => void;
}

interface Session {
  manifest: Manifest;
  sessionRoot: string;
}

function announcementOf(deps: ClaimDeps, session: Session) {
  const { manifest } = session;
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const onError = deps.onClaimError ?? (() => {});
  return createAnnouncement({ ...session, tmux, registry: deps.registry, onError });
}

/**
 * Makes the records of a session's gateway agree with what was found of it (contract 5.4): a healthy gateway is
 * announced again where it is not; what a dead one left (live variables, registry locator, run files, a `healthy`
 * state.json) is cleared, its epoch kept. A gateway that lives and does not answer is left alone.
 */
export async function settleClaims(deps: ClaimDeps, session: Session, link: GatewayLink): Promise<void> {
  const announcement = announcementOf(deps, session);
  if (link.state === "healthy") {
    const { host, port } = link.instance;
    const hasToken = deps.files.exists(sessionPaths(session.sessionRoot).token);
    return announcement.publish({ host, port, hasToken });
  }
  if (link.state === "stale") {
    const tmux = deps.tmuxFor(session.manifest.tmux.socket);
    const placed = { sessionRoot: session.sessionRoot, session: session.manifest.tmux_session_name };
    if (await isGatewayProcess({ ...deps, tmux }, placed, link.instance)) return;
  }
  await clearClaims(deps, session, link.state === "stale" ? link.instance.pid : null);
}

/**
 * The same for a gateway that is known to have ended: `pid`, or null when there was none. A gateway that began in the
 * meantime is left alone.
 */
export async function clearClaims(deps: ClaimDeps, session: Session, pid: number | null): Promise<void> {
  const { files } = deps;
  const instance = readCurrentInstance(files, sessionPaths(session.sessionRoot).currentInstance);
  if (instance && instance.pid !== pid) return;
  await announcementOf(deps, session).withdraw();
  if (!instance) return;
  try {
    retireLiveFiles(files, session, instance.managed_agent_instance_epoch);
  } catch (error) {
    // A disk that cannot be written: readers of the record check its process, which has ended.
    if (!storageFaultOf(error)) throw error;
  }
}
