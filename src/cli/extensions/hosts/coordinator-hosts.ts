import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import manifest from "../../../../package.json" with { type: "json" };
import { parseJson } from "../../../protocol/json.ts";
import { remoteAgents } from "../../../routes/coordinator/remote-agents.ts";
import { createLocalDirectory, createLocalLink } from "../../../services/extensions/hosts/host-link.ts";
import { type JoinedRoots, openJoinedRoots } from "../../../services/extensions/hosts/joined-roots.ts";
import {
  createMailCarrier,
  type MailCarrier,
  type MailWay,
} from "../../../services/extensions/hosts/mail-carrier.ts";
import {
  createMergedFleet,
  type RemoteHosts,
  splitRef,
} from "../../../services/extensions/hosts/merged-fleet.ts";
import type { BusAddress, HostRole } from "../../../services/extensions/hosts/nats-bus.ts";
import type { SshAccess, SshTarget } from "../../../services/extensions/hosts/ssh-hosts.ts";
import type { Directory } from "../../../services/fleet/directory.ts";
import { stateRootOf } from "../../../services/sessions/roots.ts";
import { childPath } from "../../../system/contained-path.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { CliContext } from "../../command-line/cli-context.ts";
import type { CliIo } from "../../command-line/command.ts";
import {
  openTrustedRoot,
  registeredMailboxes,
  usedMailboxRoots,
} from "../../command-line/mailbox-openers.ts";
import { type Coordinator, createCoordinator } from "../../coordinator/coordinator.ts";
import type { CoordinatorHosts, ExtensionLoaders } from "../../extension.ts";

/** Loaded only when a coordination server has to do with other hosts. */

const heartbeatMs = 1000;

/** Hosts that are reached with ssh; none when `targets` is empty. */
type SshWish = Omit<SshAccess, "controlFolder"> & { targets: readonly SshTarget[] };

/** The operator's part of a coordination server: what its composition needs of other hosts. */
export async function openOperator(deps: {
  context: CliContext;
  localHost: string;
  bus: BusAddress | null;
  ssh: SshWish;
  log: (line: string) => void;
}): Promise<CoordinatorHosts> {
  const { localHost, bus, ssh, log } = deps;
  const { clock, ids, files, processes, roots } = deps.context;
  const remotes: RemoteHosts[] = [];
  if (ssh.targets.length > 0) {
    const { operateSsh } = await import("../../../services/extensions/hosts/ssh-hosts.ts");
    const controlFolder = join(roots.runtimeRoot, "ssh");
    files.ensureDirectory("file:ssh-folder", controlFolder);
    const { targets, ...access } = ssh;
    remotes.push(operateSsh({ targets, access: { ...access, controlFolder }, clock, ids, processes, log }));
  }
  if (bus) {
    const { operateBus } = await import("../../../services/extensions/hosts/nats-bus.ts");
    remotes.push(await operateBus({ address: bus, clock, ids, log }));
  }
  const { createFleetMetrics } = await import("../../../services/extensions/hosts/metrics.ts");
  const metrics = createFleetMetrics();
  return {
    directory: (own) => withOwnName(own, localHost),
    open(directory) {
      const merged = createMergedFleet({
        clock,
        localHost,
        directory,
        remotes,
        onOperation: metrics.operation,
      });
      return { ...merged, relay: remoteAgents(merged), scrape: metrics.scrape };
    },
  };
}

/** `worker@<this host>` names our own agent. */
function withOwnName(own: Directory, localHost: string): Directory {
  return {
    ...own,
    resolve(ref) {
      const { name, host } = splitRef(ref.trim());
      return own.resolve(host === localHost ? name : ref);
    },
  };
}

interface Join {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * The agent host's part: a coordination server without a listener that answers what comes over the bus.
 * Throws `conflict` when another process of this user has joined under this name.
 */
export async function openJoin(deps: {
  context: CliContext;
  io: Pick<CliIo, "env" | "cwd" | "home">;
  load: ExtensionLoaders;
  host: string;
  bus: BusAddress;
  log: (line: string) => void;
}): Promise<Join> {
  const { context, io, host, bus, load, log } = deps;
  const { clock, ids, files, locks } = context;
  const folder = childPath(stateRootOf(io.env, io.home), "hosts", bus.fleet, host);
  files.ensureDirectory("file:host-folder", folder);
  const lock = locks.tryTake(join(folder, "lock"));
  if (!lock) throw new ServiceError("conflict", `another process has joined the fleet as "${host}"`);
  const coordinator = await createQuietCoordinator(context, io, load);
  const { joinBus } = await import("../../../services/extensions/hosts/nats-bus.ts");
  let role: HostRole;
  try {
    const epoch = nextEpoch(context, join(folder, "epoch.json"));
    role = await joinBus({
      address: bus,
      clock,
      ids,
      host,
      epoch,
      version: manifest.version,
      heartbeatMs,
      log,
      directory: localDirectory(coordinator, host),
      link: createLocalLink((request) => coordinator.app.fetch(request)),
      carrierOf: (way) =>
        hostMailCarrier(context, {
          host,
          way,
          log,
          joined: openJoinedRoots(files, join(folder, "roots.json")),
        }),
    });
  } catch (error) {
    await coordinator.stop();
    lock.release();
    throw error;
  }
  return {
    start: () => role.start(),
    async stop() {
      await role.stop();
      await coordinator.stop();
      lock.release();
    },
  };
}

/**
 * The same over standard input and output, for the `ssh` of an operator, which gives the host its name.
 * Resolves when the operator has gone.
 */
export async function joinOverStdio(deps: {
  context: CliContext;
  io: Pick<CliIo, "env" | "cwd" | "home">;
  load: ExtensionLoaders;
  input: AsyncIterable<Uint8Array>;
  write: (text: string) => Promise<void>;
  signal: AbortSignal;
  log: (line: string) => void;
}): Promise<void> {
  const { context, io, load, ...way } = deps;
  const { joinStdio } = await import("../../../services/extensions/hosts/stdio-host.ts");
  const coordinator = await createQuietCoordinator(context, io, load);
  try {
    await joinStdio({
      ...way,
      clock: context.clock,
      ids: context.ids,
      version: manifest.version,
      directoryOf: (host) => localDirectory(coordinator, host),
      link: createLocalLink((request) => coordinator.app.fetch(request)),
    });
  } finally {
    await coordinator.stop();
  }
}

/** The mail of all mailbox roots that agents of this machine use, and of its adopted projects. */
function hostMailCarrier(
  context: CliContext,
  wish: { host: string; way: MailWay; joined: JoinedRoots; log: (line: string) => void },
): MailCarrier {
  const { log } = wish;
  const { files, clock } = context;
  return createMailCarrier({
    clock,
    files,
    ...wish,
    mailboxes: () => registeredMailboxes(context),
    roots: () => usedMailboxRoots(context),
    openRoot: (root) => openTrustedRoot({ ...context, onFault: log, onMended: log }, root),
  });
}

/** Never started: it has no address, no folder and no token; this process alone calls its app. */
async function createQuietCoordinator(
  context: CliContext,
  io: Pick<CliIo, "env" | "cwd" | "home">,
  load: ExtensionLoaders,
): Promise<Coordinator> {
  const [createExtensions, extensions, planSignals, storedRoutes] = await Promise.all([
    load.gateway(),
    load.coordinator(),
    load.signals(),
    load.stored(),
  ]);
  return createCoordinator({
    context,
    io,
    host: "127.0.0.1",
    port: 0,
    token: null,
    noToken: true,
    onShutdown: () => {},
    createExtensions,
    extensions,
    planSignals,
    storedRoutes,
  });
}

function localDirectory(coordinator: Coordinator, host: string) {
  return createLocalDirectory({
    host,
    version: manifest.version,
    async list() {
      const answer = await coordinator.app.fetch(new Request("http://127.0.0.1/svc/agents"));
      return (await answer.json()) as Awaited<ReturnType<Parameters<typeof createLocalDirectory>[0]["list"]>>;
    },
  });
}

const EpochFile = Type.Object({ epoch: Type.Integer({ minimum: 0 }) });

/** One more than at the last start, kept before it is used. A lost file goes on after what the clock says. */
function nextEpoch({ files, clock }: Pick<CliContext, "files" | "clock">, path: string): number {
  const kept = parseJson(EpochFile, files.read(path));
  const epoch = kept ? kept.epoch + 1 : Math.floor(clock.nowMs() / 1000);
  files.write("file:host-epoch", path, `${JSON.stringify({ epoch })}\n`);
  return epoch;
}
