import type { GatewayEvent } from "../../protocol/events.ts";
import type { Routes } from "../../routes/http/mount.ts";
import type { Fetch } from "../../routes/http/observe.ts";
import type { Route } from "../../routes/http/route.ts";
import type { AgentExtension } from "../../services/agent/agent-observer.ts";
import type { TypingLeases } from "../../services/prompt/typing-lease.ts";
import type { Service } from "../../system/service-list.ts";
import type { SocketUpgrade } from "../../system/sockets.ts";
import type { GatewayCore } from "../gateway-core.ts";

/** A part of the product that the core does not import, and that a program works without. */
export interface Extension {
  name: string;
  /** Its files: beginnings of paths below `src/`. A guard reads them: no file of the core imports these. */
  sources: readonly string[];
  /** Loads what it adds to a program that watches agents or serves a gateway. One call for each agent. */
  gateway?: () => Promise<() => GatewayExtension>;
}

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
  asksForToken: boolean;
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
  /** The app's handler with what it adds to each request. */
  around?: (app: { fetch: Fetch; routes: readonly Route[] }) => Fetch;
}
