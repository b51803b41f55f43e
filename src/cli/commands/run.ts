import { resolve } from "node:path";
import { evictDead } from "../../services/fleet/forget-agent.ts";
import { chooseByName, type FoundAgent, findAgent, openRecord } from "../../services/sessions/find.ts";
import { joinAgent, managedIn } from "../../services/sessions/join.ts";
import { launchAgent } from "../../services/sessions/launch.ts";
import { chooseTool } from "../../services/sessions/launch-tools.ts";
import { isFresh } from "../../services/sessions/record.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import { tmuxAttachLine } from "../../services/terminal/tmux/screen.ts";
import { ServiceError } from "../../system/errors.ts";
import { endOnUnhandled, untilStopped } from "../../system/signals.ts";
import {
  type CliContext,
  openCliContext,
  prepareSessionPlace,
  readProfiles,
} from "../command-line/cli-context.ts";
import { type CliIo, command, type Values } from "../command-line/command.ts";
import { warn } from "../command-line/narrate.ts";
import { joinFlags, noSignalsFlag, readJoinFlags, rootFlags } from "../command-line/shared-flags.ts";
import { loadGatewayExtensions, loadSignals } from "../extensions.ts";
import { createGateway } from "../gateway/gateway.ts";
import { chooseListener, listenerFlags, readListenerWish } from "../gateway/gateway-flags.ts";

/**
 * Serves the gateway of a session in this process until it is stopped; says where once it answers. Exit code.
 */
async function serveBeside(facts: {
  io: CliIo;
  context: CliContext;
  session: Pick<FoundAgent, "manifest" | "sessionRoot">;
  listener: { host: string; port: number; noToken: boolean; allowedOrigins: readonly string[] };
  token: string | null;
  /** False when the agent was one of ours before. */
  launched: boolean;
  json: boolean;
}): Promise<number> {
  const { io, context, session, launched } = facts;
  const gone = Promise.withResolvers<void>();
  const createExtensions = await loadGatewayExtensions();
  const gateway = createGateway({
    system: context.system,
    sessionRoot: session.sessionRoot,
    ...facts.listener,
    token: facts.token,
    profiles: readProfiles(context.system, io.env),
    env: io.env,
    registry: context.registry,
    onGone: gone.resolve,
    extensions: createExtensions(),
  });
  endOnUnhandled(gateway.logUnhandled);
  const stopped = untilStopped(() => gateway.stop(), gone.promise);
  const { baseUrl } = await gateway.start();
  const { manifest } = session;
  const { agent_name } = manifest;
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
    `  watch it:   ${tmuxAttachLine(manifest.tmux, context.bareTmuxSocket)}`,
    `  prompt it:  ${io.advise({ code: "prompt_agent", agent_name }).command}`,
    `  end it:     ${io.advise({ code: "end_agent", agent_name }).command}`,
    "Ctrl-C ends the gateway; the agent lives on.",
  ];
  // With --json one line, so that a supervisor can wait for it.
  await io.writeOut(facts.json ? `${JSON.stringify(ready)}\n` : `${lines.join("\n")}\n`);
  return stopped;
}

/** Where the gateway listens; where no session lives yet, its place is made. */
async function prepare(facts: {
  context: CliContext;
  io: CliIo;
  args: Values<typeof listenerFlags>;
  running: FoundAgent | null;
}) {
  const { context, io, args, running } = facts;
  const { token, warning, ...listener } = chooseListener(
    readListenerWish(args, io.env),
    running && openSessionFolder(context.files, running.sessionRoot).readDesiredConfig(),
    {
      token: io.env["SVC_GATEWAY_TOKEN"],
      allowUnauthenticated: args["allow-unauthenticated"],
      allowOrigins: args["allow-origin"],
      noToken: args["no-token"],
    },
  );
  if (warning) await warn(io, warning);
  if (!running) await prepareSessionPlace(context, io);
  return { token, listener };
}

export const run = command({
  name: "run",
  description: "Start an agent in a new tmux session and serve its gateway beside it, until stopped",
  examples: [
    "svc-gateway run --tool claude --agent-name alice",
    "svc-gateway run --tool codex --agent-name bob --workdir ~/project -- --no-alt-screen",
  ],
  rest: "TOOL_ARGUMENTS",
  args: {
    tool: {
      type: "string",
      required: true,
      valueHint: "TOOL",
      offers: "tools",
      description: "claude, codex, gemini, opencode, demo, ...",
    },
    "agent-name": { type: "string", required: true, valueHint: "NAME", description: "name of the agent" },
    "agent-id": {
      type: "string",
      valueHint: "ID",
      description: "stable id; derived from the name by default",
    },
    workdir: { type: "string", valueHint: "DIR", description: "where the agent works; default: here" },
    home: { type: "string", valueHint: "DIR", description: "another home of the tool" },
    unattended: { type: "boolean", description: "add the tool's flags that skip permissions and sandboxes" },
    ...noSignalsFlag,
    ...listenerFlags,
    ...rootFlags,
  },
  async run({ args, rest, io, inherited }) {
    const context = openCliContext(io, args);
    await evictDead(context, args["agent-name"]);
    const running = await findRunning(context, args["agent-name"], args.tool);
    const { token, listener } = await prepare({ context, io, args, running });
    const session =
      running ??
      (await launchAgent(
        { ...context, planSignals: await loadSignals() },
        {
          tool: chooseTool(context.tools, args.tool),
          agentName: args["agent-name"],
          agentId: args["agent-id"],
          workdir: resolve(io.cwd, args.workdir ?? "."),
          args: rest,
          home: args.home === undefined ? undefined : resolve(io.cwd, args.home),
          unattended: args.unattended,
          noSignals: args["no-signals"],
        },
      ));
    return serveBeside({
      io,
      context,
      session,
      listener,
      token,
      launched: running === null,
      json: inherited["json"] === true,
    });
  },
});

/**
 * The session of an agent of this name that lives: a gateway that died is run again beside it. An agent of
 * another tool under the name is left for the launch to refuse.
 */
async function findRunning(context: CliContext, agentName: string, tool: string) {
  try {
    // The name is the agent's own here: that it may be the id of another changes nothing.
    const named = chooseByName(context.registry.list().records, agentName);
    const found =
      "record" in named ? openRecord(context.files, named.record) : findAgent(context, { agentName });
    const { record } = found;
    if (!record || found.manifest.tool !== tool || !isFresh(record, context.clock.nowMs())) return null;
    return (await context.sessionAlive(record)) ? found : null;
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "not_found") return null;
    throw error;
  }
}

export const join = command({
  name: "join",
  description: "Adopt an agent that runs in window 0 of a tmux session and serve its gateway, until stopped",
  examples: [
    "svc-gateway join --tmux-session work",
    "svc-gateway join --tmux-session work --agent-name alice --tool claude",
  ],
  args: {
    "tmux-session": {
      type: "string",
      required: true,
      valueHint: "SESSION",
      description: "name of the tmux session",
    },
    "agent-name": {
      type: "string",
      valueHint: "NAME",
      description: "how the agent is called; default: as the session",
    },
    ...joinFlags,
    ...listenerFlags,
    ...rootFlags,
  },
  async run({ args, io, inherited }) {
    const context = openCliContext(io, args);
    const tmuxSession = args["tmux-session"];
    const running = await findManaged(context, tmuxSession);
    const { token, listener } = await prepare({ context, io, args, running });
    const session =
      running ??
      (await joinAgent(context, {
        ...readJoinFlags(args, io),
        tmuxSession,
        agentName: args["agent-name"] ?? tmuxSession,
      }));
    return serveBeside({
      io,
      context,
      session,
      listener,
      token,
      launched: running === null,
      json: inherited["json"] === true,
    });
  },
});

/** The agent of a session that is one of ours already: a gateway that died is run again beside it. */
async function findManaged(context: CliContext, session: string) {
  const record = await managedIn(context, session);
  return record && openRecord(context.files, record);
}
