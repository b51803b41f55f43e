import type { FoundAgent } from "../services/sessions/find.ts";
import { tmuxAttachLine } from "../services/terminal/tmux-lines.ts";
import { untilStopped } from "../system/signals.ts";
import type { CliIo } from "./command.ts";
import { createGateway } from "./gateway.ts";
import { readProfiles, type World } from "./world.ts";

/** Serves the gateway of a session in this process until it is stopped; says where once it answers. Exit code. */
export async function serveBeside(facts: {
  io: CliIo;
  world: World;
  session: Pick<FoundAgent, "manifest" | "sessionRoot">;
  listener: { host: string; port: number; noToken: boolean; allowedOrigins: readonly string[] };
  token: string | null;
  /** False when the agent was one of ours before. */
  launched: boolean;
  json: boolean;
}): Promise<number> {
  const { io, world, session, launched } = facts;
  const gone = Promise.withResolvers<void>();
  const gateway = createGateway({
    system: world.system,
    sessionRoot: session.sessionRoot,
    ...facts.listener,
    token: facts.token,
    profiles: readProfiles(world.system, io.env),
    env: io.env,
    registry: world.registry,
    onGone: gone.resolve,
  });
  const stopped = untilStopped(() => gateway.stop(), gone.promise);
  const { baseUrl } = await gateway.start();
  const { manifest } = session;
  const target = `svc-mgr agents single --agent-name ${manifest.agent_name}`;
  const ready = {
    event: "ready",
    base_url: baseUrl,
    session_root: session.sessionRoot,
    tmux_session_name: manifest.tmux_session_name,
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    launched,
  };
  const lines = [
    `${manifest.agent_name} ${launched ? "runs" : "was running already"}; its gateway serves ${baseUrl}`,
    `  watch it:   ${tmuxAttachLine(manifest.tmux, world.bareTmuxSocket)}`,
    `  prompt it:  ${target} prompt --prompt "..."`,
    `  end it:     ${target} stop`,
    "Ctrl-C ends the gateway; the agent lives on.",
  ];
  // With --json one line, so that a supervisor can wait for it.
  await io.writeOut(facts.json ? `${JSON.stringify(ready)}\n` : `${lines.join("\n")}\n`);
  return stopped;
}
