import { join, parse, resolve } from "node:path";
import type { PermissionPolicy } from "../../protocol/acp-launch.ts";
import type { TeamOwner } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { type Attached, attachGateway } from "../../services/fleet/attach-gateway.ts";
import { evictDead, evictExisting } from "../../services/fleet/forget-agent.ts";
import { findConversation } from "../../services/fleet/relaunch-agent.ts";
import { parsePolicy } from "../../services/sessions/acp-tools.ts";
import { isRunning, openRecordOrNull } from "../../services/sessions/find.ts";
import {
  checkLaunch,
  type HeadlessWish,
  type LaunchRequest,
  launchAgent,
  type NewSession,
} from "../../services/sessions/launch.ts";
import { chooseTool, type LaunchTool } from "../../services/sessions/launch-tools.ts";
import { sessionPaths, stateRootOf } from "../../services/sessions/roots.ts";
import { openSessionFolder } from "../../services/sessions/session-folder.ts";
import type { Role } from "../../services/sessions/tool-arguments.ts";
import { refuseExposed } from "../../services/sessions/trust.ts";
import { readWaitingPrompts } from "../../services/status/project.ts";
import { allProfiles } from "../../services/terminal/profiles/profile.ts";
import { messageOf, ServiceError, wrapRefusal } from "../../system/errors.ts";
import { type LaunchedVersion, launchWarnings, warnWithoutSignals } from "../agent/launch-answer.ts";
import { installedVersion } from "../checks/check.ts";
import {
  type CliContext,
  openCliContext,
  prepareSessionPlace,
  readProfiles,
} from "../command-line/cli-context.ts";
import { type Caller, type CliIo, UsageError } from "../command-line/command.ts";
import { CommandFailure, describeFailure, exitCodes } from "../command-line/dispatch.ts";
import { readFileFlag } from "../command-line/flag-values.ts";
import { unlessInterrupted } from "../command-line/interruption.ts";
import { narrate, warn } from "../command-line/narrate.ts";
import { toSentence } from "../command-line/remedies.ts";
import { loadSignals } from "../extensions.ts";
import { toAttachmentRoots, warnOfTraces } from "../gateway/gateway-flags.ts";
import { giveMailboxAtLaunch, type MailboxAtLaunch } from "../mail/agent-mailbox.ts";
import { enableNotifier } from "./notifier.ts";
import { outcomeOf } from "./outcome.ts";

/** How the turns of a headless agent are run; a terminal agent takes none of it. */
interface TurnsInput {
  headless: boolean;
  model?: string | undefined;
  reasoningLevel?: number | undefined;
  displayStyle?: HeadlessWish["displayStyle"] | undefined;
  displayDetail?: HeadlessWish["displayDetail"] | undefined;
}

interface GatewayInput {
  /** Otherwise the rest is kept for the gateway that is attached later. */
  isStarted: boolean;
  /** 0 or absent: a free one. */
  port?: number | undefined;
  /** As a separate process, not in a window of the agent's session. */
  background?: boolean | undefined;
  allowOrigins?: readonly string[] | undefined;
  attachmentRoots?: readonly string[] | undefined;
  otlpEndpoint?: string | undefined;
}

/** Paths count from the caller's working directory. */
export interface LaunchInput {
  tool: string;
  agentName: string;
  agentId?: string | undefined;
  workdir?: string | undefined;
  /** Of the tool. */
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  home?: string | undefined;
  sessionName?: string | undefined;
  roleFile?: string | undefined;
  /** Begins without what a stopped agent of this name left: its prompts, its history, its conversation. */
  fresh?: boolean | undefined;
  /** Ends an agent of this name first, and keeps or removes what it left. */
  force?: "keep-stale" | "clean" | undefined;
  unattended?: boolean | undefined;
  policyFile?: string | undefined;
  noSignals?: boolean | undefined;
  turns: TurnsInput;
  team?: TeamOwner | undefined;
  mailbox?: boolean | undefined;
  mailboxRoot?: string | undefined;
  /** New mail wakes it. */
  notifier?: boolean | undefined;
  gateway: GatewayInput;
}

/** An agent that runs; its gateway and its mailbox may be missing. */
export interface Launched {
  context: CliContext;
  session: NewSession;
  gateway: { state: "serves"; attached: Attached } | { state: "none" } | { state: "failed"; error: string };
  version: LaunchedVersion;
  /** Null where none was asked for. */
  mailbox: MailboxAtLaunch | null;
  /** Null where none was asked for, and where its mailbox or its gateway is missing. */
  notifier: { isEnabled: true } | { error: string } | null;
}

/** Starts an agent in a new tmux session, with a gateway beside it. Throws where nothing was launched. */
export async function launchNamed(caller: Caller, input: LaunchInput): Promise<Launched> {
  const { io, inherited } = caller;
  const { agentName, team, gateway } = input;
  const { allowOrigins, otlpEndpoint, port } = gateway;
  const context = openCliContext(io, inherited);
  const attachmentRoots = toAttachmentRoots(gateway.attachmentRoots ?? [], {
    cwd: io.cwd,
    files: context.files,
  });
  const tool = chooseTool(context.tools, input.tool);
  const { turns } = input;
  const headless = toHeadlessWish({ ...turns, headless: turns.headless || tool.acp !== undefined });
  if (tool.acp && (turns.model ?? turns.reasoningLevel) !== undefined) {
    throw new UsageError(`${tool.tool} takes its model from its own configuration, not from a flag`);
  }
  const policy = await readPolicy(context, io, tool, input.policyFile);
  const signal = io.interrupted();
  await narrate(io, `launching ${agentName}`);
  const role = await readRole(context, io, input.roleFile);
  const request: LaunchRequest = {
    tool,
    agentName,
    agentId: input.agentId,
    workdir: resolve(io.cwd, input.workdir ?? "."),
    args: [...input.args],
    env: input.env,
    home: input.home === undefined ? undefined : resolve(io.cwd, input.home),
    unattended: input.unattended,
    noSignals: input.noSignals,
    headless: headless && { ...headless, policy },
    role,
    team,
    agentOfEarlierUp: team ? await agentOfEarlierUp(context, io, team) : null,
    tmuxSessionName: input.sessionName,
    signal,
  };
  const interruption = (state: string) =>
    new CommandFailure(exitCodes.interrupted, `interrupted; ${state}nothing was launched`);
  let ended = "";
  if (input.force !== undefined) {
    // What cannot be launched must not cost anybody the agent that runs.
    const checked = await checkLaunch(context, request);
    const replacement = {
      agentName: checked.agentName,
      agentId: checked.agentId,
      tmuxSessionName: request.tmuxSessionName ?? null,
      team,
    };
    if (signal.aborted) throw interruption("");
    const hasEnded = await evictExisting(context, replacement, { clean: input.force === "clean" });
    if (hasEnded) ended = `"${checked.agentName}" was ended; `;
  }
  if (!input.fresh && input.force === undefined) await refuseForgetting(context, agentName);
  if (gateway.isStarted) await refuseTakenPort(context, port ?? 0);
  await prepareSessionPlace(context, io);
  await evictDead(context, agentName);
  if (signal.aborted) throw interruption(ended);
  const asked = headless ? Promise.resolve(null) : installedVersion(context, tool);

  async function finish(session: NewSession): Promise<Launched> {
    await warnWithoutSignals(io, session);
    if (input.unattended) {
      const flags = tool.acp
        ? "every request that no rule denies is allowed"
        : `with ${(tool.unattendedArgs ?? []).join(" ")}`;
      await warn(io, `unattended, ${flags}`);
    }
    const profile = allProfiles(readProfiles(context.system, io.env)).find((one) => one.tool === tool.tool);
    const version: LaunchedVersion = {
      tool,
      version: await asked,
      proved: profile?.proved_versions ?? [],
      unattended: input.unattended === true,
      headless: headless !== undefined,
      args: input.args,
    };
    for (const line of launchWarnings(version)) await warn(io, line);
    const mailbox = input.mailbox ? await giveMailboxAtLaunch(context, io, session, input.mailboxRoot) : null;
    const launched = { context, session, version, mailbox };
    if (!gateway.isStarted) {
      // For the gateway that is attached later.
      openSessionFolder(context.files, session.sessionRoot).saveWish({
        port,
        attachmentRoots,
        otlpEndpoint,
        executionMode: gateway.background ? "detached_process" : undefined,
      });
      return { ...launched, notifier: null, gateway: { state: "none" } };
    }
    try {
      await narrate(io, "starting its gateway");
      const executionMode = gateway.background ? "detached_process" : "tmux_auxiliary_window";
      const attached = await attachGateway(context, session, {
        port,
        executionMode,
        allowOrigins,
        attachmentRoots,
        otlpEndpoint,
      });
      await warnOfTraces(io, context.files, session.sessionRoot);
      const isWoken = input.notifier && mailbox !== null && !("error" in mailbox);
      const notifier = isWoken ? await enableAtLaunch(caller, session) : null;
      return { ...launched, notifier, gateway: { state: "serves", attached } };
    } catch (error) {
      const detail = describeFailure(error, io.advise).detail;
      return { ...launched, notifier: null, gateway: { state: "failed", error: detail } };
    }
  }

  const launching = { ...context, planSignals: await loadSignals() };
  const session = await launchAgent(launching, request).catch((error: unknown) => {
    if (signal.aborted)
      throw new CommandFailure(exitCodes.interrupted, `${ended}${describeFailure(error, io.advise).detail}`);
    throw error;
  });
  const { agent_id } = session.manifest;
  const { command: serve } = io.advise({ code: "attach_gateway", agent_name: agentName });
  const end = toSentence(io.advise({ code: "end_agent", agent_name: agentName }));
  const state = `"${agentName}" runs, and not all of its launch was done. Serve it with: ${serve}. ${end}`;
  return unlessInterrupted(signal, state, () => finish(session), { agent_name: agentName, agent_id });
}

/** What a stopped agent left that a launch under its name would put out of reach. */
export interface FormerAgent {
  agentName: string;
  agentId: string;
  /** Prompts that wait, by their ids. */
  waiting: string[];
  /** Of its tool, which a restart goes on with; null where there is none. */
  conversation: string | null;
}

/** Null where nothing of the name would be lost, also where an agent of it runs. */
export async function findFormer(caller: Caller, agentName: string): Promise<FormerAgent | null> {
  return formerOf(openCliContext(caller.io, caller.inherited), agentName);
}

async function formerOf(context: CliContext, agentName: string): Promise<FormerAgent | null> {
  const record = context.registry.list().records.find(({ agent_name: name }) => name === agentName);
  const agent = record ? openRecordOrNull(context.files, record) : null;
  if (!record || !agent || (isRunning(record) && (await context.sessionAlive(record)))) return null;
  const { queue } = sessionPaths(agent.sessionRoot);
  const waiting = readWaitingPrompts(context.files, queue);
  const { id } = findConversation(context, agent);
  if (waiting.length === 0 && id === null) return null;
  return {
    agentName,
    agentId: record.agent_id,
    waiting: waiting.map(({ requestId }) => requestId),
    conversation: id,
  };
}

/** What a stopped agent has, as a clause. Pure. */
export function describeFormer({ waiting, conversation }: FormerAgent): string {
  const prompts = waiting.length === 1 ? "1 prompt that waits" : `${waiting.length} prompts that wait`;
  return [waiting.length > 0 ? prompts : null, conversation === null ? null : "a conversation"]
    .filter((one) => one !== null)
    .join(" and ");
}

/** Throws `conflict` where a launch would put out of reach what a stopped agent of the name has. */
async function refuseForgetting(context: CliContext, agentName: string): Promise<void> {
  const former = await formerOf(context, agentName);
  if (former === null) return;
  const remedy: Remedy = { code: "restart_stopped", agent_name: agentName };
  throw new ServiceError("conflict", `"${agentName}" is stopped and has ${describeFormer(former)}`, {
    data: { agent_ids: [former.agentId], remedy },
  });
}

async function agentOfEarlierUp({ files }: CliContext, io: CliIo, team: TeamOwner): Promise<string | null> {
  const { readAgentOfEarlierUp } = await import("../../services/sessions/team-record.ts");
  return readAgentOfEarlierUp(files, join(stateRootOf(io.env, io.home), "teams"), team);
}

/** The agent runs on when its notifier cannot be enabled. */
async function enableAtLaunch(caller: Caller, { manifest }: NewSession): Promise<Launched["notifier"]> {
  const agent = { ...caller, whom: { agentId: manifest.agent_id } };
  const outcome = await outcomeOf(() => enableNotifier(agent, {}), caller.io.advise);
  return outcome.ok ? { isEnabled: true } : { error: outcome.detail };
}

/** Before anything is launched: an agent whose gateway cannot start is only in the way. */
async function refuseTakenPort(context: CliContext, port: number): Promise<void> {
  if (port === 0) return;
  try {
    const probe = context.network.listen({
      ...context,
      host: "127.0.0.1",
      port,
      fetch: () => new Response(),
    });
    await probe.stop(0);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw wrapRefusal(
      error,
      error.reason,
      (why) => `${why}; nothing was launched. Take another --gateway-port, or leave it out for a free one`,
    );
  }
}

async function readRole(context: CliContext, io: CliIo, path: string | undefined): Promise<Role | undefined> {
  if (path === undefined) return undefined;
  const text = await readFileFlag("role-file", path, { files: context.files, cwd: io.cwd });
  refuseExposed(context.files, resolve(io.cwd, path), "--role-file");
  if (text.trim() === "") throw new UsageError(`--role-file: ${path} is empty`);
  return { name: parse(path).name, text: text.trim() };
}

async function readPolicy(
  context: CliContext,
  io: CliIo,
  tool: LaunchTool,
  path: string | undefined,
): Promise<PermissionPolicy | undefined> {
  if (path === undefined) return undefined;
  if (!tool.acp) {
    throw new UsageError(`--permission-policy is for agents that speak ACP; ${tool.tool} is none`);
  }
  const text = await readFileFlag("permission-policy", path, { files: context.files, cwd: io.cwd });
  refuseExposed(context.files, resolve(io.cwd, path), "--permission-policy");
  try {
    return parsePolicy(text);
  } catch (error) {
    throw new UsageError(`--permission-policy: ${path}: ${messageOf(error)}`);
  }
}

/** Undefined for a terminal agent, which takes none of the flags that say how turns are run. */
function toHeadlessWish({
  headless,
  model,
  reasoningLevel,
  displayStyle,
  displayDetail,
}: TurnsInput): HeadlessWish | undefined {
  if (headless) {
    return {
      displayStyle: displayStyle ?? "plain",
      displayDetail: displayDetail ?? "concise",
      model,
      reasoningLevel,
    };
  }
  if ([model, reasoningLevel, displayStyle, displayDetail].some((one) => one !== undefined)) {
    throw new UsageError(
      "--model, --reasoning-level and --headless-display-* need --headless; a terminal agent takes its tool's own flags after --",
    );
  }
  return undefined;
}
