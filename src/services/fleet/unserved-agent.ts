import type { Files } from "../../system/files.ts";
import type { Processes } from "../../system/processes.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { isRelaunchable } from "../sessions/record.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { type AgentHealth, type Diagnosis, diagnose } from "./diagnose.ts";
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
  const { agent_id: id, agent_name: name, tmux_session_name: session } = manifest;
  const tmux = deps.tmuxFor(manifest.tmux.socket);
  const state = record?.lifecycle.state;
  const stopped = state === "stopped" || state === "retired";
  const lives = stopped || (await tmux.hasSession(session).catch(() => true));
  const instance = openSessionFolder(deps.files, sessionRoot).readCurrentInstance();
  const placed = { sessionRoot, session };
  const silent =
    instance !== null && (await isGatewayProcess({ ...deps, tmux }, placed, instance).catch(() => false));
  const never = record?.lifecycle.relaunchable === false;
  const health: AgentHealth = {
    agent: { id, name },
    unusable: null,
    session: stopped ? "stopped" : lives ? "alive" : "gone",
    programEnded: null,
    relaunch: !isRelaunchable(manifest) ? "joined" : never ? "never" : "possible",
    gateway: silent ? { state: "silent", why: "", pid: instance.pid } : { state: "none", why: "" },
    block: null,
    unreconciled: false,
    queueDepth: 0,
    stuck: null,
  };
  const [first] = diagnose(health);
  if (!first) throw new Error("an agent whose gateway is not live has no diagnosis");
  return first;
}
