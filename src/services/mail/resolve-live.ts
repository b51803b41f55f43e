import { join } from "node:path";
import type { CurrentInstance, MailboxBinding } from "../../protocol/files.ts";
import type { MailResolveLive, MailTransport } from "../../protocol/mail.ts";
import { childPath } from "../../system/contained-path.ts";
import { ServiceError } from "../../system/errors.ts";

/** A gateway that was found healthy. */
interface LiveGateway {
  instance: Pick<CurrentInstance, "host" | "port" | "protocol_version">;
  /** Absolute path of its state.json. */
  statePath: string;
}

/**
 * What an agent needs in order to work with its mail: the binding, where the mailbox is, and the live gateway
 * (null without one, ruling 22). Pure. Throws `unsupported` for a transport that nobody knows or a binding
 * without its place. Source: contract 4.1 notifier rule 6; spec/mailbox-agui.md A10.
 */
export function toResolveLive(binding: MailboxBinding, gateway: LiveGateway | null): MailResolveLive {
  const identity = {
    transport: transportOf(binding),
    principal_id: binding.principal_id,
    address: binding.address,
    bindings_version: binding.bindings_version,
  };
  return {
    source: "manifest_binding",
    ...identity,
    mailbox: { ...identity, ...placeOf(binding) },
    gateway: gateway && {
      source: "current_instance_record",
      host: gateway.instance.host,
      port: gateway.instance.port,
      base_url: `http://${reachable(gateway.instance.host)}:${gateway.instance.port}`,
      protocol_version: gateway.instance.protocol_version,
      state_path: gateway.statePath,
    },
  };
}

function transportOf({ transport }: MailboxBinding): MailTransport {
  if (transport === "filesystem" || transport === "jmap") return transport;
  throw new ServiceError("unsupported", `no mailbox of the transport "${transport}" is known`);
}

function placeOf(binding: MailboxBinding): Pick<MailResolveLive["mailbox"], "filesystem" | "jmap"> {
  if (binding.transport === "jmap") {
    const text = (name: string) => {
      const value = (binding as Record<string, unknown>)[name];
      return typeof value === "string" ? value : null;
    };
    return {
      jmap: {
        jmap_url: text("jmap_url"),
        management_url: text("management_url"),
        login_identity: text("login_identity"),
        credential_ref: text("credential_ref"),
        credential_file: text("credential_file"),
      },
    };
  }
  const { filesystem_root: root } = binding;
  if (root === undefined) throw new ServiceError("unsupported", "the binding names no filesystem_root");
  const mailboxPath = binding.mailbox_path ?? childPath(root, "mailboxes", binding.address);
  return {
    filesystem: {
      root,
      mailbox_kind: binding.mailbox_kind ?? "in_root",
      mailbox_path: mailboxPath,
      inbox_path: join(mailboxPath, "inbox"),
      sqlite_path: join(root, "index.sqlite"),
      local_sqlite_path: join(mailboxPath, "mailbox.sqlite"),
    },
  };
}

/** A listener on all addresses is reached over loopback (contract 4.1, mail rule 2). */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1";
  return host.includes(":") ? `[${host}]` : host;
}
