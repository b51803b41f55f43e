import { Type } from "@sinclair/typebox";
import { aguiEndpoints, aguiStreamEndpoints } from "./agui-endpoints.ts";
import { ScreenEvent, screenEventKinds } from "./console.ts";
import { consoleEndpoints } from "./console-endpoints.ts";
import { coreEndpoints } from "./core-endpoints.ts";
import { endpoint } from "./endpoint.ts";
import { eventKinds, eventNames, eventStream, GatewayEvent, maxFollowers } from "./events.ts";
import { mailEndpoints } from "./mail-endpoints.ts";
import { notifierEndpoints } from "./notifier-endpoints.ts";
import { reminderEndpoints } from "./reminder-endpoints.ts";
import { transcriptEndpoints } from "./transcript-endpoints.ts";
import { turnArtifactEndpoints, turnEndpoints } from "./turn-endpoints.ts";
import { ErrorBody, Strict, ValidationErrorBody } from "./wire.ts";

/** The routes of one gateway (contract 4.1). */
export const gatewayEndpoints = {
  ...coreEndpoints,
  ...turnEndpoints,
  ...transcriptEndpoints,
  ...notifierEndpoints,
  ...reminderEndpoints,
  ...mailEndpoints,
  ...aguiEndpoints,
  ...consoleEndpoints,
} as const;

/** Answers that do not end by themselves; not part of the typed client. */
export const streamEndpoints = {
  events: endpoint({
    method: "GET",
    path: "/v1/events",
    summary: "Follow what happens, as server-sent events",
    description: `${eventNames} State transitions (terminal_state), request transitions, what a headless turn says (turn_event, numbered by turn_seq) and its end (turn_finished), and lifecycle, each with its position as \`id\`. Resume with Last-Event-ID or \`after\`; without either only later events are sent. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} follow at once; 503 then.`,
    query: Strict({
      after: Type.Optional(
        Type.Integer({ minimum: 0, description: "send what follows this position; 0 sends all" }),
      ),
    }),
    status: 200,
    reply: eventStream({ item: GatewayEvent, kinds: eventKinds }),
    errors: { 422: ValidationErrorBody, 503: ErrorBody },
  }),
  screenEvents: endpoint({
    method: "GET",
    path: "/v1/screen/events",
    summary: "Follow what the agent's terminal shows, as server-sent events",
    description: `${eventNames} Runs of text with colours, the whole screen first and then the rows that change, ten times a second at most. A slow reader gets the newest picture, never a queue of old ones. A comment every 15 s of silence keeps the connection. At most ${maxFollowers} follow at once; 503 then.`,
    status: 200,
    reply: eventStream({ item: ScreenEvent, kinds: screenEventKinds }),
    errors: { 503: ErrorBody },
  }),
  ...turnArtifactEndpoints,
  ...aguiStreamEndpoints,
} as const;

export type GatewayEndpoints = typeof gatewayEndpoints;
