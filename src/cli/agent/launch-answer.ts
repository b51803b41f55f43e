import type { Remedy } from "../../protocol/remedy.ts";
import type { Attached } from "../../services/fleet/attach-gateway.ts";
import { diagnoseServed } from "../../services/fleet/diagnose-agent.ts";
import type { FoundAgent } from "../../services/sessions/find.ts";
import type { NewSession } from "../../services/sessions/launch.ts";
import type { LaunchTool } from "../../services/sessions/launch-tools.ts";
import type { NotifierCarryOver } from "../../services/sessions/notifier-carry-over.ts";
import { lacksSignals, signalsAbsence } from "../../services/sessions/tool-signals.ts";
import { tmuxAttachLine } from "../../services/terminal/tmux/screen.ts";
import { isOlder } from "../../system/versions.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import type { Answer, CliIo } from "../command-line/command.ts";
import { exitCodes } from "../command-line/dispatch.ts";
import { warn } from "../command-line/narrate.ts";
import { agentCommand, withRemedy } from "../command-line/remedies.ts";

/** Says what keeps a tool that could report from reporting. */
export async function warnWithoutSignals(
  io: CliIo,
  { manifest }: Pick<NewSession, "manifest">,
): Promise<void> {
  if (!lacksSignals(manifest)) return;
  await warn(io, `${manifest.agent_name} is known by its screen alone: ${signalsAbsence(manifest)}`);
}

/** Exit 2 when the agent runs but its gateway does not (spec/coordination.md 4.5). */
export function toLaunchAnswer(
  { context, io }: { context: Pick<CliContext, "bareTmuxSocket">; io: Pick<CliIo, "advise"> },
  session: FoundAgent,
  attached: Attached | null,
  attachError: string | null,
): Answer {
  const { manifest, manifestPath, sessionRoot } = session;
  const { agent_name } = manifest;
  const lineOf = (remedy: Remedy) => io.advise(remedy).command;
  const status = attached?.link.status;
  const obstacle = status ? diagnoseServed(session, status) : null;
  const lines = [
    `${agent_name} runs ${manifest.tool} in tmux session ${manifest.tmux_session_name}`,
    ...(attached ? [`its gateway serves ${attached.link.client.baseUrl}`] : []),
    ...(attachError ? [`its gateway did not start: ${attachError}`] : []),
    ...(obstacle ? [withRemedy(obstacle.detail, obstacle.remedy, io.advise)] : []),
    `  watch it:   ${tmuxAttachLine(manifest.tmux, context.bareTmuxSocket)}`,
    attached
      ? `  prompt it:  ${lineOf({ code: "prompt_agent", agent_name })}`
      : `  serve it:   ${lineOf({ code: "attach_gateway", agent_name })}`,
    `  end it:     ${lineOf({ code: "end_agent", agent_name })}`,
  ];
  return {
    json: {
      agent_name,
      agent_id: manifest.agent_id,
      tool: manifest.tool,
      tmux_session_name: manifest.tmux_session_name,
      manifest_path: manifestPath,
      session_root: sessionRoot,
      signals_absence: signalsAbsence(manifest),
      gateway_host: status?.gateway_host ?? null,
      gateway_port: status?.gateway_port ?? null,
      gateway_base_url: attached?.link.client.baseUrl ?? null,
      ...(attachError ? { gateway_auto_attach_error: attachError } : {}),
    },
    text: lines.join("\n"),
    exitCode: attachError ? exitCodes.usage : exitCodes.done,
  };
}

/** The answer of a launch with the notifier settings that the agent kept. Pure. */
export function withKeptNotifier(answer: Answer, name: string, kept: NotifierCarryOver): Answer {
  if (kept === null) return answer;
  const command = `${agentCommand({ agentName: name })} gateway mail-notifier`;
  const line =
    "error" in kept
      ? `its mail notifier's settings could not be kept: ${kept.error}. Set them again with: ${command} enable`
      : `its mail notifier keeps its settings and is ${kept.enabled ? "enabled" : "disabled"}: ${command} status`;
  return {
    ...answer,
    json: { ...(answer.json as object), mail_notifier_kept: kept },
    text: `${answer.text}\n${line}`,
  };
}

/** The answer of a launch that was to enable the notifier; exit 2 when it could not. Pure. */
export function withNotifier(
  answer: Answer,
  name: string,
  notifier: { isEnabled: true } | { error: string } | null,
): Answer {
  if (notifier === null) return answer;
  const json = { ...(answer.json as object), mail_notifier_enabled: !("error" in notifier) };
  if ("error" in notifier) {
    const command = `${agentCommand({ agentName: name })} gateway mail-notifier enable`;
    const line = `its mail notifier is not enabled: ${notifier.error}. Enable it with: ${command}`;
    return { json, text: `${answer.text}\n${line}`, exitCode: exitCodes.usage };
  }
  return { ...answer, json, text: `${answer.text}\nits mail notifier is enabled: new mail wakes it` };
}

export interface LaunchedVersion {
  tool: LaunchTool;
  /** As the executable says it; null when it does not. */
  version: string | null;
  proved: readonly string[];
  unattended: boolean;
  headless: boolean;
  /** Of the person's own. */
  args: readonly string[];
}

/**
 * What a person must know of what was launched: unproved screens, a tool that asks nothing, and one whose
 * questions hold its queue. Pure.
 */
export function launchWarnings(launched: LaunchedVersion): string[] {
  const { tool, version, proved, unattended, headless, args } = launched;
  const auto = tool.ownAutoMode;
  const chosen = args.some((arg) => arg.split("=", 1)[0] === auto?.askingArgs[0]);
  const asksNothing =
    auto !== null && !unattended && !chosen && version !== null && !isOlder(version, auto.fromVersion);
  const mayAsk = !unattended && !headless && !asksNothing && tool.unattendedArgs !== null;
  return [
    ...(version === null || isAmong(version, proved)
      ? []
      : [
          `${tool.tool} ${version}: its screens were not proved with this version (proved: ${proved.join(", ")}); a queued prompt waits for a second witness that it is ready, and is submitted only when the composer shows it`,
        ]),
    ...(asksNothing
      ? [
          `${tool.tool} ${version} runs commands without asking, also without --unattended; it asks with: -- ${auto.askingArgs.join(" ")}`,
        ]
      : []),
    ...(mayAsk
      ? [
          `launched without --unattended: ${tool.tool} may ask before it acts, and its queue waits until somebody answers`,
        ]
      : []),
  ];
}

const isAmong = (version: string, proved: readonly string[]) =>
  proved.length === 0 || proved.includes(version);

/** The answer of a launch with the tool's version, where it is known. Pure. */
export function withVersion(answer: Answer, { version, proved }: LaunchedVersion): Answer {
  if (version === null) return answer;
  const fields = { tool_version: version, tool_version_proved: isAmong(version, proved) };
  return { ...answer, json: { ...(answer.json as object), ...fields } };
}
