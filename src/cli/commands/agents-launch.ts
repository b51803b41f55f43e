import type { TeamOwner } from "../../protocol/files.ts";
import { toLaunchAnswer, withKeptNotifier, withNotifier, withVersion } from "../agent/launch-answer.ts";
import { modelFlags, readModel } from "../agent/model-flags.ts";
import { type Answer, type CliIo, command, UsageError } from "../command-line/command.ts";
import { toWholeNumber } from "../command-line/flag-values.ts";
import { mailboxRootFlag, noSignalsFlag } from "../command-line/shared-flags.ts";
import {
  attachmentRootFlag,
  originFlag,
  otlpFlag,
  toOrigins,
  toOtlpEndpoint,
} from "../gateway/gateway-flags.ts";
import { withMailbox } from "../mail/agent-mailbox.ts";
import { type Launched, launchNamed } from "../operations/launch.ts";

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
    fresh: {
      type: "boolean",
      description: "begin without the prompts and the conversation of a stopped agent of this name",
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
    ...modelFlags,
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
    const { name: model, level: reasoningLevel } = readModel(args);
    const launched = await launchNamed(
      { io, inherited },
      {
        tool: args.tool,
        agentName: args["agent-name"],
        agentId: args["agent-id"],
        workdir: args.workdir,
        args: rest,
        env: toVariables(args.env),
        home: args.home,
        sessionName: args["session-name"],
        roleFile: args["role-file"],
        force: args.force,
        fresh: args.fresh,
        unattended: args.unattended,
        policyFile: args["permission-policy"],
        noSignals: args["no-signals"],
        turns: {
          headless: args.headless,
          model,
          reasoningLevel,
          displayStyle: args["headless-display-style"],
          displayDetail: args["headless-display-detail"],
        },
        team: toOwner(args["team-file"], args["team-member"]),
        mailbox: args.mailbox || args["mailbox-root"] !== undefined,
        mailboxRoot: args["mailbox-root"],
        gateway: {
          isStarted: !args["no-gateway"],
          port: toWholeNumber("gateway-port", args["gateway-port"], 0, 65_535),
          background: args["gateway-background"],
          allowOrigins: toOrigins(args["allow-origin"]),
          attachmentRoots: args["attachment-root"],
          otlpEndpoint: toOtlpEndpoint(args["otlp-endpoint"]),
        },
      },
    );
    return answerLaunched(io, launched);
  },
});

/** Exit 2 where the agent runs without its gateway, its mailbox or the notifier. Pure. */
export function answerLaunched(
  io: Pick<CliIo, "advise">,
  { context, session, gateway, version, mailbox, notifier }: Launched,
): Answer {
  const attached = gateway.state === "serves" ? gateway.attached : null;
  const error = gateway.state === "failed" ? gateway.error : null;
  const answer = withVersion(toLaunchAnswer({ context, io }, session, attached, error), version);
  const { agent_name: name } = session.manifest;
  const kept = withKeptNotifier(withMailbox(answer, mailbox), name, session.notifier);
  return withNotifier(kept, name, notifier);
}

function toOwner(file: string | undefined, member: string | undefined): TeamOwner | undefined {
  if (file === undefined && member === undefined) return undefined;
  if (file === undefined || member === undefined) throw new UsageError("give --team-file with --team-member");
  return { file, member };
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
