import type { GatewayEndpoints } from "../../protocol/endpoints.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { Advise } from "../../protocol/remedy.ts";
import type { WaitResult } from "../../protocol/terminal.ts";
import { type AgentStop, stopAgent, stopDamaged } from "../../services/fleet/stop-agent.ts";
import { type FoundAgent, openRecord } from "../../services/sessions/find.ts";
import { ServiceError } from "../../system/errors.ts";
import { shellWord } from "../../system/shell-word.ts";
import { reportQuestions } from "../agent/questions.ts";
import { type AgentCaller, bodyOf, openLiveTarget, openRecordTarget, openTarget } from "../agent/target.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { CommandFailure, exitCodes } from "../command-line/dispatch.ts";
import { warn } from "../command-line/narrate.ts";
import { toSentence, withRemedy } from "../command-line/remedies.ts";
import { socketOfPane } from "../command-line/tmux-socket.ts";

export interface StoppedAgent {
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

export interface StateWait {
  result: WaitResult;
  /** The command that answers a question of the agent, up to the answer. */
  answerLine: string;
}

/** How much longer than the gateway the caller waits. */
const waitGraceMs = 5000;

/** Waits until the agent is ready for a prompt, busy, or asks a person, or until time is over. */
export async function waitForState(
  caller: AgentCaller,
  { for: wanted, timeoutSeconds }: { for: WaitResult["for"]; timeoutSeconds: number },
): Promise<StateWait> {
  const { context, agent, link, advise } = await openLiveTarget(caller);
  const { agent_name } = agent.manifest;
  const answerLine = advise({ code: "choose_option", agent_name }).command ?? "";
  const over = new AbortController();
  // A question at its start keeps an agent from ever being ready.
  const reported =
    wanted === "ready"
      ? reportQuestions(context.clock, link.client, over.signal, {
          question: (text) => warn(caller.io, `"${agent_name}" ${text}: ${answerLine}`),
        })
      : null;
  const response = await link.client
    .call("wait", {
      query: { for: wanted, timeout_seconds: timeoutSeconds },
      timeoutMs: timeoutSeconds * 1000 + waitGraceMs,
    })
    .finally(() => over.abort());
  await reported;
  return { result: bodyOf<GatewayEndpoints["wait"]>(response), answerLine };
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
