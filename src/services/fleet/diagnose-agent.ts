import type { RegistryRecord } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { isRelaunchable } from "../sessions/record.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { type AgentHealth, type Diagnosis, diagnose, type GatewayCondition } from "./diagnose.ts";
import { isGatewayProcess } from "./gateway-link.ts";

interface UnservedDeps {
  files: Files;
  processes: Processes;
  tmuxFor: (socket: string | undefined) => Tmux;
}

/**
 * Why no healthy gateway serves this agent. Asks tmux and the process table, not the gateway, which may be
 * frozen. Where tmux does not answer the agent counts as running: the start of a gateway then reports the
 * reason. Never rejects.
 */
export async function diagnoseUnserved(deps: UnservedDeps, agent: FoundAgent): Promise<Diagnosis> {
  const { manifest, record, sessionRoot } = agent;
  const { tmux_session_name: session } = manifest;
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const stopped = isStopped(record);
  const lives = stopped || (await tmux.hasSession(session).catch(() => true));
  const instance = openSessionFolder(deps.files, sessionRoot).readCurrentInstance();
  const placed = { sessionRoot, session };
  const silent =
    instance !== null && (await isGatewayProcess({ ...deps, tmux }, placed, instance).catch(() => false));
  return required(
    diagnoseAs(agent, {
      session: stopped ? "stopped" : lives ? "alive" : "gone",
      gateway: silent ? { state: "silent", why: "", pid: instance.pid } : { state: "none", why: "" },
    }),
  );
}

/** The refusal of what needs the live gateway of an agent. Pure. */
export function noLiveGateway(
  agent: DiagnosedAgent,
  { state, why }: { state: Exclude<GatewayCondition["state"], "live">; why: string },
): ServiceError {
  const { agent_name: name, agent_id } = agent.manifest;
  const { remedy } = required(
    diagnoseAs(agent, {
      session: isStopped(agent.record) ? "stopped" : "alive",
      gateway: { state, why },
    }),
  );
  return new ServiceError("unavailable", `no live gateway serves "${name}": ${why}`, {
    data: { remedy: namedById(remedy, agent_id) },
  });
}

/** Where a gateway is asked by its agent's id, the name may be another agent's. */
function namedById(remedy: Remedy, agent_id: string): Remedy {
  if (remedy.code === "rejoin_agent" || !("agent_name" in remedy)) return remedy;
  const { agent_name: _, ...others } = remedy;
  return { ...others, agent_id } as Remedy;
}

/** The refusal of what needs the tmux session of an agent. Pure. */
export function sessionGone(agent: DiagnosedAgent): ServiceError {
  const { agent_name: name, tmux_session_name: session } = agent.manifest;
  const { remedy } = required(diagnoseAs(agent, { session: "gone", gateway: { state: "none", why: "" } }));
  return new ServiceError("unavailable", `tmux session ${session} of "${name}" is gone`, {
    data: { remedy },
  });
}

type DiagnosedAgent = Pick<FoundAgent, "manifest" | "record">;

/** What keeps an agent from work by the status of its live gateway; null when nothing does. Pure. */
export function diagnoseServed(agent: DiagnosedAgent, status: GatewayStatus): Diagnosis | null {
  return diagnoseAs(agent, {
    programEnded: status.managed_agent_connectivity === "unavailable" ? { sinceUtc: null } : null,
    block: status.admission_block ?? null,
    unreconciled: status.managed_agent_recovery === "reconciliation_required",
    queueDepth: status.queue_depth,
  });
}

function isStopped(record: RegistryRecord | null): boolean {
  return record?.lifecycle.state === "stopped" || record?.lifecycle.state === "retired";
}

function required(diagnosis: Diagnosis | null): Diagnosis {
  if (diagnosis === null) throw new Error("an agent whose gateway is not live has no diagnosis");
  return diagnosis;
}

/** The first cause. `facts`: what was seen; the agent works as far as nobody looked. */
function diagnoseAs({ manifest, record }: DiagnosedAgent, facts: Partial<AgentHealth>): Diagnosis | null {
  const never = record?.lifecycle.relaunchable === false;
  const health: AgentHealth = {
    agent: { id: manifest.agent_id, name: manifest.agent_name },
    unusable: null,
    session: "alive",
    programEnded: null,
    relaunch: !isRelaunchable(manifest) ? "joined" : never ? "never" : "possible",
    gateway: { state: "live", why: "" },
    block: null,
    unreconciled: false,
    queueDepth: 0,
    stuck: null,
    ...facts,
  };
  return diagnose(health)[0] ?? null;
}
