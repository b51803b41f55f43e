import type { MailboxBinding, Manifest } from "../../../protocol/files.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { FoundAgent } from "../../sessions/find.ts";
import { defaultMailbox, parseAddress, shown } from "../address.ts";
import { newBindingsVersion, type RegisterDeps, rebind } from "../binding-register.ts";
import { createJmapClient, type JmapClient, type JmapLogin } from "./client.ts";
import { credentialPaths, toCredentialRef, writeCredential } from "./credentials.ts";
import { parseJmapUrl } from "./session.ts";
import { IdentityGet } from "./wire.ts";

export interface JmapRegisterDeps extends RegisterDeps {
  files: Files;
  runtimeRoot: string;
}

type Agent = Pick<FoundAgent, "manifest" | "manifestPath" | "sessionRoot">;

export interface JmapWish {
  url: string;
  /** Default: as for every agent. */
  address?: string | undefined;
  principalId?: string | undefined;
  provisioner: JmapProvisioner;
}

/**
 * Gives an agent a mailbox on a mail server, also one that runs. Logs in first: throws `invalid_request` for an
 * address that the login may not send from, `transport_failed` for a server that does not answer or refuses the
 * login, and changes nothing then. The password goes to files of this user only; the manifest names them.
 */
export async function registerJmapMailbox(
  deps: JmapRegisterDeps,
  agent: Agent,
  wish: JmapWish,
): Promise<{ manifest: Manifest; binding: MailboxBinding }> {
  const usual = defaultMailbox(agent.manifest.agent_name);
  const address = parseAddress(wish.address ?? usual.address);
  const principalId = wish.principalId ?? usual.principalId;
  const url = parseJmapUrl(wish.url);
  const login = await wish.provisioner.ensure({ address, principalId });
  await checkAddress(
    createJmapClient({ clock: deps.clock, url, login: () => login }),
    login.identity,
    address,
  );

  const ref = toCredentialRef(url, address);
  const { runtimeRoot } = deps;
  const paths = credentialPaths(deps.files, { runtimeRoot, sessionRoot: agent.sessionRoot, ref });
  const credential = { credential_ref: ref, login_identity: login.identity, password: login.password };
  for (const path of [paths.shared, paths.session]) writeCredential(deps.files, path, credential);
  const binding: MailboxBinding = {
    transport: "jmap",
    principal_id: principalId,
    address,
    bindings_version: newBindingsVersion(deps.clock),
    jmap_url: url,
    management_url: wish.provisioner.managementUrl,
    login_identity: login.identity,
    credential_ref: ref,
    credential_file: paths.session,
  };
  return { manifest: await rebind(deps, agent, binding), binding };
}

/**
 * Takes it away again: the session's copy of the login always, and with `purge` the one that a later registration
 * could use. The mail stays on its server.
 */
export async function unregisterJmapMailbox(
  deps: JmapRegisterDeps,
  agent: Agent,
  binding: MailboxBinding,
  mode: "deactivate" | "purge",
): Promise<Manifest> {
  const manifest = await rebind(deps, agent, null);
  // The binding can name any file and any login: only the one of its server and address is used.
  const { jmap_url: url, credential_ref: ref, address } = binding;
  if (ref === undefined || url === undefined || ref !== toCredentialRef(url, address)) return manifest;
  const { runtimeRoot } = deps;
  const paths = credentialPaths(deps.files, { runtimeRoot, sessionRoot: agent.sessionRoot, ref });
  deps.files.removeFile("mail-credential.remove", paths.session);
  if (mode === "purge") deps.files.removeFile("mail-credential.remove", paths.shared);
  return manifest;
}

async function checkAddress(client: JmapClient, login: string, address: string): Promise<void> {
  const { submits } = await client.session();
  if (!submits) {
    throw new ServiceError(
      "transport_failed",
      "the login may not send mail on the JMAP server, or it cannot now",
    );
  }
  const answers = await client.call([["Identity/get", { ids: null }, "who"]], { safe: true });
  const known = answers.of(IdentityGet, "Identity/get", "who").list.map(({ email }) => email.toLowerCase());
  if ([login.toLowerCase(), ...known].includes(address.toLowerCase())) return;
  throw new ServiceError(
    "invalid_request",
    `the login may not send from ${shown(address)}; it may from ${known.join(", ") || "no address"}`,
  );
}

/**
 * Where accounts on a mail server come from. A server with a management API gets one that makes the account and a
 * random password for it; `preProvisioned` is for one whose accounts an administrator made (spec/mailbox-agui.md B).
 */
interface JmapProvisioner {
  /** The base of the API that was asked, or null. Stands in the binding. */
  readonly managementUrl: string | null;
  /** An account that receives mail to `address` and how it logs in. Making the same one twice is safe. */
  ensure(account: { address: string; principalId: string }): Promise<JmapLogin>;
}

/** The account is there already. */
export function preProvisioned(login: JmapLogin): JmapProvisioner {
  return { managementUrl: null, ensure: async () => login };
}
