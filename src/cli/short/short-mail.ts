import type { MailboxBinding, RegistryRecord } from "../../protocol/files.ts";
import type { Remedy } from "../../protocol/remedy.ts";
import { ServiceError } from "../../system/errors.ts";
import { visibleLine } from "../../system/visible.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { type Caller, type CommandCaller, command, UsageError } from "../command-line/command.ts";
import { nameOnly, textOf } from "../command-line/shared-flags.ts";
import type { NamedBinding } from "../mail/agent-mailbox.ts";
import { findMembers } from "./several-agents.ts";

export const mail = command({
  name: "mail",
  description:
    "send mail to the agent, or as @NAME to a group or person of svc.yaml: from the agent in whose session this runs, else from a person's mailbox",
  examples: [
    'svc mail worker "the build is red" please look at it',
    'svc mail worker "the log" < build.log',
    'svc mail @reviewers "please review" the last commit',
  ],
  args: {
    ...nameOnly,
    subject: { type: "positional", description: "one line" },
    text: textOf("the text, as Markdown; without it standard input is read"),
    from: {
      type: "string",
      valueHint: "ADDRESS",
      offers: "addresses",
      description: "whose mailbox it is sent from; default: SVC_MAIL_FROM, else USER@svc.localhost",
    },
  },
  async run(invocation) {
    const { args, io, inherited, path } = invocation;
    const { openCliContext } = await import("../command-line/cli-context.ts");
    const { findSelf } = await import("../../services/sessions/find.ts");
    const context = openCliContext(io, inherited);
    const { warn } = await import("../command-line/narrate.ts");
    const ofTeam = async (name: string): Promise<Recipients> => {
      const { agents, people, path: file } = await findMembers(invocation, name);
      for (const { member, record } of agents) {
        if (record === null)
          await warn(io, `"${member}" gets nothing: ${visibleLine(file)} launched no such agent`);
        else if (!record.mailbox) await warn(io, `"${member}" has no mailbox and gets nothing`);
      }
      const bound = agents.flatMap(({ member, record }) =>
        record?.mailbox ? [{ name: member, binding: record.mailbox }] : [],
      );
      if (bound.length + people.length === 0) throw new UsageError(`nobody of @${name} has a mailbox`, path);
      return { agents: bound, people };
    };
    const ofAgent = async (): Promise<Recipients> => {
      const binding = bindingOf(await findRecipient(invocation, context, args.name));
      return { agents: [{ name: args.name, binding }], people: [] };
    };
    const to = args.name.startsWith("@") ? await ofTeam(args.name.slice(1)) : await ofAgent();
    const self = async () => {
      const { files, registry, paneTmux: tmux, clock } = context;
      return findSelf({ files, registry, tmux, env: io.env, nowMs: clock.nowMs() }).catch(() => null);
    };
    const from = args.from ?? io.env["SVC_MAIL_FROM"];
    const sending = from === undefined ? await self() : null;
    const address = from ?? `${io.env["USER"] || "operator"}@svc.localhost`;
    const addresses = [...to.agents.map(({ binding }) => binding.address), ...to.people];
    const rootOf = () =>
      sending ? sending.manifest.launch_plan.mailbox?.filesystem_root : rootHere(invocation);
    const root = to.agents.length > 0 ? await rootOf() : undefined;
    const { refuseOtherRoot } = await import("../mail/agent-mailbox.ts");
    for (const one of to.agents) refuseOtherRoot(context, one, { root, address, isAgent: sending !== null });
    const { mailCommands } = await import("../commands/agent/mail.ts");
    const sender = sending
      ? { io, inherited, path, whom: "self" as const }
      : { io, path, inherited: { ...inherited, address } };
    const message = { to: addresses, subject: args.subject, "body-content": args.text };
    return mailCommands.send.call(sender, message);
  },
});

/** Whom a message goes to. */
interface Recipients {
  agents: NamedBinding[];
  /** Addresses. */
  people: string[];
}

/**
 * The agent of the name. Where only svc.yaml has it, the refusal names the word that means a person or group.
 */
async function findRecipient(
  caller: CommandCaller,
  context: CliContext,
  agentName: string,
): Promise<RegistryRecord> {
  const { findNamed } = await import("../agent/team-scope.ts");
  try {
    return await findNamed(context, caller.io, agentName);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== "not_found") throw error;
    const members = await findMembers(caller, agentName).catch(() => null);
    if (members === null || members.agents.some(({ member }) => member === agentName)) throw error;
    const detail = `there is no agent named "${agentName}"; for the person or group of svc.yaml write @${agentName}`;
    throw new ServiceError("not_found", detail, { cause: error });
  }
}

function bindingOf({ agent_name: name, mailbox }: RegistryRecord): MailboxBinding {
  if (mailbox) return mailbox;
  throw new ServiceError("precondition_failed", `"${name}" has no mailbox`, {
    data: { remedy: { code: "register_mailbox", agent_name: name } satisfies Remedy },
  });
}

/** The mailbox root through which a person's mail from the working directory goes. */
async function rootHere(caller: Caller): Promise<string> {
  const { chooseRoot } = await import("../mail/mailbox-root.ts");
  return chooseRoot(caller, { creates: false }).root;
}
