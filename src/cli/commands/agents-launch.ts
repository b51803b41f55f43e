import { join, parse, resolve } from "node:path";
import type { PermissionPolicy } from "../../protocol/acp-launch.ts";
import type { TeamOwner } from "../../protocol/files.ts";
import { attachGateway } from "../../services/fleet/attach-gateway.ts";
import { evictDead, evictExisting } from "../../services/fleet/forget-agent.ts";
import { parsePolicy } from "../../services/sessions/acp-tools.ts";
import { saveWish } from "../../services/sessions/desired-config.ts";
import {
  checkLaunch,
  type HeadlessWish,
  type LaunchRequest,
  launchAgent,
  type NewSession,
} from "../../services/sessions/launch.ts";
import { chooseTool, type LaunchTool } from "../../services/sessions/launch-tools.ts";
import { stateRootOf } from "../../services/sessions/roots.ts";
import type { Role } from "../../services/sessions/tool-arguments.ts";
import { refuseExposed } from "../../services/sessions/trust.ts";
import { allProfiles } from "../../services/terminal/profile.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { giveMailboxAtLaunch, withMailbox } from "../agent-mailbox.ts";
import { installedVersion } from "../checks/check.ts";
import { type CliContext, openCliContext, prepareSessionPlace, readProfiles } from "../cli-context.ts";
import { type Answer, type CliIo, command, UsageError } from "../command.ts";
import { CommandFailure, exitCodes } from "../dispatch.ts";
import { readFileFlag, toWholeNumber } from "../flag-values.ts";
import {
  attachmentRootFlag,
  originFlag,
  otlpFlag,
  toAttachmentRoots,
  toOrigins,
  toOtlpEndpoint,
  warnOfTraces,
} from "../gateway-flags.ts";
import { unlessInterrupted } from "../interruption.ts";
import {
  type LaunchedVersion,
  launchWarnings,
  toLaunchAnswer,
  warnWithoutSignals,
  withNotifier,
  withVersion,
} from "../launch-answer.ts";
import { narrate, warn } from "../narrate.ts";
import { mailboxRootFlag, noSignalsFlag } from "../shared-flags.ts";

export default command({
  name: "launch",
  description: "start an agent in a new tmux session, with a gateway beside it",
  examples: [
    "svc-mgr agents launch --tool demo --agent-name first",
    "svc-mgr agents launch --tool demo --agent-name first --mailbox",
    "svc-mgr agents launch --tool claude --agent-name worker --workdir ~/project -- --model sonnet",
    "svc-mgr agents launch --tool codex --agent-name batch --headless --reasoning-level 2",
  ],
  rest: "TOOL_ARGUMENTS",
  args: {
    tool: {
      type: "string",
      required: true,
      description: "claude, codex, gemini, opencode, kimi or demo; NAME-acp, such as gemini-acp, over ACP",
      offers: "tools",
    },
    "agent-name": {
      type: "string",
      required: true,
      description: "how the agent is called",
      valueHint: "NAME",
    },
    "agent-id": { type: "string", description: "its id; default: derived from the name", valueHint: "ID" },
    workdir: { type: "string", description: "where it works; default: here", valueHint: "DIR" },
    home: { type: "string", description: "another home of the tool", valueHint: "DIR" },
    env: {
      type: "string",
      multiple: true,
      description: "a variable for the agent, kept until it is stopped",
      valueHint: "NAME=VALUE",
    },
    "session-name": {
      type: "string",
      description: "name of its tmux session; default: SVC-NAME-TIME",
      valueHint: "SESSION",
    },
    "role-file": {
      type: "string",
      description: "a text that says what its part is, given to it before anything else",
      valueHint: "FILE",
    },
    force: {
      type: "enum",
      options: ["keep-stale", "clean"],
      description: "end an agent of this name first; keep what it left, or remove it",
    },
    unattended: { type: "boolean", description: "add the flags that skip permissions and sandboxes" },
    "permission-policy": {
      type: "string",
      description: "a file of rules that answer what an ACP agent asks: allow, deny or ask",
      valueHint: "FILE",
    },
    ...noSignalsFlag,
    headless: {
      type: "boolean",
      description: "without a terminal program: each turn is a separate process",
    },
    model: { type: "string", description: "model of its turns (with --headless)" },
    "reasoning-level": {
      type: "string",
      description: "reasoning preset of its turns (with --headless)",
      valueHint: "N",
    },
    "headless-display-style": {
      type: "enum",
      options: ["plain", "json", "fancy"],
      description: "how its pane shows a turn (with --headless); default: plain",
    },
    "headless-display-detail": {
      type: "enum",
      options: ["concise", "detail"],
      description: "how much of it (with --headless); default: concise",
    },
    "gateway-port": { type: "string", description: "port of its gateway; 0 takes a free one", default: "0" },
    "gateway-background": {
      type: "boolean",
      description: "run the gateway as a separate process, not in a window of the agent's session",
    },
    ...originFlag,
    ...attachmentRootFlag,
    ...otlpFlag,
    "no-gateway": { type: "boolean", description: "start no gateway" },
    mailbox: { type: "boolean", description: "give it a mailbox, NAME@svc.localhost" },
    ...mailboxRootFlag,
    "team-file": {
      type: "string",
      description: "the svc.yaml that owns it",
      valueHint: "FILE",
      hidden: true,
    },
    "team-member": { type: "string", description: "its name in that file", valueHint: "NAME", hidden: true },
  },
  async run({ args, rest, inherited, io }) {
    const port = toWholeNumber("gateway-port", args["gateway-port"], 0, 65_535);
    const env = toVariables(args.env);
    const allowOrigins = toOrigins(args["allow-origin"]);
    const otlpEndpoint = toOtlpEndpoint(args["otlp-endpoint"]);
    const context = openCliContext(io, inherited);
    const attachmentRoots = toAttachmentRoots(args["attachment-root"], { cwd: io.cwd, files: context.files });
    const tool = chooseTool(context.tools, args.tool);
    const headless = toHeadlessWish({ ...args, headless: args.headless || tool.acp !== undefined });
    if (tool.acp && (args.model ?? args["reasoning-level"]) !== undefined) {
      throw new UsageError(`${tool.tool} takes its model from its own configuration, not from a flag`);
    }
    const policy = await readPolicy(context, io, tool, args["permission-policy"]);
    const team = toOwner(args["team-file"], args["team-member"]);
    const signal = io.interrupted();
    await narrate(io, `launching ${args["agent-name"]}`);
    const role = await readRole(context, io, args["role-file"]);
    const request: LaunchRequest = {
      tool,
      agentName: args["agent-name"],
      agentId: args["agent-id"],
      workdir: resolve(io.cwd, args.workdir ?? "."),
      args: rest,
      env,
      home: args.home === undefined ? undefined : resolve(io.cwd, args.home),
      unattended: args.unattended,
      noSignals: args["no-signals"],
      headless: headless && { ...headless, policy },
      role,
      team,
      agentOfEarlierUp: team ? await agentOfEarlierUp(context, io, team) : null,
      tmuxSessionName: args["session-name"],
      signal,
    };
    const interruption = (state: string) =>
      new CommandFailure(exitCodes.interrupted, `interrupted; ${state}nothing was launched`);
    let ended = "";
    if (args.force !== undefined) {
      // What cannot be launched must not cost anybody the agent that runs.
      const { agentName, agentId } = await checkLaunch(context, request);
      const replacement = { agentName, agentId, tmuxSessionName: request.tmuxSessionName ?? null, team };
      if (signal.aborted) throw interruption("");
      const hasEnded = await evictExisting(context, replacement, { clean: args.force === "clean" });
      if (hasEnded) ended = `"${agentName}" was ended; `;
    }
    if (!args["no-gateway"]) await refuseTakenPort(context, port ?? 0);
    await prepareSessionPlace(context, io);
    await evictDead(context, args["agent-name"]);
    if (signal.aborted) throw interruption(ended);
    const asked = headless ? Promise.resolve(null) : installedVersion(context, tool);
    const finish = async (session: NewSession): Promise<Answer> => {
      await warnWithoutSignals(io, session);
      if (args.unattended) {
        const flags = tool.acp
          ? "every request that no rule denies is allowed"
          : `with ${(tool.unattendedArgs ?? []).join(" ")}`;
        await warn(io, `unattended, ${flags}`);
      }
      const profile = allProfiles(readProfiles(context.system, io.env)).find((one) => one.tool === tool.tool);
      const launched: LaunchedVersion = {
        tool,
        version: await asked,
        proved: profile?.proved_versions ?? [],
        unattended: args.unattended === true,
        headless: headless !== null && headless !== undefined,
        args: rest,
      };
      for (const line of launchWarnings(launched)) await warn(io, line);
      const wanted = args.mailbox || args["mailbox-root"] !== undefined;
      const mailbox = wanted ? await giveMailboxAtLaunch(context, io, session, args["mailbox-root"]) : null;
      const complete = (answer: Answer) =>
        withNotifier(
          withMailbox(withVersion(answer, launched), mailbox),
          args["agent-name"],
          session.notifier,
        );
      if (args["no-gateway"]) {
        // For the gateway that is attached later.
        saveWish(context.files, session.sessionRoot, {
          port,
          attachmentRoots,
          otlpEndpoint,
          executionMode: args["gateway-background"] ? "detached_process" : undefined,
        });
        return complete(toLaunchAnswer(context, session, null, null));
      }
      try {
        await narrate(io, "starting its gateway");
        const executionMode = args["gateway-background"] ? "detached_process" : "tmux_auxiliary_window";
        const attached = await attachGateway(context, session, {
          port,
          executionMode,
          allowOrigins,
          attachmentRoots,
          otlpEndpoint,
        });
        await warnOfTraces(io, context.files, session.sessionRoot);
        return complete(toLaunchAnswer(context, session, attached, null));
      } catch (error) {
        return complete(toLaunchAnswer(context, session, null, messageOf(error)));
      }
    };
    const session = await launchAgent(context, request).catch((error: unknown) => {
      if (signal.aborted) throw new CommandFailure(exitCodes.interrupted, `${ended}${messageOf(error)}`);
      throw error;
    });
    const { agent_id } = session.manifest;
    const name = args["agent-name"];
    const single = `svc-mgr agents single --agent-name ${name}`;
    const state = `"${name}" runs, and not all of its launch was done. Serve it with: ${single} gateway attach. End it with: ${single} stop`;
    return unlessInterrupted(signal, state, () => finish(session), { agent_name: name, agent_id });
  },
});

function toOwner(file: string | undefined, member: string | undefined): TeamOwner | undefined {
  if (file === undefined && member === undefined) return undefined;
  if (file === undefined || member === undefined) throw new UsageError("give --team-file with --team-member");
  return { file, member };
}

async function agentOfEarlierUp({ files }: CliContext, io: CliIo, team: TeamOwner): Promise<string | null> {
  const { readAgentOfEarlierUp } = await import("../../services/team/team-store.ts");
  return readAgentOfEarlierUp(files, join(stateRootOf(io.env, io.home), "teams"), team);
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
    throw new ServiceError(
      error.reason,
      `${error.message}; nothing was launched. Take another --gateway-port, or leave it out for a free one`,
      { cause: error },
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
function toHeadlessWish(args: {
  headless: boolean;
  model: string | undefined;
  "reasoning-level": string | undefined;
  "headless-display-style": string | undefined;
  "headless-display-detail": string | undefined;
}): HeadlessWish | undefined {
  const { headless, model } = args;
  const reasoningLevel = toWholeNumber("reasoning-level", args["reasoning-level"], 0, 1000);
  const style = args["headless-display-style"];
  const detail = args["headless-display-detail"];
  if (headless) {
    return { displayStyle: style ?? "plain", displayDetail: detail ?? "concise", model, reasoningLevel };
  }
  if ([model, reasoningLevel, style, detail].some((one) => one !== undefined)) {
    throw new UsageError(
      "--model, --reasoning-level and --headless-display-* need --headless; a terminal agent takes its tool's own flags after --",
    );
  }
  return undefined;
}

function toVariables(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const match = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s.exec(pair);
      if (!match) throw new UsageError(`--env wants NAME=VALUE, not "${pair}"`);
      return [match[1] ?? "", match[2] ?? ""];
    }),
  );
}
