import type { MailboxBinding, Manifest } from "../protocol/files.ts";
import { preProvisioned } from "../services/mail/jmap/provisioner.ts";
import { registerJmapMailbox } from "../services/mail/jmap/register.ts";
import type { FoundAgent } from "../services/sessions/find.ts";
import { ServiceError } from "../system/errors.ts";
import type { CliIo, Flags } from "./command.ts";
import { readFileFlag, readStdin } from "./flag-values.ts";
import type { World } from "./world.ts";

/** Where a mailbox on a mail server is and how one logs in there. */
export const jmapFlags = {
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

export interface JmapFlagValues {
  url: string | undefined;
  loginIdentity: string | undefined;
  passwordFile: string | undefined;
  address: string | undefined;
  principalId: string | undefined;
}

/** Registers a mailbox whose account an administrator made. The password is seen nowhere but in its file. */
export async function giveJmapMailbox(
  world: World,
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
  const password = await readPassword(world, io, passwordFile);
  return registerJmapMailbox(world, agent, {
    url,
    address: address ?? (identity.includes("@") ? identity : undefined),
    principalId,
    provisioner: preProvisioned({ identity, password }),
  });
}

async function readPassword(
  { files }: Pick<World, "files">,
  io: Pick<CliIo, "cwd" | "readInput">,
  flag: string,
): Promise<string> {
  const text =
    flag === "-" ? await readStdin(io) : await readFileFlag("password-file", flag, { files, cwd: io.cwd });
  const password = text.replace(/\r?\n$/, "");
  if (password === "") throw new ServiceError("invalid_request", "--password-file: it is empty");
  return password;
}
