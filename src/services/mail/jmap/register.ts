import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import type { MailboxBinding, Manifest } from "../../../protocol/files.ts";
import { parseJson } from "../../../protocol/json.ts";
import type { ContainedPath } from "../../../system/contained-path.ts";
import { sha256 } from "../../../system/digest.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import type { FoundAgent } from "../../sessions/find.ts";
import { defaultMailbox, parseAddress, shown } from "../address.ts";
import { newBindingsVersion, type RegisterDeps, rebind } from "../binding-register.ts";
import { createJmapClient, type JmapClient, type JmapLogin } from "./client.ts";
import { parseJmapUrl } from "./session.ts";
import { IdentityGet } from "./wire.ts";

/**
 * Logins of mail servers, each in a separate file (0600) that a binding names. They are nowhere else: not in
 * a manifest, a log or an error. Source: spec/mailbox-agui.md B, A10.
 */
const JmapCredential = Type.Object({
  credential_ref: Type.String(),
  login_identity: Type.String(),
  password: Type.String({ minLength: 1 }),
});
type JmapCredential = Static<typeof JmapCredential>;

/** Names the login of an address at a server, the same every time. Pure. */
export function toCredentialRef(url: string, address: string): string {
  const slug = address
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 60);
  const digest = sha256(`${url}\n${address}`).slice(0, 16);
  return `jmap-${slug}-${digest}`;
}

/**
 * Where a login is kept for all sessions, and where the copy that one session works with. Throws
 * `PathRefused` for a `ref` that is no name and for a link on the way.
 */
export function credentialPaths(
  files: Pick<Files, "contained">,
  options: { runtimeRoot: string; sessionRoot: string; ref: string },
) {
  const name = `${options.ref}.json`;
  return {
    shared: files.contained(options.runtimeRoot, ["mailbox-credentials", "jmap", name], "file"),
    session: files.contained(options.sessionRoot, ["mailbox-secrets", name], "file"),
  };
}

export function writeCredential(files: Files, path: ContainedPath, credential: JmapCredential): void {
  files.ensureDirectory("mail-credential.folder", join(path, ".."));
  files.write("mail-credential", path, `${JSON.stringify(credential, null, 2)}\n`);
}

/**
 * The login of `address` at `url` from the file that a binding names. Anyone who can write the working tree
 * can change a manifest, so a login goes only to the server and for the address that it was registered for:
 * the file says both by its `credential_ref`. Throws `transport_failed` without the content of the file.
 */
export function readLogin(
  files: Pick<Files, "read">,
  { path, url, address }: { path: string; url: string; address: string },
): JmapLogin {
  const parsed = parseJson(JmapCredential, files.read(path));
  if (!parsed)
    throw new ServiceError(
      "transport_failed",
      "the file with the login of the mail server is missing or damaged; `mailbox register` makes it",
    );
  if (parsed.credential_ref !== toCredentialRef(url, address)) {
    throw new ServiceError(
      "transport_failed",
      `the login that the session's manifest names was not made for ${shown(address)} at ${new URL(url).host}, so that it is not sent there; \`mailbox register\` makes one`,
    );
  }
  return { identity: parsed.login_identity, password: parsed.password };
}

interface JmapRegisterDeps extends RegisterDeps {
  files: Files;
  runtimeRoot: string;
}

type Agent = Pick<FoundAgent, "manifest" | "manifestPath" | "sessionRoot">;

interface JmapWish {
  url: string;
  /** Default: as for every agent. */
  address?: string | undefined;
  principalId?: string | undefined;
  provisioner: JmapProvisioner;
}

/**
 * Gives an agent a mailbox on a mail server, also one that runs. Logs in first: throws `invalid_request` for
 * an address that the login may not send from, `transport_failed` for a server that does not answer or
 * refuses the login, and changes nothing then. The password goes to files of this user only; the manifest
 * names them.
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
 * Takes it away again: the session's copy of the login always, and with `purge` the one that a later
 * registration could use. The mail stays on its server.
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
 * Where accounts on a mail server come from. A server with a management API gets one that makes the account
 * and a random password for it; `preProvisioned` is for one whose accounts an administrator made
 * (spec/mailbox-agui.md B).
 */
interface JmapProvisioner {
  /** The base URL of the API in the binding, or null. */
  readonly managementUrl: string | null;
  /** An account that receives mail to `address` and how it logs in. Making the same one twice is safe. */
  ensure(account: { address: string; principalId: string }): Promise<JmapLogin>;
}

/** The account is there already. */
export function preProvisioned(login: JmapLogin): JmapProvisioner {
  return { managementUrl: null, ensure: async () => login };
}
