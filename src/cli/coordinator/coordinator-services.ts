import packageManifest from "../../../package.json" with { type: "json" };
import { defaultTimings } from "../../protocol/terminal.ts";
import { type CoordinatorServices, createCoordinatorApp } from "../../routes/coordinator/app.ts";
import type { FaultReporter } from "../../routes/http/errors.ts";
import type { Guard } from "../../routes/http/gate.ts";
import { accessGuards } from "../../routes/http/gate.ts";
import { createAttention } from "../../services/attention/attention.ts";
import type { PeopleMail } from "../../services/attention/people-mail.ts";
import type { Log } from "../../services/diagnostics/gateway-log.ts";
import { attachGateway } from "../../services/fleet/attach-gateway.ts";
import { noLiveGateway } from "../../services/fleet/diagnose-agent.ts";
import { type Directory, openedAgent } from "../../services/fleet/directory.ts";
import { createFleetEvents, type FollowedFleet } from "../../services/fleet/fleet-events.ts";
import { createFleetLaunch } from "../../services/fleet/fleet-launch.ts";
import { createFleetReader, type FleetReader, sessionBy } from "../../services/fleet/fleet-reader.ts";
import { createFleetStates, createSharedLooks } from "../../services/fleet/fleet-states.ts";
import { createFleetTurns } from "../../services/fleet/fleet-turns.ts";
import { createFleetView, type FleetReadings } from "../../services/fleet/fleet-view.ts";
import { createFleetWork } from "../../services/fleet/fleet-work.ts";
import { createForward } from "../../services/fleet/forward.ts";
import type { Links, ReadingLinks } from "../../services/fleet/links.ts";
import { createLiveness } from "../../services/fleet/liveness.ts";
import { createPassiveTerminals } from "../../services/fleet/passive-terminals.ts";
import { headlessProvider } from "../../services/headless/providers.ts";
import { createSessionAnswers } from "../../services/sessions/kept-answers.ts";
import type { PlanSignals } from "../../services/sessions/tool-signals.ts";
import { profileFor } from "../../services/terminal/profiles/profile.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Service } from "../../system/service-list.ts";
import { createSocketUpgrade, type SocketUpgrade } from "../../system/sockets.ts";
import { type CliContext, readProfiles } from "../command-line/cli-context.ts";
import type { CliIo } from "../command-line/command.ts";
import { openPeopleMail } from "../command-line/mailbox-openers.ts";
import { adviseInManager, managerSentence } from "../command-line/remedies.ts";
import type { CoordinatorPart, GatewayExtension, OpenCoordinator, OtherHosts } from "../extension.ts";
import { driveTerminal, watchTerminal } from "../gateway/gateway-agent.ts";
import { giveMailbox } from "../mail/agent-mailbox.ts";

/** What a coordination server is made from. A test gives its own agents and its own ways to reach them. */
interface FleetBase {
  context: CliContext;
  io: Pick<CliIo, "env" | "cwd" | "home">;
  /** Which agents exist. */
  directory: Directory;
  /** How their gateways are reached. */
  links: ReadingLinks;
  log: Log;
  /** Logs a line the first time that it comes. */
  reportOnce: (line: string) => void;
  /** Where this server answers. Throws `unavailable` while it starts. */
  baseUrl: () => string;
  /** Called for each agent that this server watches. */
  createExtensions: () => readonly GatewayExtension[];
  planSignals: PlanSignals;
}

/** What a coordination server sees of its agents and does with them. */
export interface Fleet extends Pick<CoordinatorServices, "work" | "turns" | "launches"> {
  view: FleetReadings;
  look: FleetReader["look"];
  events: FollowedFleet;
  people: PeopleMail;
  /** Lets go of the terminals that it watches. */
  stopTerminals(): Promise<void>;
}

export function createFleet(base: FleetBase): Fleet {
  const { context, io, directory, links, log } = base;
  const { system, tools, tmuxFor, files, locks } = context;
  const { clock, ids, processes } = system;
  const launching = { ...context, planSignals: base.planSignals };
  const profiles = readProfiles(system, io.env);
  const terminals = createPassiveTerminals({
    files,
    locks,
    clock,
    open({ manifest, sessionRoot }) {
      const profile = profileFor(manifest.tool, profiles);
      const session = { system, manifest, sessionRoot, log, profile, env: io.env };
      const watched = watchTerminal({
        ...session,
        timings: defaultTimings,
        extensions: base.createExtensions().flatMap(({ agent }) => agent ?? []),
      });
      return {
        ...watched,
        state: () => (profile ? watched.readable.state() : null),
        drive: () => driveTerminal(watched, session),
      };
    },
  });
  const settling = { clock, files: system.files, processes, locks, providerOf: headlessProvider };
  const turns = createFleetTurns({
    ...settling,
    directory,
    links,
    ids,
    async attach(agent) {
      const { link } = await attachGateway(context, agent, { executionMode: "detached_process" });
      return link.client;
    },
  });
  const liveness = createLiveness({ clock, tmuxFor });
  const reader = createFleetReader({
    files: system.files,
    clock,
    processes,
    tmuxFor,
    tools,
    links,
    terminals,
    sessionOf: sessionBy(liveness.of),
  });
  return {
    turns,
    stopTerminals: terminals.stop,
    look: reader.look,
    view: createFleetView({ ...settling, directory, links, liveness, reader }),
    events: createFleetEvents({
      directory,
      links,
      clock,
      ids,
      onError: (error) => log.line(`fleet events fault: ${messageOf(error)}`),
    }),
    people: openPeopleMail(context, base.reportOnce),
    work: createFleetWork({
      directory,
      links,
      terminals,
      turns,
      stopping: context,
      relaunching: launching,
      answersOf: createSessionAnswers({ ...system, log: log.line }),
      clock,
      ids,
    }),
    launches: createFleetLaunch({
      directory,
      tools,
      files: system.files,
      ids,
      launching,
      stopping: context,
      apiBaseUrl: base.baseUrl,
      giveMailbox: (agent, { filesystem_root, principal_id, address }) =>
        giveMailbox(context, io, agent, {
          rootFlag: filesystem_root,
          principalId: principal_id,
          address,
          mode: "safe",
        }),
    }),
  };
}

interface OpenedCoordinatorOptions {
  /** Those of callers; what a caller may do and send is judged after them. */
  guards: readonly Guard[];
  token: string | null;
  faults: FaultReporter;
  server: CoordinatorServices["server"];
  /** Null when this server serves the agents of this host alone. */
  others: OtherHosts | null;
  extensions: readonly ((coordinator: OpenedCoordinator) => CoordinatorPart)[];
  /** As of `createForward`. */
  readStored?: Parameters<typeof createForward>[0]["readStored"];
}

/** What extensions get from here; the rest is of the command line. */
type OpenedCoordinator = Omit<OpenCoordinator, "context" | "io" | "rulesFile">;

/** The app of a coordination server with all its routes, those of extensions too, and its services. */
export function openCoordinator(
  base: Pick<FleetBase, "directory" | "log"> & { clock: Clock; links: Links },
  fleet: Fleet,
  options: OpenedCoordinatorOptions,
) {
  const { clock, directory, links, log } = base;
  const { view, events } = fleet;
  const { others } = options;
  const sockets: SocketUpgrade = createSocketUpgrade();
  const looks = createSharedLooks({ clock, events, look: fleet.look });
  const attention = createAttention({
    directory,
    events,
    clock,
    advise: adviseInManager,
    look: async (agent, sinceMs) => (await looks.at(agent, sinceMs)).facts,
    async gatewayOf(agent) {
      const opened = openedAgent(agent);
      const link = await links.to(opened);
      if (link.state === "live") return link.client;
      throw noLiveGateway(opened, link);
    },
    people: fleet.people,
    onError: (error) => log.line("attention", { error: messageOf(error) }),
  });
  const states = createFleetStates({
    clock,
    directory,
    links,
    view,
    looks,
    events,
    attention: attention.firstList,
    ...(others ? { others: () => others.list([], {}) } : {}),
  });
  const fleetView = others
    ? {
        ...view,
        list: async (query: Parameters<typeof view.list>[0]) => ({
          agents: await others.list((await view.list(query)).agents, query),
        }),
      }
    : view;
  const hostsNow = async (probe: boolean) => ({
    version: packageManifest.version,
    ...((await others?.status({ probe })) ?? { local_host: null, carriers: [], hosts: [] }),
  });
  const open: OpenedCoordinator = {
    directory,
    links,
    attention,
    sockets,
    others,
    requiresToken: options.token !== null,
    async fleet() {
      const [{ agents }, hosts] = await Promise.all([fleetView.list({}), hostsNow(false)]);
      return { ...hosts, agents };
    },
    log: log.line,
  };
  const parts = options.extensions.map((extension) => extension(open));
  const app = createCoordinatorApp({
    advice: managerSentence,
    services: {
      view: fleetView,
      states,
      attention,
      hosts: {
        list: async ({ probe }) => ({
          schema_version: 1,
          ...(await hostsNow(probe === "true")),
        }),
      },
      work: fleet.work,
      turns: fleet.turns,
      launches: fleet.launches,
      forward: createForward({
        directory,
        links,
        clock,
        ...(options.readStored ? { readStored: options.readStored } : {}),
        streams: () => parts.reduce((sum, part) => sum + (part.following?.() ?? 0), events.following()),
      }),
      events,
      server: options.server,
    },
    guards: [
      ...options.guards,
      ...accessGuards({
        token: options.token,
        signedIn: (cookie) => parts.some((part) => part.signedIn?.(cookie)),
      }),
    ],
    ...(others ? { relay: others.relay } : {}),
    extensions: parts.flatMap((part) => part.routes ?? []),
    faults: options.faults,
  });
  const services: readonly Service[] = [
    { name: "events of the fleet", stop: events.stop },
    { name: "sockets", stop: sockets.close },
    { name: "attention", stop: attention.stop },
    ...parts.flatMap((part) => part.services ?? []),
  ];
  return {
    app,
    sockets,
    /** In the order in which they start, after the listener. */
    services,
  };
}
