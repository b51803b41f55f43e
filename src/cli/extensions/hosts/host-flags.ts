import { hostname } from "node:os";
import { resolve } from "node:path";
import { hostNamePattern } from "../../../protocol/wire.ts";
import type { BusAddress } from "../../../services/extensions/hosts/nats-bus.ts";
import type { SshTarget } from "../../../services/extensions/hosts/ssh-hosts.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { isLoopbackHost } from "../../../system/network.ts";
import { shellWord } from "../../../system/shell-word.ts";
import { type CliIo, type Flags, UsageError, type Values } from "../../command-line/command.ts";

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

/** Flags of an operator that reaches hosts with ssh. */
export const sshFlags = {
  ssh: {
    type: "string",
    multiple: true,
    valueHint: "[NAME=]DESTINATION",
    description: "reach the agents of a host with ssh: user@build-3, or NAME=ssh://user@HOST:PORT",
  },
  "ssh-config": {
    type: "string",
    valueHint: "FILE",
    description: "configuration for ssh -F; default: your own",
  },
  "ssh-program": {
    type: "string",
    default: "svc-coord",
    valueHint: "PATH",
    description: "svc-coord on these hosts, where their PATH does not have it",
  },
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

/**
 * Null without --nats. Throws UsageError, and `precondition_failed` for a file that is not this user's alone.
 */
export function readBusAddress(
  args: Values<typeof busFlags>,
  { io, files }: { io: Pick<CliIo, "cwd">; files: Pick<Files, "read"> },
): BusAddress | null {
  if (args.nats === undefined) return null;
  const { url, isSecure } = parseUrl(args.nats);
  if (!isSecure && !isLoopbackHost(url.hostname) && !args["nats-plaintext"]) {
    throw new UsageError(
      `--nats ${url.href}: everyone on the way could read along. Use tls://, or allow it with --nats-plaintext`,
    );
  }
  if (args.creds === undefined) throw new UsageError("--nats needs --creds FILE, the key for the server");
  const path = resolve(io.cwd, args.creds);
  const credentials = files.read(path, { owner: "private" });
  if (credentials === null) {
    throw new ServiceError(
      "precondition_failed",
      `--creds ${path} is no regular file that this user alone can read: chmod 600 ${shellWord(path)}`,
    );
  }
  const authorities =
    args["nats-ca"] === undefined ? null : files.read(resolve(io.cwd, args["nats-ca"]), { owner: "anyone" });
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

/** Hosts by --ssh. Throws UsageError for a destination that is none, and for a name twice. Pure. */
export function toSshTargets(given: readonly string[], localHost: string): SshTarget[] {
  const targets = given.map(toSshTarget);
  const names = new Set([localHost]);
  for (const { host } of targets) {
    if (names.has(host)) {
      throw new UsageError(
        `--ssh: two hosts would be named "${host}": write NAME=DESTINATION for one of them`,
      );
    }
    names.add(host);
  }
  return targets;
}

/** Neither an option of ssh nor a word of a shell can be made of it. */
const destinationPattern =
  /^(?:ssh:\/\/)?(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\])(?::\d{1,5})?$/;

function toSshTarget(text: string): SshTarget {
  const at = text.indexOf("=");
  const destination = text.slice(at + 1);
  const found = destinationPattern.exec(destination);
  if (!found || (/:\d+$/.test(destination.replace(/^ssh:/, "")) && !destination.startsWith("ssh://"))) {
    throw new UsageError(
      `--ssh ${JSON.stringify(text)}: give user@HOST, or ssh://user@HOST:PORT for another port`,
    );
  }
  const machine = found[1] ?? "";
  const isAddress = /^[\d.]+$|^\[/.test(machine);
  if (at < 0 && isAddress) throw new UsageError(`--ssh ${text}: an address needs a name: NAME=${text}`);
  const name = at < 0 ? (machine.split(".")[0] ?? "").toLowerCase() : text.slice(0, at);
  return { host: toHostName("--ssh", name), destination };
}

/** Throws UsageError for a path that a shell of the host would read as more than one word. Pure. */
export function toSshProgram(path: string): string {
  if (/^[A-Za-z0-9_./~+][A-Za-z0-9_./~+-]*$/.test(path)) return path;
  throw new UsageError(
    `--ssh-program ${JSON.stringify(path)}: give one path of letters, digits and "._-/~+"`,
  );
}

/** What of our environment `ssh` needs: its agent, and where its files are. No token of ours. */
export function sshEnvironment(env: CliIo["env"]): Record<string, string> {
  const names = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "SSH_AUTH_SOCK"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = env[name];
      return value === undefined ? [] : [[name, value] as [string, string]];
    }),
  );
}
