import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { EventTime } from "./fields.ts";

/** Events of a gateway's log and stream, by kind. Other versions may add kinds. */
export const eventKinds = {
  accepted: "a request was accepted into the queue",
  accepted_internal: "a prompt of the mail notifier was accepted into the queue",
  request_waiting: "the oldest request waits for another reason than before",
  executing: "a request started",
  request_evidence: "a step of a request, with its proof",
  completed: "a request completed",
  failed: "a request failed",
  coalesced: "control requests were superseded by others",
  requests_recalled: "requests were restored from this log after the queue was lost",
  control_prompt_submitted: "the agent took a direct prompt",
  control_prompt_refused: "a direct prompt was refused and not typed",
  control_prompt_evidence: "a step of a direct prompt, with its proof",
  control_prompt_completed: "the turn of a direct prompt completed",
  control_prompt_failed: "the turn of a direct prompt failed",
  control_input: "keys were pressed",
  startup_answered: "the gateway answered a startup question of an unattended agent's program",
  turn_event: "an event of a headless turn, numbered by turn_seq",
  turn_finished: "a headless turn ended",
  turn_usage: "tokens of an ended turn, by model; a later event with the same turn_id replaces it",
  terminal_state: "the terminal state changed",
  typing_lease_taken: "a person types into the terminal by hand",
  typing_lease_ended: "a person stopped typing by hand, and why",
  instance_changed: "a new instance of the agent runs",
  reconciled: "work for an earlier instance was failed and admission reopened",
  reminder_registered: "a reminder was created",
  reminder_restored: "a durable reminder of the previous gateway continues",
  reminder_updated: "a reminder was redefined",
  reminder_started: "a reminder is being delivered",
  reminder_evidence: "a step of a reminder, with its proof",
  reminder_deferred: "a due reminder waits, and why",
  reminder_completed: "a reminder was delivered",
  reminder_failed: "a reminder could not be delivered",
  reminder_deleted: "a reminder was deleted",
  reminder_lost_on_restart: "a reminder ended with the previous gateway",
  mailbox_state_rebuilt: "the lost read and archived state of the mailbox was rebuilt from its boxes",
  gateway_started: "the gateway started",
  gateway_stopped: "the gateway stopped",
} as const;
export type EventKind = keyof typeof eventKinds;

/**
 * One line of events.jsonl: a flat object with `kind`, `seq` and `at_utc` (contract 6; spec/gateway.md 6).
 * Readers ignore unknown keys. A line never holds a whole prompt or a mail body.
 */
export const GatewayEvent = Type.Object(
  {
    seq: Type.Integer({
      minimum: 1,
      description:
        "position in the history of this session: grows over restarts and rotation, may leave gaps",
    }),
    kind: Type.String({
      description: "one of the kinds that the stream lists; readers ignore unknown kinds",
    }),
    at_utc: EventTime,
  },
  { additionalProperties: Type.Unknown(), description: "one event of the gateway's log" },
);
export type GatewayEvent = Static<typeof GatewayEvent>;

/** The events of a stream, for the OpenAPI document. */
export interface StreamedEvents {
  /** The schema of `data`. */
  item: TSchema;
  kinds: Readonly<Record<string, string>>;
}

/** The schema of an answer that is a stream of server-sent events. */
export const eventStream = (events: StreamedEvents) =>
  Type.String({ contentMediaType: "text/event-stream", events });

/** How clients read the event streams; part of their descriptions. */
export const eventNames =
  "The field `event` is the kind, `data` the event as JSON on one line. There is no default `message` event: an EventSource needs a listener for each kind.";

/** Clients that follow the events of one server at the same time; further ones get 503. */
export const maxFollowers = 64;
