import type { AgentIdentity } from "../protocol/agents.ts";
import type { GatewayEvent } from "../protocol/events.ts";
import type { LifecycleState, RegistryRecord } from "../protocol/files.ts";
import type { HostList } from "../protocol/host-states.ts";
import type { Routes } from "../routes/http/mount.ts";
import type { Fetch } from "../routes/http/observe.ts";
import type { Route } from "../routes/http/route.ts";
import type { AgentExtension } from "../services/agent/agent-observer.ts";
import type { Attention } from "../services/attention/attention.ts";
import type { Log } from "../services/diagnostics/gateway-log.ts";
import type { Directory } from "../services/fleet/directory.ts";
import type { Links } from "../services/fleet/links.ts";
import type { StoredSession } from "../services/fleet/stored-session.ts";
import type { BridgeDeps } from "../services/headless/bridge.ts";
import type { TypingLeases } from "../services/prompt/typing-lease.ts";
import type { PlanSignals } from "../services/sessions/tool-signals.ts";
import type { Service } from "../system/service-list.ts";
import type { SocketUpgrade } from "../system/sockets.ts";
import type { System } from "../system/system.ts";
import type { CliContext } from "./command-line/cli-context.ts";
import type { Caller, CliIo, Flags } from "./command-line/command.ts";
import type { GatewayCore } from "./gateway/gateway-core.ts";

/** Runs all turns of a session in the pane of a headless agent. `words`: those behind its name. */
type TurnBridge = (deps: System & BridgeDeps, words: readonly string[]) => Promise<void>;

/** A program behind a first word. Resolves with its exit code. */
type Program = (argv: string[]) => Promise<number>;

/** A part of the product that the core does not import, and that a program works without. */
export interface Extension {
  name: string;
  /** Its files: beginnings of paths below `src/`. A guard reads them. */
  sources: readonly string[];
  /** Separate programs by the first word that calls them; people do not. Resolve with the exit code. */
  programs?: Readonly<Record<string, Program>>;
  /** What `turn-bridge` runs, by the first word after it. */
  turnBridges?: Readonly<Record<string, TurnBridge>>;
  /** Loads whom `@NAME` means. One extension has it. */
  members?: () => Promise<MemberNames>;
  /** Loads how it asks the tool of a launch to report what it does. One extension has it. */
  signals?: () => Promise<PlanSignals>;
  /** Loads what it adds to a program that watches agents or serves a gateway. One call for each agent. */
  gateway?: () => Promise<() => GatewayExtension>;
  /** Loads what it reads of an agent that no gateway serves. */
  stored?: () => Promise<StoredRoutes>;
  /** Loads what it adds to the coordination server. */
  coordinator?: () => Promise<CoordinatorExtension>;
  /** Loads its part in the start of a coordination server. */
  serve?: () => Promise<ServeExtension>;
}

/** Whom `@NAME` means. */
export interface Members {
  /** The file that says so. */
  path: string;
  /**
   * By their names in the file. `record`: of the agent that this file launched, whether it runs or not; null
   * without one.
   */
  agents: { member: string; record: RegistryRecord | null }[];
  /** Addresses of people. */
  people: string[];
}

/** The names that may follow `@` where a command is given. */
export interface MemberNames {
  /** Throws UsageError for an unknown name. */
  find(caller: Caller, name: string): Promise<Members>;
  /** The groups. Rejects where there is no file that can be read. */
  groups(caller: Caller): Promise<string[]>;
}

/** Load what all extensions add. */
export interface ExtensionLoaders {
  /** The result makes it for one agent. */
  gateway(): Promise<() => readonly GatewayExtension[]>;
  coordinator(): Promise<readonly CoordinatorExtension[]>;
  signals(): Promise<PlanSignals>;
  stored(): Promise<readonly StoredRoutes[]>;
}

/** Flags of `svc-coord serve`, and what they ask for. */
export interface ServeExtension {
  flags?: Flags;
  /** Null where the flags ask for no other hosts. */
  openHosts?(call: ServeCall): Promise<CoordinatorHosts | null>;
  /** Why something that was asked for will not work; null when nothing is known. */
  warning?(call: ServeCall): string | null;
}

interface ServeCall {
  context: CliContext;
  io: CliIo;
  args: Readonly<Record<string, unknown>>;
  log: (line: string) => void;
}

/** Operations of a gateway that the files of a session answer. */
export type StoredRoutes = (
  context: Pick<CliContext, "files" | "clock" | "env">,
  session: StoredSession,
) => readonly Routes[];

/** What an extension adds to one gateway, or to one agent that is watched without a gateway. */
export interface GatewayExtension {
  /** Follows the agent from its first moment: what this needs is loaded before the gateway answers. */
  agent?: AgentExtension;
  /** Called when the gateway answers `/health` already. */
  open?(gateway: OpenGateway): Promise<GatewayPart>;
}

/** A gateway that answers, without the routes of extensions. */
export interface OpenGateway extends GatewayCore {
  leases: TypingLeases;
  sockets: SocketUpgrade;
  requiresToken: boolean;
}

/** What an extension adds to a gateway's app and to its services. */
export interface GatewayPart {
  routes?: readonly Routes[];
  /** They start before the queue works, and stop when it has ended. */
  services?: readonly Service[];
  /** Whether a `Cookie` header is that of a browser that signed in. */
  signedIn?: (cookieHeader: string) => boolean;
  /** A reader of the stream of events was given this one. */
  onStreamed?: (event: GatewayEvent) => void;
  /** The app's handler and its addition to each request. */
  around?: (app: { fetch: Fetch; routes: readonly Route[] }) => Fetch;
}

export type CoordinatorExtension = (coordinator: OpenCoordinator) => CoordinatorPart;

/** A coordination server without the routes of extensions. */
export interface OpenCoordinator {
  context: CliContext;
  io: Pick<CliIo, "env" | "cwd" | "home">;
  directory: Directory;
  links: Links;
  attention: Attention;
  sockets: SocketUpgrade;
  requiresToken: boolean;
  /** Rules of deliveries to the outside; without it those in the user's folder. */
  rulesFile?: string;
  /** Null when this server serves the agents of this host alone. */
  others: OtherHosts | null;
  /** The agents and hosts of a scrape. */
  fleet(): Promise<FleetFacts>;
  log: Log["line"];
}

/** What a scrape counts. */
interface FleetFacts extends Pick<HostList, "local_host" | "carriers" | "hosts" | "version"> {
  agents: readonly AgentIdentity[];
}

/** The agents of other hosts, as a coordination server lists and asks them. */
export interface OtherHosts {
  readonly localHost: string;
  /** Adds them to our list. */
  list(own: AgentIdentity[], query: { state?: LifecycleState }): Promise<AgentIdentity[]>;
  /** Hosts and carriers. `probe`: each live host is asked something now. Never rejects. */
  status(options: { probe: boolean }): Promise<Pick<HostList, "local_host" | "carriers" | "hosts">>;
  /** Answers what is for them; undefined for all else. */
  relay(request: Request): Promise<Response | undefined>;
  /** Counts their operations too. */
  scrape(facts: FleetFacts): Promise<{ text: string; contentType: string }>;
  stop(): Promise<void>;
}

/** What an extension adds to the coordination server's app and to its services. */
export interface CoordinatorPart extends Pick<GatewayPart, "routes" | "services" | "signedIn"> {
  /** How many streams of gateways it follows now. */
  following?: () => number;
}

/** What the composition of a coordination server needs of other hosts. */
export interface CoordinatorHosts {
  directory(own: Directory): Directory;
  open(directory: Directory): OtherHosts;
}
