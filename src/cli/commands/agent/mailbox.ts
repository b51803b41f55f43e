import type { MailboxBinding, Manifest } from "../../../protocol/files.ts";
import { MailTransport } from "../../../protocol/mail.ts";
import { DeregistrationMode, RegistrationMode } from "../../../protocol/mailbox-admin.ts";
import { type Advise, type Remedy, toRemedyRecord } from "../../../protocol/remedy.ts";
import { bindingOf, type MailSupport } from "../../../services/mail/binding.ts";
import { unregisterMailbox } from "../../../services/mail/binding-register.ts";
import { openMailRoot } from "../../../services/mail/filesystem/root.ts";
import {
  preProvisioned,
  registerJmapMailbox,
  unregisterJmapMailbox,
} from "../../../services/mail/jmap/register.ts";
import type { FoundAgent } from "../../../services/sessions/find.ts";
import { ServiceError } from "../../../system/errors.ts";
import { openTarget } from "../../agent/target.ts";
import type { CliContext } from "../../command-line/cli-context.ts";
import { type CliIo, command, type Flags } from "../../command-line/command.ts";
import { wordFlag } from "../../command-line/field-flags.ts";
import { readFileFlag, readStdin } from "../../command-line/flag-values.ts";
import { renderPairs } from "../../command-line/format.ts";
import { withRemedy } from "../../command-line/remedies.ts";
import { mailboxRootFlag } from "../../command-line/shared-flags.ts";
import { inMailbox } from "../../mail/agent-mail.ts";
import { giveMailbox, mailOf } from "../../mail/agent-mailbox.ts";

/** The server of a JMAP mailbox and the login there. */
const jmapFlags = {
  "jmap-url": {
    type: "string",
    description: "jmap: the server, such as https://mail.example/.well-known/jmap",
    valueHint: "URL",
  },
  "login-identity": {
    type: "string",
    description: "jmap: who logs in; default: the address",
    valueHint: "ID",
  },
  "password-file": {
    type: "string",
    description: "jmap: file with the password, or - for stdin",
    valueHint: "FILE",
  },
} satisfies Flags;

const register = command({
  name: "register",
  description: "give the agent a mailbox; it need not be launched again",
  examples: [
    "svc-mgr agents single --agent-name worker mailbox register",
    "svc-mgr agents single --agent-name worker mailbox register --address w@svc.localhost --mode stash",
    "svc-mgr agents single --agent-name worker mailbox register --transport jmap --jmap-url https://mail.example/.well-known/jmap --login-identity w@mail.example --password-file w.password",
  ],
  args: {
    transport: wordFlag(MailTransport, "filesystem"),
    ...mailboxRootFlag,
    address: {
      type: "string",
      description: "default: NAME@svc.localhost; jmap: the login identity",
      valueHint: "ADDRESS",
    },
    "principal-id": { type: "string", description: "whose it is; default: SVC-NAME", valueHint: "ID" },
    mode: wordFlag(RegistrationMode),
    yes: { type: "boolean", description: "where safe would refuse, remove what is there (force)" },
    ...jmapFlags,
  },
  async run(invocation) {
    const { args, io } = invocation;
    const { context, agent, commandPrefix } = await openTarget(invocation);
    const next = `look at it:  ${commandPrefix} mail list`;
    if (args.transport === "jmap") {
      const given = { root: args["mailbox-root"] !== undefined, mode: args.mode !== "safe", yes: args.yes };
      if (given.root || given.mode || given.yes) {
        throw new ServiceError(
          "invalid_request",
          "--mailbox-root, --mode and --yes are for the filesystem transport",
        );
      }
      const { manifest, binding } = await giveJmapMailbox(context, io, agent, {
        url: args["jmap-url"],
        loginIdentity: args["login-identity"],
        passwordFile: args["password-file"],
        address: args.address,
        principalId: args["principal-id"],
      });
      const { json, text } = describeMailbox(manifest, binding, null);
      return { json: { ...json, shared_registration: null }, text: `${text}\n${next}` };
    }
    for (const name of ["jmap-url", "login-identity", "password-file"] as const) {
      if (args[name] !== undefined) {
        throw new ServiceError("invalid_request", `--${name} is for --transport jmap`);
      }
    }
    const { manifest, binding, shared, rootDetail } = await giveMailbox(context, io, agent, {
      rootFlag: args["mailbox-root"],
      address: args.address,
      principalId: args["principal-id"],
      mode: args.yes && args.mode === "safe" ? "force" : args.mode,
    });
    const { json, text } = describeMailbox(manifest, binding, null);
    return {
      json: { ...json, mailbox_root_detail: rootDetail, shared_registration: shared },
      text: `${text}\n${next}`,
    };
  },
});

const unregister = command({
  name: "unregister",
  description: "take the agent's mailbox from it; its mail is kept unless it is purged",
  examples: ["svc-mgr agents single --agent-name worker mailbox unregister"],
  args: {
    mode: {
      ...wordFlag(DeregistrationMode),
      description: `${DeregistrationMode.description}; of a mail server: the stored login`,
    },
  },
  async run(invocation) {
    const { context, agent } = await openTarget(invocation);
    const bound = bindingOf(() => agent.manifest);
    if (bound.transport === "jmap") {
      const manifest = await unregisterJmapMailbox(context, agent, bound, invocation.args.mode);
      const { json } = describeMailbox(manifest, null, null);
      return {
        json: { ...json, shared_unregistration: null },
        text: `${manifest.agent_name} has no mailbox any more; the mail of ${bound.address} stays on its server`,
      };
    }
    using roots = new DisposableStack();
    const openRoot = (path: string) => roots.adopt(openMailRoot(context, path), (root) => root.close());
    const { manifest, binding, shared } = await unregisterMailbox(
      context,
      agent,
      openRoot,
      invocation.args.mode,
    );
    const { json } = describeMailbox(manifest, null, null);
    return {
      json: { ...json, shared_unregistration: shared },
      text: `${manifest.agent_name} has no mailbox any more; ${binding.address} is ${shared?.resulting_status ?? "not its own"}`,
    };
  },
});

const status = command({
  name: "status",
  description: "show whether the agent has a mailbox and whether it can be used",
  examples: ["svc-mgr agents single --agent-name worker mailbox status"],
  async run(invocation) {
    const named = await openTarget(invocation);
    const target = mailOf(named, invocation.io);
    const { manifest } = target.agent;
    const binding = manifest.launch_plan.mailbox ?? null;
    const support = binding && (await inMailbox(target, async (bound) => bound.supported()));
    const { json, text } = describeMailbox(manifest, binding, support && toObstacle(support, named.advise));
    const next = binding ? "" : `\ngive it one:  ${target.commandPrefix} mailbox register`;
    return { json, text: `${text}${next}` };
  },
});

export const agentMailboxCommands = { register, unregister, status };

/** Why a mailbox cannot be used; `text`: the problem and its remedy. */
interface Obstacle {
  error: string;
  remedy: Remedy | null;
  text: string;
}

/** Null for a mailbox that can be used. Pure. */
export function toObstacle({ error, remedy }: MailSupport, advise: Advise): Obstacle | null {
  return error === null ? null : { error, remedy, text: withRemedy(error, remedy, advise) };
}

/**
 * The answer about an agent's mailbox (contract 4.5; spec/mailbox-agui.md A10). Pure.
 */
export function describeMailbox(
  manifest: Manifest,
  binding: MailboxBinding | null,
  obstacle: Obstacle | null,
) {
  const active = binding !== null && obstacle === null;
  const authority = manifest.agent_launch_authority;
  const json = {
    schema_version: 1 as const,
    tracked_agent_id: manifest.agent_id,
    agent_name: manifest.agent_name,
    agent_id: manifest.agent_id,
    backend: manifest.backend,
    joined_session: authority.session_origin === "joined_tmux",
    posture_kind: authority.posture_kind,
    registered: binding !== null,
    activation_state: active ? ("active" as const) : null,
    runtime_mailbox_enabled: active,
    ...(binding && {
      transport: binding.transport,
      principal_id: binding.principal_id,
      address: binding.address,
      mailbox_root: binding.filesystem_root ?? null,
      bindings_version: binding.bindings_version,
      ...(binding.jmap_url !== undefined && {
        jmap_url: binding.jmap_url,
        login_identity: binding.login_identity,
        credential_ref: binding.credential_ref,
      }),
    }),
    ...(obstacle === null ? {} : { error: obstacle.error }),
    ...(obstacle?.remedy ? { remedy: toRemedyRecord(obstacle.remedy) } : {}),
  };
  const text = renderPairs([
    ["agent", manifest.agent_name],
    ["mailbox", binding === null ? "none" : binding.address],
    ["principal", binding?.principal_id],
    ["state", binding && (active ? "active" : `cannot be used: ${obstacle?.text}`)],
    ["root", binding?.filesystem_root],
    ["server", binding?.jmap_url],
    ["login", binding?.login_identity],
    ["bound", binding?.bindings_version],
  ]);
  return { json, text };
}

interface JmapFlagValues {
  url: string | undefined;
  loginIdentity: string | undefined;
  passwordFile: string | undefined;
  address: string | undefined;
  principalId: string | undefined;
}

/**
 * Registers a mailbox whose account an administrator created. The password is only stored in its own file.
 */
export async function giveJmapMailbox(
  context: CliContext,
  io: Pick<CliIo, "cwd" | "readInput">,
  agent: FoundAgent,
  { url, loginIdentity, passwordFile, address, principalId }: JmapFlagValues,
): Promise<{ manifest: Manifest; binding: MailboxBinding }> {
  if (url === undefined || passwordFile === undefined) {
    throw new ServiceError("invalid_request", "--transport jmap needs --jmap-url and --password-file");
  }
  const identity = loginIdentity ?? address;
  if (identity === undefined) {
    throw new ServiceError("invalid_request", "--transport jmap needs --login-identity or --address");
  }
  const password = await readPassword(context, io, passwordFile);
  return registerJmapMailbox(context, agent, {
    url,
    address: address ?? (identity.includes("@") ? identity : undefined),
    principalId,
    provisioner: preProvisioned({ identity, password }),
  });
}

async function readPassword(
  { files }: Pick<CliContext, "files">,
  io: Pick<CliIo, "cwd" | "readInput">,
  flag: string,
): Promise<string> {
  const text =
    flag === "-" ? await readStdin(io) : await readFileFlag("password-file", flag, { files, cwd: io.cwd });
  const password = text.replace(/\r?\n$/, "");
  if (password === "") throw new ServiceError("invalid_request", "--password-file: it is empty");
  return password;
}
