import type {
  ListenAddress,
  NatsFleetFiles,
  NatsFleetPaths,
} from "../../../services/extensions/hosts/nats-fleet.ts";
import { stateRootOf } from "../../../services/sessions/roots.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import { shellWord } from "../../../system/shell-word.ts";
import { endOnUnhandled, untilStopped } from "../../../system/signals.ts";
import { type CliContext, openCliContext } from "../../command-line/cli-context.ts";
import { type Answer, type CliIo, command, UsageError } from "../../command-line/command.ts";
import { warn } from "../../command-line/narrate.ts";
import { toHostName } from "../../extensions/hosts/host-flags.ts";

const defaultListen = "127.0.0.1:4222";

export default command({
  name: "nats",
  description:
    "Run a NATS server for trying a fleet out, until stopped; add-host and revoke change who may join",
  examples: [
    "svc-coord nats",
    "svc-coord nats --listen 10.0.0.5:4222 --host build-1 --host build-2",
    "svc-coord nats add-host build-3",
    "svc-coord nats revoke build-3",
  ],
  args: {
    action: {
      type: "positional",
      required: false,
      description: "add-host or revoke; without one the server runs",
    },
    name: { type: "positional", required: false, description: "host to add or to revoke" },
    fleet: { type: "string", default: "svc", valueHint: "NAME", description: "name of the fleet" },
    listen: {
      type: "string",
      valueHint: "ADDRESS:PORT",
      description: `where hosts reach this machine; default: as at the last start, else ${defaultListen}. With TLS where it is no loopback`,
    },
    host: {
      type: "string",
      multiple: true,
      valueHint: "NAME",
      description: "host that is to join: it gets a key if it has none",
    },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const fleet = toHostName("--fleet", args.fleet);
    const { createNatsFleetFiles, natsFleetPaths, toListenAddress } = await import(
      "../../../services/extensions/hosts/nats-fleet.ts"
    );
    const paths = natsFleetPaths(stateRootOf(io.env, io.home), fleet);
    const users = createNatsFleetFiles({ files: context.files, paths, fleet });
    const fleetContext: FleetContext = { context, io, fleet, users };
    if (args.action !== undefined) {
      if (args.listen !== undefined || args.host.length > 0) {
        throw new UsageError("--listen and --host are for the server: svc-coord nats");
      }
      if (args.name === undefined) throw new UsageError(`name the host: svc-coord nats ${args.action} NAME`);
      return change(fleetContext, args.action, toHostName("the host", args.name));
    }
    const hosts = args.host.map((name) => toHostName("--host", name));
    const listen = args.listen === undefined ? null : toListenAddress(args.listen);
    return serve(fleetContext, {
      listen: listen ?? users.read()?.listen ?? toListenAddress(defaultListen),
      hosts,
      asJson: inherited["json"] === true,
    });
  },
});

interface FleetContext {
  context: CliContext;
  io: CliIo;
  fleet: string;
  users: NatsFleetFiles;
}

async function change(of: FleetContext, action: string, host: string): Promise<Answer> {
  const { context, users } = of;
  const { paths } = users;
  if (action !== "add-host" && action !== "revoke") {
    throw new UsageError(`svc-coord nats ${action}: give add-host or revoke, or nothing to run the server`);
  }
  const made = users.read();
  if (made === null) {
    throw new ServiceError(
      "precondition_failed",
      `no server of the fleet "${of.fleet}" was made: svc-coord nats`,
    );
  }
  const { reloadNatsServer } = await import("../../../services/extensions/hosts/nats-process.ts");
  const reload = () => reloadNatsServer(context.system, paths);
  if (action === "revoke") {
    await changeUsers(of, () => users.revokeHost(host));
    const isRunning = await reload();
    const fault = isRunning ? await finishRevocation(of, made.listen, host) : null;
    const effect = isRunning ? "the server ends its connection" : "no server runs now";
    const data =
      isRunning && fault === null
        ? "What the server kept of it is deleted"
        : "The next start of the server deletes what it keeps of it";
    return {
      json: {
        fleet: of.fleet,
        host,
        revoked: true,
        server_running: isRunning,
        deleted: isRunning && fault === null,
      },
      text: `the key of host "${host}" is not accepted any more: ${effect}.\nIts agents live on there. ${data}${fault === null ? "" : `: ${fault}`}.`,
    };
  }
  if (made.revoked.includes(host) && (await reload())) {
    const fault = await finishRevocation(of, made.listen, host);
    if (fault !== null) {
      throw new ServiceError(
        "precondition_failed",
        `what the server keeps of the former host "${host}" is not deleted: ${fault}`,
      );
    }
  }
  await changeUsers(of, () => users.addHost(host));
  const isRunning = await reload();
  if (isRunning) await requireAnswer(of, made.listen, { host, wanted: "accepted" });
  const joining = await joinInstructions(of, made.listen, host);
  return {
    json: { fleet: of.fleet, ...joining, server_running: isRunning },
    text: [...hostText(joining), ...(isRunning ? [] : ["", "No server runs now: svc-coord nats"])].join("\n"),
  };
}

function changeUsers<T>({ context, users }: FleetContext, work: () => T): Promise<T> {
  return context.locks.hold(`${users.paths.users}.lock`, work);
}

/** As the user with this key would reach the server. */
async function addressOf(
  { context, fleet, users }: FleetContext,
  listen: ListenAddress,
  credentials: string,
) {
  const { urlOf } = await import("../../../services/extensions/hosts/nats-fleet.ts");
  const authorities = listen.isLoopback
    ? null
    : context.files.read(users.paths.certificate, { owner: "anyone" });
  return { url: urlOf(listen), credentials, authorities, fleet };
}

/**
 * Proves by a connection with the key of a host that the server which runs now took a change. One that was
 * started by another version refuses the configuration as a whole. Throws `precondition_failed` otherwise.
 */
async function requireAnswer(
  of: FleetContext,
  listen: ListenAddress,
  { host, wanted }: { host: string; wanted: "accepted" | "refused" },
): Promise<void> {
  const { context, users } = of;
  const path = users.paths.hostKey(host);
  const key = context.files.read(path, { owner: "private" });
  const { proveKey } = await import("../../../services/extensions/hosts/nats-bus.ts");
  const { clock, ids } = context;
  const fault =
    key === null
      ? `its key is not in ${path}`
      : await proveKey({ address: await addressOf(of, listen, key), clock, ids }, wanted);
  if (fault === null) return;
  throw new ServiceError(
    "precondition_failed",
    `nothing proves that the server ${wanted === "refused" ? "refuses" : "accepts"} host "${host}": ${fault}. Restart the server: end svc-coord nats with Ctrl-C and start it again`,
  );
}

/**
 * Proves that the server which runs now refuses a revoked host, and deletes what it keeps of it. Returns why
 * that was not deleted, or null. Throws `precondition_failed` when the refusal is not proved.
 */
async function finishRevocation(
  of: FleetContext,
  listen: ListenAddress,
  host: string,
): Promise<string | null> {
  await requireAnswer(of, listen, { host, wanted: "refused" });
  return deleteRevoked(of, listen, [host]);
}

/** Deletes what the server keeps of hosts that it refuses. Returns why that did not succeed, or null. */
async function deleteRevoked(
  of: FleetContext,
  listen: ListenAddress,
  hosts: readonly string[],
): Promise<string | null> {
  const { context, users } = of;
  const { paths } = users;
  if (hosts.length === 0) return null;
  const credentials = context.files.read(paths.operatorKey, { owner: "private" });
  if (credentials === null) return `the operator's key is not in ${paths.operatorKey}`;
  const { deleteHosts } = await import("../../../services/extensions/hosts/nats-bus.ts");
  const { clock, ids } = context;
  try {
    await deleteHosts({ address: await addressOf(of, listen, credentials), clock, ids, hosts });
  } catch (error) {
    return messageOf(error);
  }
  await changeUsers(of, () => {
    for (const host of hosts) users.forgetRevoked(host);
  });
  return null;
}

async function serve(
  of: FleetContext,
  { listen, hosts, asJson }: { listen: ListenAddress; hosts: readonly string[]; asJson: boolean },
): Promise<number> {
  const { context, io, users } = of;
  const { paths } = users;
  const natsProcess = await import("../../../services/extensions/hosts/nats-process.ts");
  const machine = { ...context.system, env: io.env };
  const server = await natsProcess.findNatsServer(machine);
  context.files.ensureDirectory("file:nats-folder", paths.folder);
  const lock = context.locks.tryTake(paths.lock);
  if (!lock) throw new ServiceError("conflict", `the NATS server of the fleet "${of.fleet}" runs already`);
  const { revoked } = await changeUsers(of, () => {
    const before = users.prepare(listen);
    const known = [...before.hosts, ...before.revoked];
    for (const host of hosts) if (!known.includes(host)) users.addHost(host);
    return before;
  });
  if (!listen.isLoopback) await natsProcess.ensureCertificate(machine, paths, listen);
  const running = await natsProcess.startNatsServer(machine, {
    paths,
    server,
    onTrouble: (line) => void warn(io, `nats-server: ${line}`),
  });
  const fault = await deleteRevoked(of, listen, revoked);
  if (fault !== null) warn(io, `what the server keeps of revoked hosts is not deleted: ${fault}`);
  else if (await addAgain(of, hosts)) await natsProcess.reloadNatsServer(machine, paths);
  endOnUnhandled(() => {});
  let isStopping = false;
  const stopped = untilStopped(async () => {
    isStopping = true;
    await running.stop();
    lock.release();
  });
  const joining = await Promise.all(
    (users.read()?.hosts ?? []).map((host) => joinInstructions(of, listen, host)),
  );
  const operator = await operatorOf(of, listen);
  const facts = { fleet: of.fleet, folder: paths.folder, version: running.version, operator, hosts: joining };
  await io.writeOut(
    asJson ? `${JSON.stringify({ event: "ready", ...facts })}\n` : `${readyText(facts).join("\n")}\n`,
  );
  const died = running.ended.then((said) => {
    if (isStopping) return stopped;
    throw new ServiceError("unavailable", `nats-server ended: ${said.trim().split("\n").at(-1) ?? ""}`);
  });
  return Promise.race([stopped, died]);
}

/** Adds those of the hosts that were revoked before, once nothing is kept of them. True when there are any. */
function addAgain(of: FleetContext, hosts: readonly string[]): Promise<boolean> {
  const { users } = of;
  return changeUsers(of, () => {
    const missing = hosts.filter((host) => !users.read()?.hosts.includes(host));
    for (const host of missing) users.addHost(host);
    return missing.length > 0;
  });
}

interface JoinInstructions {
  host: string;
  /** On this machine; null when it was moved away. */
  key_file: string | null;
  /** Files that the host needs a copy of; none where it is this machine. */
  copy: readonly string[];
  command: string;
}

/** The line that a host joins with. On another machine the files have their names alone. */
async function joinInstructions(
  { context, fleet, users }: FleetContext,
  listen: ListenAddress,
  host: string,
): Promise<JoinInstructions> {
  const { paths } = users;
  const key = paths.hostKey(host);
  const isThere = context.files.exists(key);
  const needed = listen.isLoopback ? [] : [key, paths.certificate];
  const flags = await busWords(paths, { listen, fleet, isElsewhere: !listen.isLoopback });
  const creds = listen.isLoopback ? key : `${host}.nk`;
  return {
    host,
    key_file: isThere ? key : null,
    copy: needed,
    command: ["svc-coord join", ...flags, "--creds", shellWord(creds), "--host", host].join(" "),
  };
}

async function operatorOf({ fleet, users }: FleetContext, listen: ListenAddress) {
  const { paths } = users;
  const flags = await busWords(paths, { listen, fleet, isElsewhere: false });
  return {
    key_file: paths.operatorKey,
    command: ["svc-coord serve", ...flags, "--creds", shellWord(paths.operatorKey)].join(" "),
  };
}

async function busWords(
  paths: NatsFleetPaths,
  { listen, fleet, isElsewhere }: { listen: ListenAddress; fleet: string; isElsewhere: boolean },
): Promise<string[]> {
  const { urlOf } = await import("../../../services/extensions/hosts/nats-fleet.ts");
  const certificate = isElsewhere ? "server.crt" : shellWord(paths.certificate);
  return [
    "--nats",
    urlOf(listen),
    ...(listen.isLoopback ? [] : ["--nats-ca", certificate]),
    ...(fleet === "svc" ? [] : ["--fleet", fleet]),
  ];
}

function hostText({ host, key_file, copy, command: line }: JoinInstructions): string[] {
  if (key_file === null) return [`Host ${host}, whose key was moved away from here:`, `  ${line}`];
  if (copy.length === 0) return [`Host ${host}:`, `  ${line}`];
  return [`Host ${host}, after: scp ${copy.map(shellWord).join(" ")} ${host}:`, `  ${line}`];
}

function readyText(facts: {
  fleet: string;
  folder: string;
  version: string;
  operator: { command: string };
  hosts: readonly JoinInstructions[];
}): string[] {
  return [
    `nats-server ${facts.version} serves the fleet "${facts.fleet}"; its keys and data are in ${facts.folder}`,
    "",
    "Operator, on this machine:",
    `  ${facts.operator.command}`,
    ...facts.hosts.flatMap((joining) => ["", ...hostText(joining)]),
    "",
    "A further host: svc-coord nats add-host NAME. One that must not join any more: svc-coord nats revoke NAME",
    "",
    "This is one server for trying it out. Production wants a cluster of three servers with JetStream, a leaf node",
    "at each site, certificates that your hosts check, a backup of the keys, and a monitor of the servers.",
    "",
    "Ctrl-C ends the server; the agents live on.",
  ];
}
