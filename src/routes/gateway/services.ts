import type { Agent } from "../../services/agent/agent.ts";
import type { EventStream } from "../../services/diagnostics/event-stream.ts";
import type { MailFacade } from "../../services/mail/facade.ts";
import type { Notifier } from "../../services/notifier/notifier.ts";
import type { HeadlessControl, KeyControl, PromptControl } from "../../services/prompt/prompt-control.ts";
import type { TypingLeases } from "../../services/prompt/typing-lease.ts";
import type { Queue } from "../../services/queue/queue.ts";
import type { Reminders } from "../../services/reminders/reminders.ts";
import type { KeptAnswers } from "../../services/sessions/kept-answers.ts";
import type { StatusBoard } from "../../services/status/status-board.ts";

/** The services behind the core routes of a gateway. */
export interface CoreServices {
  board: Pick<StatusBoard, "status" | "reconciliationRequired" | "reconcile" | "keepRequests" | "epoch">;
  queue: Pick<Queue, "accept" | "record" | "withdraw" | "list">;
  prompt: PromptControl;
  keys: KeyControl;
  agent: Pick<Agent, "terminal" | "decide">;
  answers: KeptAnswers;
}

/** The services behind all routes of a gateway except those of extensions. */
export interface GatewayServices extends CoreServices {
  headless: HeadlessControl;
  mail: MailFacade;
  notifier: Pick<Notifier, "status" | "update" | "disable" | "audit">;
  reminders: Pick<Reminders, "create" | "list" | "get" | "update" | "remove">;
  stream: Pick<EventStream, "follow">;
  leases: Pick<TypingLeases, "current" | "take" | "end" | "type">;
}
