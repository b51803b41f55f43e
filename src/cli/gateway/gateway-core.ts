import { answerStoreOn } from "../../db/gateway/answer-store.ts";
import { reminderStoreOn } from "../../db/gateway/reminder-store.ts";
import { type GatewayDatabase, type RequestStore, requestStoreOn } from "../../db/gateway/request-store.ts";
import type { Agent } from "../../services/agent/agent.ts";
import type { WatchedSession } from "../../services/agent/agent-observer.ts";
import type { GatewayRecords } from "../../services/diagnostics/diagnostic-log.ts";
import {
  createKeyControl,
  createPromptControl,
  type KeyControl,
  type PromptControl,
} from "../../services/prompt/prompt-control.ts";
import { createQueue, type Queue } from "../../services/queue/queue.ts";
import { createExecutionSlot, type ExecutionSlot } from "../../services/queue/slot.ts";
import { createReminders, type Reminders } from "../../services/reminders/reminders.ts";
import { createKeptAnswers, type KeptAnswers } from "../../services/sessions/kept-answers.ts";
import type { Registry } from "../../services/sessions/registry.ts";
import type { GatewayIdentity } from "../../services/status/project.ts";
import {
  createStatusBoard,
  createStorageWatch,
  type StatusBoard,
} from "../../services/status/status-board.ts";
import type { Lifecycle } from "../../system/lifecycle.ts";
import { faultLine } from "../../system/storage-fault.ts";
import type { GatewayAgent } from "./gateway-agent.ts";

/** What a gateway is made from. A test gives its own clock, files, database and agent. */
interface GatewayBase extends WatchedSession {
  identity: GatewayIdentity;
  records: Pick<GatewayRecords, "log" | "events" | "diagnostics">;
  database: GatewayDatabase;
  driven: Pick<GatewayAgent, "agent" | "terminal" | "observe">;
  registry: Pick<Registry, "read">;
}

/** A gateway's queue and what competes with it for the agent. None of it is started. */
export interface GatewayCore extends GatewayBase {
  agent: Agent;
  requests: RequestStore;
  /** All that compete for the agent join it. */
  slot: ExecutionSlot;
  board: StatusBoard;
  storage: Lifecycle;
  queue: Queue;
  reminders: Reminders;
  prompt: PromptControl;
  keys: KeyControl;
  /** To calls with a key of their caller. */
  answers: KeptAnswers;
}

export function createGatewayCore(base: GatewayBase): GatewayCore {
  const { system, identity, database, log } = base;
  const { clock, ids } = system;
  const { events } = base.records;
  const { agent } = base.driven;
  const store = requestStoreOn(database);
  const slot = createExecutionSlot();
  const storage = createStorageWatch({
    fault: store.fault,
    clock,
    onChange: () => slot.changed(),
    onError: (error) => log.line("watching the disk failed", { error: faultLine(error) }),
  });
  const board = createStatusBoard({
    identity,
    store,
    agent,
    events,
    log,
    clock,
    storage: storage.problem,
    slot: slot.report,
    onReconciled: slot.recount,
  });
  const { admission, block, epoch } = board;
  slot.join("status", { wake: board.refresh });
  slot.join("turns", {
    report(all) {
      all.turn = agent.turns?.active() != null;
    },
  });
  const queue = createQueue({
    store,
    agent,
    clock,
    ids,
    events,
    log,
    admission,
    block,
    reconciliationRequired: board.reconciliationRequired,
    epoch,
    slot,
  });
  const reminders = createReminders({
    agent,
    clock,
    ids,
    events,
    log,
    admission,
    store: reminderStoreOn(database),
    queue: () => ({ depth: queue.depth(), running: slot.refusal("reminder") !== null }),
    onChange: () => slot.changed("reminders"),
  });
  slot.join("reminders", {
    report(all) {
      all.reminder = reminders.phase();
      all.remindersLost = reminders.lost();
    },
    wake: reminders.wake,
  });
  return {
    ...base,
    agent,
    requests: store,
    slot,
    board,
    storage,
    queue,
    reminders,
    prompt: createPromptControl({ agent, queue, slot, board, events, log, clock }),
    keys: createKeyControl({ agent, board, events, clock }),
    answers: createKeptAnswers({ store: answerStoreOn(database), clock, log: log.line }),
  };
}
