import { readCurrentInstance } from "../services/fleet/gateway-link.ts";
import { isGatewayProcess } from "../services/fleet/gateway-process.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { isRelaunchable } from "../services/sessions/record.ts";
import { sessionPaths } from "../services/sessions/roots.ts";
import type { World } from "./world.ts";

/** What is known of an agent that no healthy gateway serves. */
export interface UnservedAgent {
  /** `gone`: not stopped by anybody, and yet its tmux session is not there. */
  life: "running" | "stopped" | "gone";
  /** `joined`: how it was started was never told; `never`: its record says so. */
  relaunch: "possible" | "joined" | "never";
  /** Process of its gateway, which lives and does not answer; null when there is none. */
  silentGateway: number | null;
}

/** The first step towards an agent that a healthy gateway serves, and what a person is told of it. */
export interface WayBack {
  step: "attach" | "detach" | "relaunch" | "join" | "cleanup";
  /** Whole sentences, with the exact words of the command. */
  advice: string;
}

/** `words`: how the agent is named on this command line. Pure. */
export function chooseWayBack(
  agent: UnservedAgent & { name: string; session: string },
  words: string,
): WayBack {
  const { life, relaunch, silentGateway: pid } = agent;
  if (life === "running") {
    const attach = `${words} gateway attach`;
    if (pid === null) return { step: "attach", advice: `Start one with: ${attach}` };
    // It holds the queue: another one would not be let in beside it.
    const advice = `Process ${pid} is its gateway and does not answer. End it with: ${words} gateway detach`;
    return { step: "detach", advice: `${advice}, then start one with: ${attach}` };
  }
  const why = life === "stopped" ? "The agent was stopped" : `Its tmux session ${agent.session} is gone`;
  switch (relaunch) {
    case "possible":
      return { step: "relaunch", advice: `${why}. Start the agent again with: ${words} relaunch` };
    case "joined": {
      const join = `svc-mgr agents self join --agent-name ${agent.name}`;
      const advice = `${why}, and how it was started was never told. Start it in a tmux session, and there: ${join}`;
      return { step: "join", advice };
    }
    case "never":
      return {
        step: "cleanup",
        advice: `${why} and cannot be launched again. Remove what it left with: ${words} cleanup`,
      };
  }
}

/**
 * What leads back to a healthy gateway, for who just found none. Asks tmux and the processes, not the gateway, and so
 * takes no time where one is frozen. Where they cannot be asked the agent counts as running: starting a gateway then
 * says why. Never rejects.
 */
export async function findWayBack(target: {
  world: Pick<World, "files" | "processes" | "tmuxFor">;
  agent: FoundAgent;
  words: string;
}): Promise<WayBack> {
  const { world, agent, words } = target;
  const { manifest, record, sessionRoot } = agent;
  const { agent_name: name, tmux_session_name: session } = manifest;
  const tmux = world.tmuxFor(manifest.tmux.socket);
  const state = record?.lifecycle.state;
  const ended = state === "stopped" || state === "retired";
  const life = ended ? "stopped" : (await tmux.hasSession(session).catch(() => true)) ? "running" : "gone";
  const never = record?.lifecycle.relaunchable === false;
  const relaunch = !isRelaunchable(manifest) ? "joined" : never ? "never" : "possible";
  const instance = readCurrentInstance(world.files, sessionPaths(sessionRoot).currentInstance);
  const placed = { sessionRoot, session };
  const silent =
    instance !== null && (await isGatewayProcess({ ...world, tmux }, placed, instance).catch(() => false));
  const silentGateway = silent ? instance.pid : null;
  return chooseWayBack({ life, relaunch, silentGateway, name, session }, words);
}
