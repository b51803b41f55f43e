import type { TurnHandle, TurnInterruption, TurnSubmission } from "../../protocol/coordinator.ts";
import type { RequestRecord } from "../../protocol/gateway.ts";
import type { TurnStatusRecord } from "../../protocol/turns.ts";
import { type Clock, parseTimestamp, pollUntil } from "../../system/clock.ts";
import { md5 } from "../../system/digest.ts";
import { ServiceError, wrapRefusal } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import type { Processes } from "../../system/processes.ts";
import type { ArtifactPart, ArtifactReader, TurnEventReader } from "../agent/agent.ts";
import { interruptTurn, type SettleDeps, settleTurn } from "../headless/settle-turn.ts";
import { createTurnDirectories, type TurnDirectory } from "../headless/turn-directory.ts";
import { createEventIndex, createTurnReader } from "../headless/turn-reader.ts";
import { chatSessionProblem } from "../queue/eligibility.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { noLiveGateway } from "./diagnose-agent.ts";
import { type Directory, openedAgent } from "./directory.ts";
import { type Answer, type GatewayClient, refusalOf } from "./gateway-client.ts";
import type { Links } from "./links.ts";
import { submissionRefusal } from "./unknown-outcome.ts";

/**
 * The durable turns of headless agents: the gateway of an agent runs them, their directories are the only
 * record (ruling 23). Each method throws `not_found` and `ambiguous` for its `ref`, and `headless_only` for a
 * terminal agent.
 */
export type FleetTurns = ReturnType<typeof createFleetTurns>;

interface EventsOfTurn {
  trackedId: string;
  events: TurnEventReader;
}

interface FleetTurnsDeps extends SettleDeps {
  directory: Directory;
  links: Links;
  clock: Clock;
  ids: Ids;
  processes: Processes;
  /** Starts a gateway for a headless agent that has none. Throws as `attachGateway`. */
  attach: (agent: FoundAgent) => Promise<GatewayClient>;
}

/** A turn that nothing hinders begins within milliseconds. */
const beginMs = 3000;
const pollIntervalMs = 15;

export function createFleetTurns(deps: FleetTurnsDeps) {
  const { directory, links, clock, files } = deps;
  /** Sessions whose next turn is being begun. */
  const beginning = new Set<string>();
  const runningTurn = createRunningTurn(deps);
  const index = createEventIndex();

  function open(ref: string) {
    const known = directory.resolve(ref);
    const agent = openedAgent(known);
    if (known.identity.transport !== "headless") {
      throw new ServiceError("headless_only", `"${agent.manifest.agent_name}" is a terminal agent`);
    }
    const turns = createTurnDirectories({ files, sessionRoot: agent.sessionRoot });
    return {
      agent,
      turns,
      reader: createTurnReader({ files, turns, index }),
      trackedId: known.identity.tracked_agent_id,
    };
  }

  /** Turns whose runner is gone get their final state before they are shown. */
  async function openTurn(ref: string, turnId: string) {
    const { turns, reader } = open(ref);
    const turn = turns.find(turnId);
    if (turn && !turn.result()) await settleTurn(deps, turn);
    const record = reader.read(turnId);
    return { record: known(record), reader };
  }

  async function clientOf(agent: ReturnType<typeof open>["agent"]): Promise<GatewayClient> {
    const link = await links.to(agent);
    if (link.state === "live") return link.client;
    if (link.state === "silent") throw noLiveGateway(agent, link);
    const name = agent.manifest.agent_name;
    try {
      return await deps.attach(agent);
    } catch (error) {
      throw wrapRefusal(error, "unavailable", (why) => `no gateway could be started for "${name}": ${why}`);
    }
  }

  /** The number of the turn, or null while it waits. Throws when its request is over and there is no turn. */
  async function awaitBegun(
    opened: ReturnType<typeof open>,
    client: GatewayClient,
    { turnId, requestId }: { turnId: string; requestId: string },
  ): Promise<number | null> {
    return pollUntil(clock, { intervalMs: pollIntervalMs, limitMs: beginMs }, async () => {
      const response = await client.call("readRequest", { params: { request_id: requestId } });
      const index = opened.turns.find(turnId)?.request()?.turn_index;
      if (index !== undefined) return index;
      if (response.kind === "ok") refuseUnlessWaiting(response.body);
      return null;
    });
  }

  async function begin(
    opened: ReturnType<typeof open>,
    { prompt, chat_session, execution }: TurnSubmission,
    key: string | undefined,
  ): Promise<Answer<TurnHandle>> {
    const { agent } = opened;
    const name = agent.manifest.agent_name;
    const first = key === undefined ? null : await begunWith(opened, key);
    if (first) return first;
    const active = await runningTurn(opened.agent);
    if (active) throw new ServiceError("conflict", `turn ${active.turnId} of "${name}" is running`);
    const client = await clientOf(agent);
    const status = await client.call("status", {});
    if (status.kind !== "ok") return refusalOf(status);
    if (status.body.queue_depth > 0) {
      throw new ServiceError("conflict", `${status.body.queue_depth} requests of "${name}" wait or run`);
    }
    // The same key makes the same request, so that a gateway that began since knows it again.
    const turn_id = `turn-${key === undefined ? deps.ids.hex(6) : md5(key).slice(0, 16)}`;
    const payload = {
      prompt,
      turn_id,
      ...(chat_session ? { chat_session } : {}),
      ...(execution ? { execution } : {}),
    };
    const body = { kind: "submit_prompt", payload } as const;
    const accepted = await client.call("submitRequest", { body, idempotencyKey: key });
    if (accepted.kind !== "ok") {
      links.doubt(agent);
      return submissionRefusal(accepted, { name, id: agent.manifest.agent_id }, key);
    }
    return handleOf(opened, client, { turnId: turn_id, requestId: accepted.body.request_id });
  }

  async function handleOf(
    opened: ReturnType<typeof open>,
    client: GatewayClient,
    ids: { turnId: string; requestId: string },
  ): Promise<Answer<TurnHandle>> {
    const turn_index = await awaitBegun(opened, client, ids);
    const body: TurnHandle = {
      success: true,
      tracked_agent_id: opened.trackedId,
      turn_id: ids.turnId,
      turn_index,
      status: "active",
      detail: `request ${ids.requestId} of its gateway`,
    };
    return { kind: "done", body };
  }

  /** The turn that was begun with this key before; null for none. */
  async function begunWith(opened: ReturnType<typeof open>, key: string): Promise<Answer<TurnHandle> | null> {
    const link = await links.to(opened.agent);
    if (link.state !== "live") return null;
    const reply = await link.client.call("listRequests", { query: { idempotency_key: key } });
    const [known] = reply.kind === "ok" ? reply.body.requests : [];
    if (known?.turn_id === undefined) return null;
    return handleOf(opened, link.client, { turnId: known.turn_id, requestId: known.request_id });
  }

  return {
    /**
     * Begins a turn, through a gateway that is started when none serves the agent. Throws `conflict` while
     * another runs or waits and when no conversation is pinned that it should go on with, `unavailable` when
     * the agent cannot work.
     */
    async submit(ref: string, submission: TurnSubmission, key?: string): Promise<Answer<TurnHandle>> {
      const opened = open(ref);
      const problem = chatSessionProblem(submission.chat_session);
      if (problem) {
        throw new ServiceError("invalid_request", `chat_session: invalid_chat_session: ${problem}`);
      }
      const { manifest, record, sessionRoot } = opened.agent;
      const { state } = record.lifecycle;
      if (state === "stopped" || state === "retired") {
        throw new ServiceError("unavailable", `"${manifest.agent_name}" is ${state}`);
      }
      if (beginning.has(sessionRoot)) {
        throw new ServiceError("conflict", `another turn of "${manifest.agent_name}" is just beginning`);
      }
      beginning.add(sessionRoot);
      try {
        return await begin(opened, submission, key);
      } finally {
        beginning.delete(sessionRoot);
      }
    },
    /** Throws `not_found` for an unknown turn, as do the two below. */
    read: async (ref: string, turnId: string): Promise<TurnStatusRecord> =>
      (await openTurn(ref, turnId)).record,
    /** `after`: how many to pass over. */
    async events(ref: string, turnId: string, after: number): Promise<EventsOfTurn> {
      const { record, reader } = await openTurn(ref, turnId);
      return { trackedId: record.tracked_agent_id, events: known(reader.events(turnId, after)) };
    },
    async artifact(
      ref: string,
      turnId: string,
      name: "stdout" | "stderr",
      part: ArtifactPart,
    ): Promise<ArtifactReader> {
      const { reader } = await openTurn(ref, turnId);
      return known(reader.artifact(turnId, name, part));
    },
    /** Ends the turn that runs; done without one too. */
    async interrupt(ref: string): Promise<TurnInterruption> {
      const opened = open(ref);
      const { trackedId } = opened;
      const turn = await runningTurn(opened.agent);
      if (!turn) return { success: true, tracked_agent_id: trackedId, detail: "no turn is running" };
      const index = turn.request()?.turn_index;
      const outcome = await interruptTurn(deps, turn, "gateway");
      return {
        success: outcome.outcome !== "failed" && outcome.outcome !== "unavailable",
        tracked_agent_id: trackedId,
        detail: outcome.detail,
        turn_id: turn.turnId,
        ...(index === undefined ? {} : { turn_index: index }),
      };
    },
  };
}

function known<T>(value: T | null): T {
  if (value === null) throw new ServiceError("not_found", "no turn with this id");
  return value;
}

/** A request that is over without a turn began none: nobody could follow it. */
function refuseUnlessWaiting({ state, error_detail }: RequestRecord): void {
  if (state === "accepted" || state === "running") return;
  const why = error_detail ?? `its request is ${state}`;
  const lacksChat = why.startsWith("missing_current_chat_session");
  throw new ServiceError(state === "failed" && !lacksChat ? "unavailable" : "conflict", why);
}

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;

/** Turns that may be unfinished are the newest ones. */
const maxLooked = 5;
/** A gateway that died may have started the runner of a turn a moment before. */
const beginsWithinMs = 10_000;

/**
 * The turn of a headless agent that runs or is about to, or null. Turns whose runner is gone get their final
 * state first; so does one that nobody claimed and that no gateway is there to begin.
 */
export function createRunningTurn(
  deps: SettleDeps & { links: Pick<Links, "to"> },
): (agent: Session) => Promise<TurnDirectory | null> {
  const { clock, files, links } = deps;

  async function isAbandoned(agent: Session, turn: TurnDirectory): Promise<boolean> {
    const beganMs = parseTimestamp(turn.request()?.requested_at_utc ?? "");
    if (turn.process() || beganMs === null || clock.nowMs() - beganMs < beginsWithinMs) return false;
    const link = await links.to(agent);
    return link.state === "dead" || link.state === "none";
  }

  return async (agent) => {
    const turns = createTurnDirectories({ files, sessionRoot: agent.sessionRoot });
    for (const turn of turns.list(maxLooked)) {
      if (turn.result()) continue;
      const unbegun = await isAbandoned(agent, turn);
      const how = unbegun ? { unbegun: "its gateway ended before it began" } : {};
      if (!(await settleTurn(deps, turn, how))) return turn;
    }
    return null;
  };
}
