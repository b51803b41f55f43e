import { hostname } from "node:os";
import { resolve } from "node:path";
import { hostNamePattern } from "../protocol/hosts.ts";
import type { BusAddress } from "../services/hosts/nats-bus.ts";
import { isLoopback } from "../services/mail/jmap/session.ts";
import { ServiceError } from "../system/errors.ts";
import type { Files } from "../system/files.ts";
import { type CliIo, type Flags, UsageError, type Values } from "./command.ts";

/** Flags of both ends of a message bus. */
export const busFlags = {
  nats: {
    type: "string",
    valueHint: "URL",
    description: "NATS server of the fleet: nats://127.0.0.1:4222, or tls://HOST:4222",
  },
  creds: {
    type: "string",
    valueHint: "FILE",
    description: "file with the key for it, mode 0600",
  },
  "nats-ca": {
    type: "string",
    valueHint: "FILE",
    description: "certificates that the server's certificate is checked with; default: those of the system",
  },
  "nats-plaintext": {
    type: "boolean",
    description: "allow nats:// to another machine, where everyone on the way reads along",
  },
  fleet: { type: "string", default: "svc", valueHint: "NAME", description: "name of the fleet" },
} satisfies Flags;

export const hostNameFlag = {
  "host-name": {
    type: "string",
    valueHint: "NAME",
    description: "name of this host in the fleet; default: the machine's name",
  },
} satisfies Flags;

const validName = new RegExp(hostNamePattern);

/** Throws UsageError for what is no name. */
export function toHostName(flag: string, given: string | undefined): string {
  const name =
    given ??
    (hostname().split(".")[0] ?? "")
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, "-")
      .slice(0, 63)
      .replace(/^-+|-+$/g, "");
  if (validName.test(name)) return name;
  throw new UsageError(
    `${flag} ${JSON.stringify(name)}: use at most 63 lower-case letters, digits and "-", as in build-3`,
  );
}

/** Null without --nats. Throws UsageError, and `precondition_failed` for a file that is not this user's alone. */
export function readBusAddress(
  args: Values<typeof busFlags>,
  { io, files }: { io: Pick<CliIo, "cwd">; files: Pick<Files, "readPrivate" | "read"> },
): BusAddress | null {
  if (args.nats === undefined) return null;
  const { url, isSecure } = parseUrl(args.nats);
  if (!isSecure && !isLoopback(url) && !args["nats-plaintext"]) {
    throw new UsageError(
      `--nats ${url.href}: everyone on the way could read along. Use tls://, or allow it with --nats-plaintext`,
    );
  }
  if (args.creds === undefined) throw new UsageError("--nats needs --creds FILE, the key for the server");
  const path = resolve(io.cwd, args.creds);
  const credentials = files.readPrivate(path);
  if (credentials === null) {
    throw new ServiceError(
      "precondition_failed",
      `--creds ${path} is no regular file that this user alone can read: chmod 600 ${path}`,
    );
  }
  const authorities = args["nats-ca"] === undefined ? null : files.read(resolve(io.cwd, args["nats-ca"]));
  if (args["nats-ca"] !== undefined && authorities === null) {
    throw new UsageError(`--nats-ca: there is no file ${args["nats-ca"]}`);
  }
  return { url: args.nats, credentials, authorities, fleet: toHostName("--fleet", args.fleet) };
}

function parseUrl(text: string): { url: URL; isSecure: boolean } {
  const url = URL.canParse(text) ? new URL(text) : null;
  const scheme = url?.protocol ?? "";
  if (!url || !["nats:", "tls:"].includes(scheme) || url.hostname === "" || url.username !== "") {
    throw new UsageError("--nats: give nats://HOST:PORT or tls://HOST:PORT, without a password");
  }
  return { url, isSecure: scheme === "tls:" };
}
