import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { EventTime } from "./fields.ts";

/** What a gateway's log and stream hold, by kind. Another version may add some. */
export const eventKinds = {
  accepted: "a request was accepted into the queue",
  accepted_internal: "the same of a prompt of the mail notifier",
  request_waiting: "why the oldest request waits, when that changes",
  executing: "a request begins",
  request_evidence: "a step of a request and what proved it",
  completed: "a request ended well",
  failed: "a request ended otherwise",
  coalesced: "control requests were superseded by others",
  requests_recalled: "requests were restored from this log after the queue was lost",
  control_prompt_submitted: "a direct prompt was taken",
  control_prompt_refused: "a direct prompt was refused, nothing typed",
  control_prompt_evidence: "a step of a direct prompt and what proved it",
  control_prompt_completed: "the turn of a direct prompt ended well",
  control_prompt_failed: "the turn of a direct prompt ended otherwise",
  control_input: "keys were pressed",
  startup_answered: "the gateway answered a question with which an unattended agent's program starts",
  turn_event: "what a headless turn says, numbered by turn_seq",
  turn_finished: "a headless turn ended",
  turn_usage: "tokens of a turn that ended, by model; a later one of the same turn_id takes its place",
  terminal_state: "what the terminal shows changed",
  typing_lease_taken: "a person types into the terminal by hand",
  typing_lease_ended: "nobody types by hand any more, and why",
  instance_changed: "the agent is a new instance",
  reconciled: "work for an earlier instance was failed and admission reopened",
  reminder_registered: "a reminder was created",
  reminder_restored: "a durable reminder of the gateway before this one goes on",
  reminder_updated: "a reminder was redefined",
  reminder_started: "a reminder is being delivered",
  reminder_evidence: "a step of a reminder and what proved it",
  reminder_deferred: "a reminder that is due waits, and why",
  reminder_completed: "a reminder was delivered",
  reminder_failed: "a reminder could not be delivered",
  reminder_deleted: "a reminder was deleted",
  reminder_lost_on_restart: "a reminder ended with the gateway before this one",
  mailbox_state_rebuilt: "the read and archived state of the mailbox was lost and rebuilt from its boxes",
  gateway_started: "the gateway serves",
  gateway_stopped: "the gateway ends",
} as const;
export type EventKind = keyof typeof eventKinds;

/**
 * One line of events.jsonl: flat, `kind` first-class, `seq` and `at_utc` on each (contract 6; spec/gateway.md
 * 6). Readers ignore keys they do not know; a line never holds a whole prompt or a mail body.
 */
export const GatewayEvent = Type.Object(
  {
    seq: Type.Integer({
      minimum: 1,
      description:
        "position in the history of this session: grows over restarts and rotation, may leave gaps",
    }),
    kind: Type.String({ description: "one of the kinds that the stream lists; a reader passes over others" }),
    at_utc: EventTime,
  },
  { additionalProperties: Type.Unknown(), description: "one event of the gateway's log" },
);
export type GatewayEvent = Static<typeof GatewayEvent>;

/** What an answer of server-sent events holds; documents show it beside the answer. */
export interface StreamedEvents {
  /** The schema of `data`. */
  item: TSchema;
  kinds: Readonly<Record<string, string>>;
}

/** An answer of server-sent events, each named by its kind. */
export const eventStream = (events: StreamedEvents) =>
  Type.String({ contentMediaType: "text/event-stream", events });

/** How clients read these streams. */
export const eventNames =
  "The field `event` is the kind, `data` the event as JSON on one line. There is no default `message` event: an EventSource needs a listener for each kind.";

/** How many may follow the events of one server at once; further clients get 503. */
export const maxFollowers = 64;
