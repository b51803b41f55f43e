import type { CurrentInstance } from "../../protocol/files.ts";
import type { GatewaySnapshot, GatewayStatus } from "../../protocol/gateway.ts";
import { assertNever } from "../../system/errors.ts";
import type { Processes } from "../../system/processes.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { GatewayClient } from "./gateway-client.ts";
import {
  claimOf,
  type GatewayLink,
  type GatewayLinkDeps,
  linkGateway,
  type ReadGateway,
  readGateway,
} from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;
type AskedSession = Parameters<typeof linkGateway>[1];

/**
 * The gateway of an agent in its condition, see `GatewayCondition`. In the place of a silent one no other may
 * act.
 */
export type FleetLink =
  | { state: "live"; instance: CurrentInstance; client: GatewayClient }
  | { state: "silent" | "dead"; instance: CurrentInstance; why: string }
  | { state: "none"; why: string };

/** `isRunning`: whether the process that a record names lives. Pure but for that. */
export function toFleetLink(
  found: GatewayLink,
  isRunning: (instance: CurrentInstance) => boolean,
): FleetLink {
  switch (found.state) {
    case "healthy":
      return { state: "live", instance: found.instance, client: found.client };
    case "absent":
      return { state: "none", why: found.why };
    case "stale": {
      const { instance, why } = found;
      return { state: isRunning(instance) ? "silent" : "dead", instance, why };
    }
    default:
      return assertNever(found);
  }
}

/**
 * How the gateways of agents are reached. A seam: today loopback HTTP to where the current-instance record
 * says, after a proof of the listener and a status that names this very session; never a guess.
 */
export interface Links {
  /** Known links are given at once while their record and process are the same. Never rejects. */
  to(agent: Session): Promise<FleetLink>;
  /** Whether a living process says that it is the agent's gateway, without asking it. */
  claims(agent: Session): boolean;
  /** A call failed: the next `to` asks the gateway again. */
  doubt(agent: Session): void;
}

type ReadLink =
  | { link: Extract<FleetLink, { state: "live" }>; status: GatewayStatus; snapshot: GatewaySnapshot | null }
  | { link: Exclude<FleetLink, { state: "live" }>; status: null; snapshot: null };

/** Links for a reader of many agents. */
export interface ReadingLinks extends Links {
  /**
   * The link, and what a live gateway says of its agent at one moment: one request, which also proves a new
   * link. A linked gateway that does not answer is not live. `limit`: how many of the newest requests.
   * `snapshot`: null from a live gateway of a version without snapshots.
   */
  read(agent: Session, options: { limit: number; timeoutMs: number }): Promise<ReadLink>;
}

const nothingLinked: FleetLink = { state: "none", why: "no gateway runs for this agent" };

/**
 * How long a gateway that did not answer is not asked again: callers of a hanging one get an answer at once.
 */
const quietMs = 1000;

interface Known {
  recordKey: string;
  startToken: string | null;
  atMs: number;
  link: FleetLink;
}

export function createLinks(deps: GatewayLinkDeps & { processes: Processes }): ReadingLinks {
  const { files, clock, processes } = deps;
  const known = new Map<string, Known>();
  const asking = new Map<string, Promise<FleetLink>>();
  /** Joined once: a list of agents asks for each of them. */
  const recordPaths = new Map<string, string>();

  function recordPathOf({ sessionRoot }: Session): string {
    const path = recordPaths.get(sessionRoot) ?? sessionPaths(sessionRoot).currentInstance;
    recordPaths.set(sessionRoot, path);
    return path;
  }

  function recordKeyOf(session: Session): string | null {
    const facts = files.stat(recordPathOf(session));
    return facts && `${facts.identity} ${facts.modifiedMs} ${facts.size}`;
  }

  /**
   * A record outlives a killed gateway, and its port may be another agent's by now: the process must be the
   * same.
   */
  function stillHolds(one: Known, recordKey: string): boolean {
    if (one.recordKey !== recordKey) return false;
    if (one.link.state !== "live") return clock.monotonicMs() - one.atMs < quietMs;
    return isSame(one.link.instance.pid, one.startToken);
  }

  const isRunning = (instance: CurrentInstance) => recordedProcessLives(processes, claimOf(instance));

  function isSame(pid: number, startToken: string | null): boolean {
    return processes.alive(pid) && processes.startToken(pid) === startToken;
  }

  function keep({ sessionRoot }: Session, recordKey: string, found: GatewayLink): FleetLink {
    const link = toFleetLink(found, isRunning);
    const startToken = link.state === "live" ? processes.startToken(link.instance.pid) : null;
    known.set(sessionRoot, { recordKey, startToken, atMs: clock.monotonicMs(), link });
    return link;
  }

  /** The known link, else what `ask` finds; who comes meanwhile gets the same. */
  async function reach(session: Session, ask: (session: AskedSession) => Promise<GatewayLink>) {
    const { manifest, sessionRoot } = session;
    const recordKey = recordKeyOf(session);
    if (recordKey === null) {
      known.delete(sessionRoot);
      return nothingLinked;
    }
    const before = known.get(sessionRoot);
    if (before && stillHolds(before, recordKey)) return before.link;
    const under = asking.get(sessionRoot);
    if (under) return under;
    const { attachIdentity } = gatewayIdentity(manifest);
    const asked = ask({ sessionRoot, attachIdentity })
      .then((found) => keep(session, recordKey, found))
      .finally(() => asking.delete(sessionRoot));
    asking.set(sessionRoot, asked);
    return asked;
  }

  return {
    to: (session) => reach(session, (asked) => linkGateway(deps, asked)),
    async read(session, { limit, timeoutMs }) {
      const first: ReadGateway[] = [];
      const link = await reach(session, async (asked) => {
        const read = await readGateway(deps, asked, { limit });
        first.push(read);
        return read.link;
      });
      if (link.state !== "live") return { link, status: null, snapshot: null };
      const [read] = first;
      if (read?.link.state === "healthy") return { link, status: read.link.status, snapshot: read.snapshot };
      const answer = await link.client.call("snapshot", { query: { limit }, timeoutMs });
      if (answer.kind === "ok") return { link, status: answer.body.status, snapshot: answer.body };
      const status = answer.kind === "refused" ? await link.client.call("status", { timeoutMs }) : answer;
      if (status.kind === "ok") return { link, status: status.body, snapshot: null };
      known.delete(session.sessionRoot);
      const { instance } = link;
      const state = isRunning(instance) ? "silent" : "dead";
      return { link: { state, instance, why: status.detail }, status: null, snapshot: null };
    },
    claims(session) {
      const recordKey = recordKeyOf(session);
      if (recordKey === null) return false;
      const before = known.get(session.sessionRoot);
      if (before?.recordKey === recordKey && before.link.state === "live") {
        return isSame(before.link.instance.pid, before.startToken);
      }
      const instance = openSessionFolder(files, session.sessionRoot).readCurrentInstance();
      return instance !== null && isRunning(instance);
    },
    doubt: ({ sessionRoot }) => void known.delete(sessionRoot),
  };
}
