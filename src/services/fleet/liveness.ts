import type { AgentLiveness } from "../../protocol/agents.ts";
import type { Manifest, RegistryRecord } from "../../protocol/files.ts";
import { type Clock, parseTimestamp, withinTime } from "../../system/clock.ts";
import type { Processes } from "../../system/processes.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import { createAnnouncement } from "../sessions/announcement.ts";
import { sessionNames } from "../sessions/record.ts";
import type { Registry } from "../sessions/registry.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { type GatewayLink, type GatewayLinkDeps, isGatewayProcess } from "./gateway-link.ts";

/** Whether agents live, by the only proof there is: their tmux sessions. */
export type Liveness = ReturnType<typeof createLiveness>;

/** `names`: null when the server could not be asked. */
interface Answer {
  atMs: number;
  askedAtMs: number;
  names: Promise<ReadonlySet<string> | null>;
}

const freshMs = 500;
const answerMs = 1000;

/** One question for each tmux server, whatever the number of agents. */
export function createLiveness(deps: {
  clock: Clock;
  tmuxFor: (socket: string | undefined) => Pick<Tmux, "sessions">;
}) {
  const { clock } = deps;
  const asked = new Map<string | undefined, Answer>();

  async function ask(socket: string | undefined): Promise<ReadonlySet<string> | null> {
    try {
      return await sessionNames(deps.tmuxFor(socket));
    } catch {
      return null;
    }
  }

  function askNow(socket: string | undefined): Answer {
    const names = withinTime(clock, answerMs, ask(socket));
    const answer = { atMs: clock.monotonicMs(), askedAtMs: clock.nowMs(), names };
    asked.set(socket, answer);
    return answer;
  }

  function answerOf(socket: string | undefined): Answer {
    const before = asked.get(socket);
    return before && clock.monotonicMs() - before.atMs < freshMs ? before : askNow(socket);
  }

  return {
    /**
     * `gone` also for an agent that was stopped, and where no tmux server is at its socket: one without a session
     * ends. `unknown` when the server did not answer within a second or cannot be asked. At most 500 ms old.
     * Never rejects.
     */
    async of({ terminal, lifecycle }: RegistryRecord): Promise<AgentLiveness> {
      const session = terminal.current_session_name;
      if (!session) return "gone";
      const answer = answerOf(terminal.socket);
      const names = await answer.names;
      if (names?.has(session)) return "alive";
      // The session of an agent that was launched or relaunched since then may be younger than the answer.
      const isOlder = answer.askedAtMs < (parseTimestamp(lifecycle.state_updated_at) ?? 0);
      const now = isOlder ? await askNow(terminal.socket).names : names;
      if (now === null) return "unknown";
      return now.has(session) ? "alive" : "gone";
    },
  };
}

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
 * Makes the records of a session's gateway agree with its observed state (contract 5.4): a healthy gateway is
 * announced again where it is not; what a dead one left (live variables, registry locator, run files, a
 * `healthy` state.json) is cleared, its epoch kept. A gateway that lives and does not answer is left alone.
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
 * The same for a gateway that is known to have ended: `pid`, or null when there was none. A gateway that
 * began in the meantime is left alone.
 */
export async function clearClaims(deps: ClaimDeps, session: Session, pid: number | null): Promise<void> {
  const { files } = deps;
  const instance = openSessionFolder(files, session.sessionRoot).readCurrentInstance();
  if (instance && instance.pid !== pid) return;
  await announcementOf(deps, session).withdraw();
  if (!instance) return;
  try {
    openSessionFolder(files, session.sessionRoot).retireGateway(
      session.manifest,
      instance.managed_agent_instance_epoch,
    );
  } catch (error) {
    // A disk that cannot be written: readers of the record check its process, which has ended.
    if (!storageFaultOf(error)) throw error;
  }
}
