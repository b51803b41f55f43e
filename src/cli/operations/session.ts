import type { RegistryRecord } from "../../protocol/files.ts";
import type { Advise } from "../../protocol/remedy.ts";
import { type AgentStop, stopAgent, stopDamaged } from "../../services/fleet/stop-agent.ts";
import { type FoundAgent, openRecord } from "../../services/sessions/find.ts";
import { ServiceError } from "../../system/errors.ts";
import { shellWord } from "../../system/shell-word.ts";
import { type AgentCaller, openRecordTarget, openTarget } from "../agent/target.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { toSentence, withRemedy } from "../command-line/remedies.ts";
import { socketOfPane } from "../command-line/tmux-socket.ts";

interface StoppedAgent {
  record: RegistryRecord;
  /** Null where its manifest is damaged. */
  agent: FoundAgent | null;
  stop: AgentStop;
  /** All that was the agent's has ended. */
  success: boolean;
  /** For people; of several lines where something remains. */
  detail: string;
}

/** Ends the gateway, the agent's processes and its tmux session; of a joined agent the session stays. */
export async function stopNamed(caller: AgentCaller): Promise<StoppedAgent> {
  const { context, record, advise } = await openRecordTarget(caller);
  const opened = tryToOpen(context, record);
  const { agent } = opened;
  const stop = agent ? await stopAgent(context, agent) : await stopDamaged(context, record);
  const success = stop.survivingPids.length === 0 && stop.gateway.outcome !== "unproven";
  const unwritten = stop.unwritten.map((what) => `could not write ${what}`);
  const lines = [describe(record.agent_name, stop), ...opened.notes(advise), ...unwritten];
  return { record, agent, stop, success, detail: lines.join("\n") };
}

/**
 * Shows the agent's tmux session in the caller's terminal until the person leaves it. Returns the exit code of
 * tmux.
 */
export async function attachTerminal(caller: AgentCaller): Promise<number> {
  const { context, agent, advise } = await openTarget(caller);
  const { tmux_session_name: session, agent_name } = agent.manifest;
  const tmux = context.tmuxFor(agent.manifest.tmux.socket);
  if (!(await tmux.hasSession(session))) {
    throw new ServiceError(
      "unavailable",
      withRemedy(`its tmux session ${session} is gone`, { code: "relaunch_agent", agent_name }, advise),
    );
  }
  const ownServer = socketOfPane(caller.io.env);
  const inside = ownServer !== undefined && ownServer === (await tmux.socketPath(session));
  const client = inside ? await tmux.clientOf(caller.io.env["TMUX_PANE"] ?? "") : null;
  if (inside && client === null) {
    const words = await tmux.attachCommand(session, null);
    const detail = `no terminal shows this pane. In one, run: ${words.map(shellWord).join(" ")}`;
    throw new CommandFailure(exitCodes.refused, detail, { error: "not_a_terminal", detail });
  }
  const shown = await tmux.attachCommand(session, client);
  if (!caller.io.stdinIsTty || !caller.io.stdoutIsTty) {
    const detail = `this is no terminal. In one, run: ${shown.map(shellWord).join(" ")}`;
    throw new CommandFailure(exitCodes.refused, detail, { error: "not_a_terminal", detail });
  }
  // tmux refuses to show a session in a pane of another server.
  const unset = inside ? [] : ["TMUX"];
  return (await context.processes.foreground(shown, { unset })) ?? exitCodes.refused;
}

/** An agent with a damaged manifest can still be stopped and then removed. */
function tryToOpen({ files }: CliContext, record: RegistryRecord) {
  try {
    return { agent: openRecord(files, record), notes: () => [] };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { agent_name } = record;
    const notes = (advise: Advise) => [
      `only its record was left to go by: ${error.message}`,
      toSentence(advise({ code: "cleanup_agent", agent_name })),
    ];
    return { agent: null, notes };
  }
}

function describe(name: string, stop: AgentStop): string {
  const { gateway, survivingPids } = stop;
  if (gateway.outcome === "unproven") {
    return `stopped "${name}", but process ${gateway.pid} did not prove to be its gateway and was left alone: ${gateway.why}`;
  }
  if (survivingPids.length > 0)
    return `stopped "${name}", but these processes live on: ${survivingPids.join(", ")}`;
  const nothing = !stop.sessionEnded && !stop.recordStopped && gateway.outcome === "not_running";
  return nothing ? `"${name}" was stopped already` : `stopped "${name}"`;
}
