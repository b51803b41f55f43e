import type { AgentSubmission } from "../../protocol/agents.ts";
import type { AgentRelaunched, AgentRequest, AgentStopped } from "../../protocol/coordinator.ts";
import type { Execution, RequestRecord } from "../../protocol/gateway.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Ids } from "../../system/ids.ts";
import { type Refusal, submitAtOnce } from "../agent/agent.ts";
import type { FoundAgent } from "../sessions/find.ts";
import type { KeptAnswers } from "../sessions/kept-answers.ts";
import { TmuxError } from "../terminal/tmux/protocol.ts";
import { noLiveGateway } from "./diagnose-agent.ts";
import { type Directory, type KnownAgent, openedAgent } from "./directory.ts";
import type { FleetTurns } from "./fleet-turns.ts";
import type { GatewayClient } from "./gateway-client.ts";
import { type Answer, coalescedInto, isOpen } from "./gateway-client.ts";
import type { Links } from "./links.ts";
import type { PassiveTerminals } from "./passive-terminals.ts";
import { relaunchAgent } from "./relaunch-agent.ts";
import { type AgentStop, type StopAgentDeps, stopAgent, stopDamaged } from "./stop-agent.ts";
import { submissionRefusal } from "./unknown-outcome.ts";

/** What agents are asked to do. Each method throws `not_found` and `ambiguous` for its `ref`. */
export type FleetWork = ReturnType<typeof createFleetWork>;

export interface FleetWorkDeps {
  directory: Directory;
  links: Links;
  terminals: Pick<PassiveTerminals, "drive">;
  turns: Pick<FleetTurns, "submit" | "interrupt">;
  stopping: StopAgentDeps;
  relaunching: Parameters<typeof relaunchAgent>[0];
  /** To what is done without a gateway: they are kept where its gateway keeps its own. */
  answersOf: (agent: FoundAgent) => KeptAnswers;
  clock: Clock;
  ids: Ids;
}

type Outcome = Pick<AgentSubmission, "detail"> & Partial<AgentSubmission>;

/** An interrupt overtakes what waits (ruling 8): it is done soon or something is wrong. */
const interruptMs = 15_000;
const pollIntervalMs = 25;
/** How long a terminal may take to become stable. */
const settleMs = 3000;

export function createFleetWork(deps: FleetWorkDeps) {
  const { directory, links, clock, ids } = deps;
  async function prompt(
    agent: KnownAgent,
    { text, execution }: { text: string; execution: Execution | undefined },
    key: string | undefined,
  ) {
    if (agent.identity.transport === "headless") return turn(agent, { text, execution }, key);
    if (execution) {
      throw new ServiceError(
        "invalid_request",
        "execution: a terminal agent runs with the model it was started with",
      );
    }
    const client = await gatewayOf(agent);
    if (!client)
      return done(await once(agent, { key, operation: "prompt", request: text }, () => typed(agent, text)));
    const body = { kind: "submit_prompt", payload: { prompt: text } } as const;
    const accepted = await client.call("submitRequest", { body, idempotencyKey: key });
    if (accepted.kind !== "ok") return refused(agent, accepted, key);
    const { request_id, queue_depth } = accepted.body;
    return done({
      detail: `accepted by its gateway, ${queue_depth} in the queue`,
      gateway_request_id: request_id,
    });
  }

  function once<T>(
    agent: KnownAgent,
    { key, ...work }: { key: string | undefined; operation: string; request: unknown },
    act: () => Promise<T>,
  ): Promise<T> {
    return key === undefined ? act() : deps.answersOf(openedAgent(agent)).once({ key, ...work }, act);
  }

  async function turn(
    agent: KnownAgent,
    { text, execution }: { text: string; execution: Execution | undefined },
    key: string | undefined,
  ) {
    const submission = { prompt: text, ...(execution ? { execution } : {}) };
    const begun = await deps.turns.submit(agent.identity.tracked_agent_id, submission, key);
    if (begun.kind === "refused") return begun;
    const { turn_id, turn_index, detail } = begun.body;
    return done({
      detail,
      headless_turn_id: turn_id,
      ...(turn_index === null ? {} : { headless_turn_index: turn_index }),
    });
  }

  /** Null when none serves the agent and none claims to. */
  async function gatewayOf(agent: KnownAgent): Promise<GatewayClient | null> {
    const opened = openedAgent(agent);
    const link = await links.to(opened);
    if (link.state === "live") return link.client;
    if (link.state === "silent") throw noLiveGateway(opened, link);
    const { state } = agent.record.lifecycle;
    if (state === "stopped" || state === "retired")
      throw new ServiceError("unavailable", `"${agent.record.agent_name}" is ${state}`);
    return null;
  }

  function refused(
    agent: KnownAgent,
    response: Parameters<typeof submissionRefusal>[0],
    key: string | undefined,
  ) {
    if (agent.found) links.doubt(agent.found);
    const { agent_name: name, agent_id: id } = agent.record;
    return submissionRefusal(response, { name, id }, key);
  }

  async function typed(agent: KnownAgent, text: string): Promise<Outcome> {
    const outcome = await deps.terminals.drive(openedAgent(agent), async (driven) => {
      // A terminal that was only now looked at is not stable yet.
      await driven.terminal?.waitFor("ready", { timeoutMs: settleMs, signal: new AbortController().signal });
      return submitAtOnce(driven, { prompt: text, policy: "turn_boundary", onEvidence: () => {} });
    });
    switch (outcome.outcome) {
      case "submitted":
        return { detail: "given to its terminal directly; no gateway serves it" };
      case "refused":
        throw toServiceError(outcome.refusal);
      case "failed":
        throw new ServiceError("dispatch_failed", outcome.detail);
    }
  }

  async function interrupt(agent: KnownAgent, key: string | undefined) {
    if (agent.identity.transport === "headless") {
      const interruption = await deps.turns.interrupt(agent.identity.tracked_agent_id);
      const { success, detail, turn_id, turn_index } = interruption;
      if (!turn_id) return done({ detail, disposition: "no_op" });
      return done({
        success,
        detail,
        headless_turn_id: turn_id,
        ...(turn_index === undefined ? {} : { headless_turn_index: turn_index }),
      });
    }
    const client = await gatewayOf(agent);
    if (!client)
      return done(await once(agent, { key, operation: "interrupt", request: null }, () => pressed(agent)));
    const body = { kind: "interrupt", payload: {} } as const;
    const accepted = await client.call("submitRequest", { body, idempotencyKey: key });
    if (accepted.kind !== "ok") return refused(agent, accepted, key);
    const { request_id } = accepted.body;
    return done({ ...(await outcomeOf(client, request_id)), gateway_request_id: request_id });
  }

  async function pressed(agent: KnownAgent): Promise<Outcome> {
    const end = await deps.terminals.drive(openedAgent(agent), async (driven) => {
      using permit = await driven.interrupt();
      return await permit.submit();
    });
    if (end.outcome === "unavailable") throw new ServiceError("unavailable", end.detail);
    return {
      success: end.outcome !== "failed",
      detail: end.detail,
      disposition: end.outcome === "no_op" ? "no_op" : "accepted",
    };
  }

  /** How an interrupt ended; one that is not over in time counts as accepted. */
  async function outcomeOf(client: GatewayClient, requestId: string): Promise<Outcome> {
    const deadlineMs = clock.monotonicMs() + interruptMs;
    let followed = requestId;
    for (;;) {
      const response = await client.call("readRequest", { params: { request_id: followed } });
      const into = response.kind === "ok" ? coalescedInto(response.body) : null;
      if (into !== null) {
        followed = into;
        continue;
      }
      if (response.kind === "ok" && !isOpen(response.body)) return toOutcome(response.body);
      if (clock.monotonicMs() >= deadlineMs) return { detail: "accepted; its end was not seen yet" };
      await sleep(clock, pollIntervalMs);
    }
  }

  function done(outcome: Outcome) {
    return { kind: "done", outcome } as const;
  }

  async function relaunchKnown(known: KnownAgent): Promise<AgentRelaunched> {
    const found = openedAgent(known);
    const wish = {
      resume: { mode: "new" },
      reconcile: null,
      gateway: true,
      needsVariables: true,
    } as const;
    try {
      const done = await relaunchAgent(deps.relaunching, found, wish);
      const admission = done.attached?.link.status.request_admission ?? null;
      return {
        success: true,
        tracked_agent_id: known.identity.tracked_agent_id,
        in_place: done.inPlace,
        request_admission: admission,
        detail: `started again ${done.inPlace ? "in its tmux session" : "in a new tmux session"}`,
      };
    } finally {
      links.doubt(found);
      directory.refresh();
    }
  }

  return {
    /**
     * A prompt or an interrupt, through the agent's gateway where one serves it; a terminal without one is
     * driven directly. With a key the same work is done once. Throws `invalid_request` for what the agent does
     * not take, `conflict` while it is busy or a person writes in it, `unavailable` when it cannot be reached.
     */
    async submit(ref: string, request: AgentRequest, key?: string): Promise<Answer<AgentSubmission>> {
      const agent = directory.resolve(ref);
      const answer =
        request.request_kind === "interrupt"
          ? await interrupt(agent, key)
          : await prompt(agent, { text: request.prompt, execution: request.execution }, key);
      if (answer.kind === "refused") return answer;
      const body: AgentSubmission = {
        success: true,
        tracked_agent_id: agent.identity.tracked_agent_id,
        request_id: `mreq-${ids.hex(6)}`,
        request_kind: request.request_kind,
        disposition: "accepted",
        ...answer.outcome,
      };
      return { kind: "done", body };
    },
    /** Ends the agent. Throws `transport_failed` when something of it lives on. */
    async stop(ref: string): Promise<AgentStopped> {
      const known = directory.resolve(ref);
      const { found, record } = known;
      const { tracked_agent_id } = known.identity;
      const stopping = found
        ? stopAgent(deps.stopping, { ...found, record })
        : stopDamaged(deps.stopping, record);
      const stop = await stopping.catch((error: unknown) => {
        if (!(error instanceof TmuxError)) throw error;
        throw new ServiceError("transport_failed", `tmux: ${error.message}`, { cause: error });
      });
      if (found) links.doubt(found);
      directory.refresh();
      const problem = whatLivesOn(stop);
      if (problem !== null) throw new ServiceError("transport_failed", problem);
      const [turnId] = stop.interruptedTurns;
      return {
        success: true,
        tracked_agent_id,
        detail: toDetail(stop, known.problem?.why ?? null),
        ...(turnId === undefined ? {} : { turn_id: turnId }),
        manifest_path: record.runtime.manifest_path,
        session_root: found?.sessionRoot ?? record.runtime.session_root ?? "",
      };
    },

    /**
     * Starts the agent's program again, with a new conversation. Throws `precondition_failed` when it cannot
     * be, also for want of a variable of its launch; nothing has changed then. With a key it is done once.
     */
    async relaunch(ref: string, key?: string): Promise<AgentRelaunched> {
      const known = directory.resolve(ref);
      return once(known, { key, operation: "relaunch", request: null }, () => relaunchKnown(known));
    },
  };
}

function toServiceError({ code, detail }: Refusal): ServiceError {
  const reason = code === "unavailable" || code === "tracking_unavailable" ? "unavailable" : "conflict";
  return new ServiceError(reason, `${code}: ${detail}`);
}

function toOutcome(record: RequestRecord): Outcome {
  const noOp = record.result_json?.["outcome"] === "no_op";
  return {
    success: record.state !== "failed",
    detail: record.error_detail ?? (noOp ? "nothing was running" : "interrupted"),
    disposition: noOp ? "no_op" : "accepted",
  };
}

function whatLivesOn({ gateway, survivingPids }: AgentStop): string | null {
  if (gateway.outcome === "unproven") {
    return `process ${gateway.pid} may still be its gateway and was left alone: ${gateway.why}`;
  }
  return survivingPids.length > 0 ? `these processes live on: ${survivingPids.join(", ")}` : null;
}

function toDetail(stop: AgentStop, problem: string | null): string {
  const detail = wasStopped(stop) ? "stopped" : "it was stopped already";
  return problem === null ? detail : `${detail}, by its record alone: ${problem}`;
}

function wasStopped({ sessionEnded, recordStopped, gateway }: AgentStop): boolean {
  return sessionEnded || recordStopped || gateway.outcome !== "not_running";
}
