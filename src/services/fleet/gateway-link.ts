import type { CurrentInstance, Manifest } from "../../protocol/files.ts";
import type { GatewaySnapshot, GatewayStatus } from "../../protocol/gateway.ts";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { createNetwork, type Network } from "../../system/network.ts";
import type { Processes } from "../../system/processes.ts";
import { type Environment, sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux } from "../terminal/tmux/command.ts";
import { findWindow, type WindowHandles } from "../terminal/tmux/window.ts";
import type { SchemaCheck } from "./compiled-checks.ts";
import { createGatewayClient, type GatewayClient } from "./gateway-client.ts";
import {
  baseUrlOf,
  challengeFor,
  disproveClaim,
  type ListenerClaim,
  proveListener,
  recordedProcessLives,
} from "./listener-proof.ts";

/**
 * `absent`: nothing claims to be this session's gateway. `stale`: something did, and does not answer as it.
 */
export type GatewayLink =
  | { state: "healthy"; instance: CurrentInstance; client: GatewayClient; status: GatewayStatus }
  | { state: "stale"; instance: CurrentInstance; why: string }
  | { state: "absent"; why: string };

export interface GatewayLinkDeps {
  files: Files;
  clock: Clock;
  env: Environment;
  processes: Pick<Processes, "alive" | "startToken">;
  /** Instead of the runtime's own. */
  network?: Pick<Network, "fetch" | "listenerOwner">;
  /** Of answers, for who reads many. */
  check?: SchemaCheck;
}

/** A gateway on a slow disk answers nothing while it commits: only one that is stopped takes all of it. */
const probeTimeoutMs = 5000;

/**
 * Finds the live gateway of a session: the current-instance record says where, a proof that the listener is
 * that process (see `proveListener`), and the status that it serves this very session. Only then is the token
 * shown. A port is never guessed, and what the environment of an older process says is never used.
 * `attachIdentity`: see `gatewayIdentity`. The token comes from SVC_GATEWAY_TOKEN, else from the file beside
 * the record (ruling 12).
 */
export async function linkGateway(
  deps: GatewayLinkDeps,
  session: { sessionRoot: string; attachIdentity: string },
): Promise<GatewayLink> {
  const claimed = readClaim(deps, session.sessionRoot);
  return claimed === null ? unclaimed : linkClaimed(deps, session, claimed);
}

const unclaimed: GatewayLink = { state: "absent", why: "no gateway runs for this agent" };

async function linkClaimed(
  deps: GatewayLinkDeps,
  session: { attachIdentity: string },
  claimed: Claimed,
): Promise<GatewayLink> {
  const { claim, key, respectProxyEnvironment } = claimed;
  const proof = { key, timeoutMs: probeTimeoutMs, respectProxyEnvironment };
  const why = await proveListener({ ...deps, network: claimed.network }, claim, proof);
  if (why !== null) return { state: "stale", instance: claimed.instance, why };
  const client = clientOf(deps, claimed);
  const status = await client.call("status", { timeoutMs: probeTimeoutMs });
  return toLink(claimed, client, session, status.kind === "ok" ? status.body : status);
}

/** Of a gateway: what it serves and what it said of its agent at the same moment. */
export interface ReadGateway {
  link: GatewayLink;
  /** Null where the gateway is not healthy, or of a version that does not answer so. */
  snapshot: GatewaySnapshot | null;
}

/**
 * The same with a snapshot, for who looks at many: one request where no token is shown, since the answer
 * carries the proof. `limit`: how many of the newest requests.
 */
export async function readGateway(
  deps: GatewayLinkDeps,
  session: { sessionRoot: string; attachIdentity: string },
  { limit }: { limit: number },
): Promise<ReadGateway> {
  const options = { query: { limit }, timeoutMs: probeTimeoutMs };
  const claimed = readClaim(deps, session.sessionRoot);
  if (claimed === null) return { link: unclaimed, snapshot: null };
  if (claimed.key && claimed.token === null) {
    const client = clientOf(deps, claimed);
    const response = await client.call("snapshot", {
      ...options,
      proof: challengeFor(claimed.key, claimed.claim),
    });
    if (response.kind === "ok") {
      const link = toLink(claimed, client, session, response.body.status);
      return { link, snapshot: link.state === "healthy" ? response.body : null };
    }
    // An earlier version proves itself at /health only, and has no snapshots.
    return { link: await linkGateway(deps, session), snapshot: null };
  }
  const link = await linkGateway(deps, session);
  if (link.state !== "healthy") return { link, snapshot: null };
  const response = await link.client.call("snapshot", options);
  return { link, snapshot: response.kind === "ok" ? response.body : null };
}

type Claimed = NonNullable<ReturnType<typeof readClaim>>;

/** What the files of a session say of its gateway; null when none claims it. */
function readClaim({ files, env, network = createNetwork() }: GatewayLinkDeps, sessionRoot: string) {
  const paths = sessionPaths(sessionRoot);
  const folder = openSessionFolder(files, sessionRoot);
  const instance = folder.readCurrentInstance();
  if (instance === null) return null;
  return {
    instance,
    network,
    claim: { ...claimOf(instance), chosenHost: folder.chosenHost() },
    key: files.read(paths.challengeKey)?.trim() || null,
    token: env["SVC_GATEWAY_TOKEN"] || files.read(paths.token)?.trim() || null,
    respectProxyEnvironment: env["SVC_GATEWAY_RESPECT_PROXY_ENV"] === "1",
  };
}

function clientOf({ clock, processes, check }: GatewayLinkDeps, claimed: Claimed): GatewayClient {
  const { claim, network, token, respectProxyEnvironment } = claimed;
  return createGatewayClient({
    clock,
    token,
    respectProxyEnvironment,
    check,
    fetch: network.fetch,
    baseUrl: baseUrlOf(claim),
    disprove: () => disproveClaim({ processes, network }, claim),
  });
}

function toLink(
  { instance }: Claimed,
  client: GatewayClient,
  { attachIdentity }: { attachIdentity: string },
  answer: GatewayStatus | { kind: string; detail: string },
): GatewayLink {
  if ("kind" in answer) return { state: "stale", instance, why: answer.detail };
  if (answer.attach_identity === attachIdentity)
    return { state: "healthy", instance, client, status: answer };
  const why = `${client.baseUrl} is the gateway of ${answer.attach_identity}`;
  return { state: "stale", instance, why };
}

/**
 * The status of a gateway, else of the disk. A gateway that lives and cannot be reached is not absent:
 * `admission_block` says so, with why.
 */
export function linkedStatus(
  { files, processes }: Pick<GatewayLinkDeps, "files" | "processes">,
  agent: { manifest: Manifest; sessionRoot: string },
  link: GatewayLink,
): GatewayStatus {
  if (link.state === "healthy") return link.status;
  const status = openSessionFolder(files, agent.sessionRoot).readOfflineStatus(agent.manifest, null);
  if (link.state === "absent" || !recordedProcessLives(processes, claimOf(link.instance))) return status;
  const detail = `its gateway runs as process ${link.instance.pid} and cannot be reached: ${link.why}`;
  return { ...status, admission_block: { reason: "gateway_unreachable", detail } };
}

/** What a record says, but for the address that the user chose. Pure. */
export function claimOf(instance: CurrentInstance): ListenerClaim {
  const { pid, process_start: startToken = null, host, port } = instance;
  return { pid, startToken, host, port, chosenHost: null };
}

/** The window that a gateway's record names; null for one that runs as a separate process. Pure. */
export function windowOf(instance: CurrentInstance): WindowHandles | null {
  const { tmux_window_id: windowId, tmux_window_index: windowIndex, tmux_pane_id: paneId } = instance;
  if (windowId === undefined || windowIndex === undefined || paneId === undefined) return null;
  return { windowId, windowIndex, paneId };
}

/**
 * `session`: name of the agent's tmux session. Whether the process with the recorded id is this session's
 * gateway although it does not answer: it was started for exactly this session root, or it is the process of
 * the recorded window. A process id alone proves nothing, and one whose start was not recorded is none of
 * ours.
 */
export async function isGatewayProcess(
  deps: { processes: Processes; tmux: Tmux },
  { sessionRoot, session }: { sessionRoot: string; session: string },
  instance: CurrentInstance,
): Promise<boolean> {
  if (instance.process_start === undefined || !recordedProcessLives(deps.processes, claimOf(instance)))
    return false;
  const [self] = await deps.processes.tree(instance.pid);
  if (self?.argv.includes(sessionRoot)) return true;
  const window = windowOf(instance);
  if (window === null) return false;
  const pane = await findWindow(deps.tmux, session, window);
  return pane?.panePid === instance.pid;
}
