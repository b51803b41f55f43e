import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { ContainedPath } from "../../../system/contained-path.ts";
import { sha256 } from "../../../system/digest.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { shown } from "../address.ts";
import type { JmapLogin } from "./client.ts";

/**
 * Logins of mail servers, each in a separate file (0600) that a binding names. They are nowhere else: not in a
 * manifest, a log or an error. Source: spec/mailbox-agui.md B, A10.
 */
export const JmapCredential = Type.Object({
  credential_ref: Type.String(),
  login_identity: Type.String(),
  password: Type.String({ minLength: 1 }),
});
export type JmapCredential = Static<typeof JmapCredential>;

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
 * Where a login is kept for all sessions, and where the copy that one session works with. Throws `PathRefused` for a
 * `ref` that is no name and for a link on the way.
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
 * The login of `address` at `url` from the file that a binding names. Anyone who can write the working tree can change a
 * manifest, so a login goes only to the server and for the address that it was registered for: the file says both
 * by its `credential_ref`. Throws `transport_failed` without the content of the file.
 */
export function readLogin(
  files: Pick<Files, "readOwn">,
  { path, url, address }: { path: string; url: string; address: string },
): JmapLogin {
  const text = files.readOwn(path);
  const parsed = text === null ? null : parseCredential(text);
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

function parseCredential(text: string): JmapCredential | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(JmapCredential, value) ? value : null;
  } catch {
    return null;
  }
}
