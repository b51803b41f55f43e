import { type GatewayLink, linkGateway } from "../services/fleet/gateway-link.ts";
import { type FoundAgent, findAgent, findSelf } from "../services/sessions/find.ts";
import { gatewayIdentity } from "../services/sessions/gateway-folder.ts";
import { type Invocation, UsageError } from "./command.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";
import { openWorld, type World } from "./world.ts";

export interface Target {
  world: World;
  agent: FoundAgent;
  /** How this agent is named on a command line, for the hints we print. */
  words: string;
}

/** The agent that `agents single --agent-name|--agent-id` or `agents self` means. */
export async function openTarget(invocation: Invocation<never> | Invocation): Promise<Target> {
  const { inherited, path, io } = invocation;
  const world = openWorld(io, inherited);
  if (path.includes("self")) {
    const { files, registry, tmux, clock } = world;
    const agent = await findSelf({ files, registry, tmux, env: io.env, nowMs: clock.nowMs() });
    return { world, agent, words: "svc-mgr agents self" };
  }
  const name = textOf(inherited["agent-name"]);
  const id = textOf(inherited["agent-id"]);
  if ((name === undefined) === (id === undefined)) {
    throw new UsageError("give exactly one of --agent-name and --agent-id", path);
  }
  const agent = findAgent(world, id === undefined ? { agentName: name ?? "" } : { agentId: id });
  const words = id === undefined ? `--agent-name ${name}` : `--agent-id ${id}`;
  return { world, agent, words: `svc-mgr agents single ${words}` };
}

export type LiveLink = Extract<GatewayLink, { state: "healthy" }>;

/** The agent together with its healthy gateway; without one the command ends as unreachable and says what to do. */
export async function openLiveTarget(
  invocation: Invocation<never> | Invocation,
): Promise<Target & { link: LiveLink }> {
  const target = await openTarget(invocation);
  const { manifest, sessionRoot } = target.agent;
  const { attachIdentity } = gatewayIdentity(manifest);
  const link = await linkGateway(target.world, { sessionRoot, attachIdentity });
  if (link.state === "healthy") return { ...target, link };
  throw new CommandFailure(
    exitCodes.unreachable,
    `no healthy gateway serves "${manifest.agent_name}" (${link.why}). Start one with: ${target.words} gateway attach`,
    { error: "unavailable", detail: link.why },
  );
}

function textOf(value: string | boolean | string[] | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
