import type { Agent } from "../../services/agent/agent.ts";
import type { Agui } from "../../services/agui/agui.ts";
import type { LiveTerminal } from "../../services/console/live-terminal.ts";
import type { OwnAgent } from "../../services/console/own-agent.ts";
import type { ScreenItem } from "../../services/console/screens.ts";
import type { EventStream } from "../../services/diagnostics/event-stream.ts";
import type { Ledger } from "../../services/ledger/ledger.ts";
import type { MailFacade } from "../../services/mail/facade.ts";
import type { Notifier } from "../../services/notifier/notifier.ts";
import type { HeadlessControl, KeyControl, PromptControl } from "../../services/prompt/prompt-control.ts";
import type { TypingLeases } from "../../services/prompt/typing-lease.ts";
import type { Queue } from "../../services/queue/queue.ts";
import type { RecorderControl } from "../../services/recorder/recorder-control.ts";
import type { Reminders } from "../../services/reminders/reminders.ts";
import type { StatusBoard } from "../../services/status/status-board.ts";
import type { Transcript } from "../../services/transcript/transcript.ts";
import type { SocketUpgrade } from "../../system/sockets.ts";
import type { ConsoleServices } from "../console/app.ts";

/** What the routes of a gateway's core call. */
export interface CoreServices {
  board: Pick<StatusBoard, "status" | "reconciliationRequired" | "reconcile" | "epoch">;
  queue: Pick<Queue, "accept" | "once" | "record" | "list" | "claimsTurn">;
  prompt: PromptControl;
  keys: KeyControl;
  agent: Pick<
    Agent,
    | "turns"
    | "connectivity"
    | "terminalState"
    | "terminalHistory"
    | "notePrompt"
    | "explain"
    | "waitFor"
    | "decide"
  >;
}

/** What all the gateway's routes call. */
export interface GatewayServices extends CoreServices {
  headless: HeadlessControl;
  transcript: Transcript;
  ledger: Pick<Ledger, "page" | "summary">;
  mail: MailFacade;
  notifier: Pick<Notifier, "status" | "update" | "disable" | "audit">;
  reminders: Pick<Reminders, "create" | "list" | "get" | "update" | "remove">;
  stream: Pick<EventStream, "follow">;
  agui: Pick<Agui, "capabilities" | "connect" | "detach" | "run">;
  screen: { follow(options: { signal: AbortSignal }): AsyncGenerator<ScreenItem> };
  terminal: LiveTerminal;
  leases: Pick<TypingLeases, "current" | "take" | "end" | "type">;
  recorder: Pick<RecorderControl, "status" | "update" | "moment" | "cast">;
  sockets: Pick<SocketUpgrade, "upgrade">;
  metrics: { scrape(): Promise<{ text: string; contentType: string }> };
  console: ConsoleServices;
  /** Opened when it is asked for the first time: only a console beside this gateway asks. */
  ownAgent: () => Promise<OwnAgent>;
}
