import type { CurrentInstance } from "../../protocol/files.ts";
import type { GatewaySnapshot } from "../../protocol/gateway.ts";
import type { Processes } from "../../system/processes.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { gatewayIdentity } from "../sessions/manifest.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { claimOf, type GatewayLink, type GatewayLinkDeps, linkGateway, readGateway } from "./gateway-link.ts";
import { recordedProcessLives } from "./listener-proof.ts";

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;
type AskedSession = Parameters<typeof linkGateway>[1];

/**
 * `claimed`: a gateway says that it serves the agent and does not answer; another must not act in its place.
 */
export type FleetLink =
  | { state: "live"; instance: CurrentInstance; client: GatewayClient }
  | { state: "none"; claimed: boolean; why: string };

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

export interface ReadLink {
  link: FleetLink;
  answer: { kind: "ok"; body: GatewaySnapshot } | { kind: "unreachable"; detail: string } | null;
}

/** For who looks at many agents. */
export interface ReadingLinks extends Links {
  /**
   * The link, as `to` gives it, and what a live gateway answers of its agent at one moment: one request,
   * which also proves a new link. `limit`: how many of the newest requests. Null where no gateway is linked,
   * and where one has no snapshots.
   */
  read(agent: Session, options: { limit: number; timeoutMs: number }): Promise<ReadLink>;
}

const nothingLinked: FleetLink = {
  state: "none",
  claimed: false,
  why: "no gateway runs for this agent",
};

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
    if (one.link.state === "none") return clock.monotonicMs() - one.atMs < quietMs;
    return isSame(one.link.instance.pid, one.startToken);
  }

  function isSame(pid: number, startToken: string | null): boolean {
    return processes.alive(pid) && processes.startToken(pid) === startToken;
  }

  function keep({ sessionRoot }: Session, recordKey: string, found: GatewayLink): FleetLink {
    const link: FleetLink =
      found.state === "healthy"
        ? { state: "live", instance: found.instance, client: found.client }
        : {
            state: "none",
            claimed: found.state === "stale" && recordedProcessLives(processes, claimOf(found.instance)),
            why: found.why,
          };
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
      let first: GatewaySnapshot | null = null;
      const link = await reach(session, async (asked) => {
        const read = await readGateway(deps, asked, { limit });
        first = read.snapshot;
        return read.link;
      });
      if (first !== null) return { link, answer: { kind: "ok", body: first } };
      if (link.state === "none") return { link, answer: null };
      const answer = await link.client.call("snapshot", { query: { limit }, timeoutMs });
      return { link, answer: answer.kind === "refused" ? null : answer };
    },
    claims(session) {
      const recordKey = recordKeyOf(session);
      if (recordKey === null) return false;
      const before = known.get(session.sessionRoot);
      if (before?.recordKey === recordKey && before.link.state === "live") {
        return isSame(before.link.instance.pid, before.startToken);
      }
      const instance = openSessionFolder(files, session.sessionRoot).readCurrentInstance();
      return instance !== null && recordedProcessLives(processes, claimOf(instance));
    },
    doubt: ({ sessionRoot }) => void known.delete(sessionRoot),
  };
}
