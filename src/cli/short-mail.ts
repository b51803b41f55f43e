import type { MailboxBinding, RegistryRecord } from "../protocol/files.ts";
import { ServiceError } from "../system/errors.ts";
import type { CliContext } from "./cli-context.ts";
import { command, type Invocation, UsageError } from "./command.ts";
import { flagged, manage, nameOnly, textOf } from "./shorthand.ts";

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
    const { args, io, inherited } = invocation;
    const { openCliContext } = await import("./cli-context.ts");
    const { findSelf } = await import("../services/sessions/find.ts");
    const context = openCliContext(io, inherited);
    const ofTeam = async (name: string) => {
      const { findMembers } = await import("./team-files.ts");
      const { addresses, withoutMailbox } = await findMembers(invocation as unknown as Invocation, name);
      if (addresses.length === 0) throw new UsageError(`nobody of @${name} has a mailbox`, invocation.path);
      const { warn } = await import("./narrate.ts");
      for (const agent of withoutMailbox) await warn(io, `"${agent}" has no mailbox and gets nothing`);
      return addresses;
    };
    const plain = invocation as unknown as Invocation;
    const record = args.name.startsWith("@") ? null : await findRecipient(plain, context, args.name);
    const binding = record && bindingOf(record);
    const to = binding === null ? await ofTeam(args.name.slice(1)) : [binding.address];
    const self = async () => {
      const { files, registry, paneTmux: tmux, clock } = context;
      return findSelf({ files, registry, tmux, env: io.env, nowMs: clock.nowMs() }).catch(() => null);
    };
    const from = args.from ?? io.env["SVC_MAIL_FROM"];
    const isAgent = from === undefined && (await self()) !== null;
    const address = from ?? `${io.env["USER"] || "operator"}@svc.localhost`;
    if (binding !== null && !isAgent)
      await refuseOtherRoot(plain, context, { name: args.name, address, binding });
    const sender = isAgent ? ["agents", "self", "mail", "send"] : ["mail", "send", `--address=${address}`];
    const words = [...sender, ...to.map((address) => `--to=${address}`), `--subject=${args.subject}`];
    return manage(plain, [...words, ...flagged("body-content", args.text)]);
  },
});

/** The agent of the name. Where only svc.yaml has it, the refusal names the word that means a person or group. */
async function findRecipient(
  invocation: Invocation,
  context: CliContext,
  agentName: string,
): Promise<RegistryRecord> {
  const { findRecord } = await import("../services/sessions/find.ts");
  try {
    return findRecord(context, { agentName });
  } catch (error) {
    if (!(error instanceof ServiceError) || error.reason !== "not_found") throw error;
    const { findMembers } = await import("./team-files.ts");
    const members = await findMembers(invocation, agentName).catch(() => null);
    if (members === null || members.agents.includes(agentName)) throw error;
    const detail = `there is no agent named "${agentName}"; for the person or group of svc.yaml write @${agentName}`;
    throw new ServiceError("not_found", detail, { cause: error });
  }
}

function bindingOf({ agent_name: name, mailbox }: RegistryRecord): MailboxBinding {
  if (mailbox) return mailbox;
  const advice = `svc-mgr agents single --agent-name ${name} mailbox register`;
  throw new ServiceError("precondition_failed", `"${name}" has no mailbox. Give it one: ${advice}`);
}

/** A person's mail goes through the mailbox root of the working directory, which may not be that of the agent. */
async function refuseOtherRoot(
  { io, inherited }: Invocation,
  { files }: CliContext,
  { name, address, binding }: { name: string; address: string; binding: MailboxBinding },
): Promise<void> {
  const { chooseRoot } = await import("./mailbox-root.ts");
  const { root } = chooseRoot({ io, inherited }, { creates: false });
  const own = binding.filesystem_root;
  if (own === undefined || files.realPath(own) === files.realPath(root)) return;
  const send = `svc-mgr mail send --mailbox-root ${own} --address ${address} --to ${binding.address} --subject SUBJECT`;
  throw new ServiceError(
    "precondition_failed",
    `the mailbox of "${name}" is in ${own}, and mail from this folder goes through ${root}. Send it from a folder that uses ${own}, or with: ${send}`,
  );
}
