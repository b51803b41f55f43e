import type {
  AguiCapabilities,
  AguiConnectInput,
  AguiEvent,
  AguiRunInput,
  AguiTargetFamily,
} from "../../../../protocol/agui.ts";
import type { GatewayRequest } from "../../../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../../../system/clock.ts";
import { ServiceError } from "../../../../system/errors.ts";
import type { Ids } from "../../../../system/ids.ts";
import { type Agent, isTracked } from "../../../agent/agent.ts";
import type { EventLog } from "../../../diagnostics/event-log.ts";
import type { IdleFacts, Queue } from "../../../queue/queue.ts";
import type { StatusBoard } from "../../../status/status-board.ts";
import { targetFamily, toCapabilities } from "./capabilities.ts";
import { type RunTask, toRunTask, toTurnId } from "./input.ts";
import { type AguiItem, beatMs, debouncedSignals, paced, type Subscribe } from "./paced-stream.ts";
import { createRunTranslator } from "./run-stream.ts";
import { type Connection, toSnapshot } from "./snapshot.ts";

interface OpenConnection {
  connection: Connection;
  /** Aborted by a detach, and when `over` is. */
  ended: AbortSignal;
}

/** The GUI streams that are attached now; none outlives its client. */
interface Connections {
  /**
   * `over`: aborted when the client leaves or the gateway ends. Throws `unavailable` when too many are
   * attached.
   */
  open(input: AguiConnectInput, over: AbortSignal): OpenConnection;
  /** False when there is no such connection. */
  detach(connectionId: string): boolean;
}

/** Each gets every change of the state. */
const maxConnections = 64;

function createConnections(deps: { clock: Clock; ids: Ids }): Connections {
  const { clock, ids } = deps;
  const open = new Map<string, AbortController>();

  function end(connectionId: string): boolean {
    const controller = open.get(connectionId);
    open.delete(connectionId);
    controller?.abort();
    return controller !== undefined;
  }

  return {
    open(input, over) {
      if (open.size >= maxConnections) {
        throw new ServiceError(
          "unavailable",
          `${maxConnections} GUI clients are attached already; detach one first`,
        );
      }
      const connectionId = `agui-${ids.hex(16)}`;
      const controller = new AbortController();
      open.set(connectionId, controller);
      const drop = () => void end(connectionId);
      if (over.aborted) drop();
      else over.addEventListener("abort", drop, { once: true });
      return {
        connection: {
          connectionId,
          threadId: input.threadId,
          runId: input.runId,
          ...(input.parentRunId == null ? {} : { parentRunId: input.parentRunId }),
          ...(input.lastSeenEventId == null ? {} : { lastSeenEventId: input.lastSeenEventId }),
          createdAtUtc: timestampNow(clock),
        },
        ended: controller.signal,
      };
    },
    detach: end,
  };
}

/**
 * What GUI clients of the AG-UI protocol do at this gateway. They attach, submit runs to the ordinary queue
 * and leave; nothing they do starts or stops the agent. Source: contract 4.1; spec/mailbox-agui.md C.
 */
export interface Agui {
  capabilities(): AguiCapabilities;
  /** A stream of the state until `left` aborts, the connection is detached, or the gateway ends. */
  connect(
    input: AguiConnectInput,
    left: AbortSignal,
  ): { connectionId: string; stream: AsyncGenerator<AguiItem> };
  /** False when there is no such connection. */
  detach(connectionId: string): boolean;
  /**
   * Queues the run's task and resolves, once it is on disk, with the stream that reports it. Throws
   * ServiceError: `invalid_request`, `conflict` while anything waits or runs or for a run id that was seen
   * before, `unavailable`. When `left` aborts the stream ends; the task goes on.
   */
  run(input: AguiRunInput, left: AbortSignal): Promise<AsyncGenerator<AguiItem>>;
  /** Ends every stream, each with the event that a client expects last. */
  close(): void;
}

interface AguiDeps {
  agent: Agent;
  board: Pick<StatusBoard, "status" | "onChange">;
  queue: Pick<Queue, "acceptIf" | "record">;
  events: Pick<EventLog, "subscribe">;
  clock: Clock;
  ids: Ids;
}

/** Looks are at least this far apart. */
const pauseMs = 40;

export function createAgui(deps: AguiDeps): Agui {
  const { agent, board, queue, events, clock } = deps;
  const connections = createConnections(deps);
  const closing = new AbortController();
  const subscriptions: Subscribe[] = [events.subscribe, board.onChange];
  const family = () => targetFamily(agent);

  async function* stateStream(
    input: AguiConnectInput,
    { connection, ended, left }: OpenConnection & { left: AbortSignal },
  ): AsyncGenerator<AguiItem> {
    const { threadId, runId, parentRunId } = input;
    let last = "";
    yield toItem({
      type: "RUN_STARTED",
      threadId,
      runId,
      ...(parentRunId == null ? {} : { parentRunId }),
    });
    yield* paced({
      signals: debouncedSignals({ subscriptions, clock, signal: ended, everyMs: beatMs, pauseMs }),
      nowMs: () => clock.monotonicMs(),
      *events() {
        const snapshot = toSnapshot({ status: board.status(), own: input.state, connection });
        const text = JSON.stringify(snapshot);
        if (text !== last) yield { type: "STATE_SNAPSHOT", snapshot };
        last = text;
        return false;
      },
    });
    if (left.aborted) return;
    const { connectionId } = connection;
    yield toItem({ type: "RUN_FINISHED", threadId, runId, result: { connectionId, detached: true } });
  }

  async function* runStream(
    translator: ReturnType<typeof createRunTranslator>,
    left: AbortSignal,
  ): AsyncGenerator<AguiItem> {
    for (const event of translator.begin()) yield toItem(event);
    const signal = AbortSignal.any([left, closing.signal]);
    const done = yield* paced({
      signals: debouncedSignals({ subscriptions, clock, signal, everyMs: beatMs, pauseMs }),
      nowMs: () => clock.monotonicMs(),
      events: translator.look,
    });
    if (done || left.aborted) return;
    for (const event of translator.breakOff("the gateway ends; the request goes on without this stream")) {
      yield toItem(event);
    }
  }

  return {
    capabilities: () => toCapabilities({ status: board.status(), family: family(), tool: agent.tool }),
    connect(input, left) {
      const opened = connections.open(input, AbortSignal.any([left, closing.signal]));
      const { connectionId } = opened.connection;
      return { connectionId, stream: stateStream(input, { ...opened, left }) };
    },
    detach: connections.detach,
    async run(input, left) {
      const converted = toRunTask(input);
      if (!converted.ok) throw new ServiceError("invalid_request", converted.reason);
      const target = family();
      if (target === "unknown" || target === "http_rest") {
        throw new ServiceError("unavailable", `the backend ${agent.backend} takes no runs`);
      }
      const problem = taskProblem(converted.task, agent, target);
      if (problem) throw new ServiceError("invalid_request", problem);
      const turnId = toTurnId(input.runId);
      const dialogBefore = agent.terminal?.state()?.parsed_surface?.dialog_text ?? "";
      const accepted = await queue.acceptIf(toRequest(converted.task, turnId), (facts) =>
        refuseRun({ ...facts, isTurnKnown: facts.isTurnKnown || agent.turns?.exists(turnId) === true }),
      );
      const translator = createRunTranslator(
        { input, family: target, tracked: isTracked(agent), dialogBefore },
        {
          status: board.status,
          record: () => queue.record(accepted.request_id),
          turnEvents: ({ after, limit }) => agent.turns?.events(turnId, after)?.take(limit).toArray() ?? null,
          terminal: () => agent.terminal?.state() ?? null,
        },
      );
      return runStream(translator, left);
    },
    close: () => closing.abort(),
  };

  function refuseRun({ depth, isTurnKnown }: IdleFacts): ServiceError | null {
    const { active_execution, request_admission, managed_agent_connectivity } = board.status();
    if (active_execution !== "idle" || depth > 0) {
      return new ServiceError("conflict", "the agent is at work or requests wait; run again when it is idle");
    }
    if (request_admission !== "open") {
      const why = managed_agent_connectivity === "connected" ? "" : `: ${agent.connectivity().detail}`;
      return new ServiceError("unavailable", `no work is admitted, ${request_admission}${why}`);
    }
    return isTurnKnown ? new ServiceError("conflict", "this runId was seen before; use a new one") : null;
  }
}

function toItem(event: AguiEvent): AguiItem {
  return { item: "event", event };
}

function toRequest(task: RunTask, turnId: string): GatewayRequest & { kind: "submit_prompt" } {
  return {
    kind: "submit_prompt",
    payload: {
      prompt: task.prompt,
      turn_id: turnId,
      ...(task.chatSession ? { chat_session: task.chatSession } : {}),
      ...(task.execution ? { execution: task.execution } : {}),
    },
  };
}

/** What this agent cannot do with a run, as a clause for people, or null. */
function taskProblem(task: RunTask, agent: Agent, family: AguiTargetFamily): string | null {
  if (family === "headless") {
    const problem = agent.turns?.refuseExecution(task.execution) ?? null;
    return problem && `forwardedProps.svc.execution: ${problem}`;
  }
  if (task.chatSession) return "forwardedProps.svc.chatSession is for headless agents";
  return task.execution
    ? "forwardedProps.svc.execution: a terminal agent runs the model it was started with"
    : null;
}
