import { type Static, Type } from "@sinclair/typebox";
import { endpoint, RefusedOrInvalid } from "./endpoint.ts";
import { moment } from "./enforced.ts";
import { SinceTime, ToolName } from "./fields.ts";
import { TranscriptStatus } from "./transcript.ts";
import { counts, maxTurnModels, TokenUsage } from "./usage.ts";
import {
  describe,
  maxListed,
  maxPage,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  Timestamp,
} from "./wire.ts";

/** Token use of each turn of an agent, and sums (additional; decision 80). */

export const wakeReasons = ["prompt", "mail", "reminder", "by_hand", "unknown"] as const;
export const WakeReason = StringEnum(wakeReasons, {
  description:
    "prompt: a request or a direct prompt; mail: the mail notifier; by_hand: typed into the terminal by somebody else; unknown: no gateway ran",
});
export type WakeReason = Static<typeof WakeReason>;

export const ledgerSources = ["tool", "screen", "headless", "acp"] as const;
export const LedgerSource = StringEnum(ledgerSources, {
  description:
    "tool: the tool's record of the conversation; screen: the terminal alone, which has no counts; headless: the output stream; acp: the reports of the agent",
});
export const LedgerEntry = Strict(
  {
    seq: Type.Integer({ minimum: 1, description: "order in which the turns were first counted" }),
    turn_id: Type.String({ description: "id of the turn" }),
    request_id: Nullable(
      Type.String({ description: "id of the turn's request or reminder; null without one" }),
    ),
    wake_reason: WakeReason,
    tool: ToolName,
    source: LedgerSource,
    status: TranscriptStatus,
    covered: Type.Boolean({
      description: "false: the tool reports no tokens of this turn, so `usage` is empty",
    }),
    usage: Type.Array(TokenUsage, { maxItems: maxTurnModels, description: "by model" }),
    started_at_utc: describe(Timestamp, "when the turn began"),
    ended_at_utc: Nullable(describe(Timestamp, "when the turn ended; null when unknown")),
  },
  { description: "one turn of an agent and what it used" },
);
export type LedgerEntry = Static<typeof LedgerEntry>;

export const LedgerPage = Strict(
  {
    schema_version: SchemaVersion1,
    entries: Type.Array(LedgerEntry, { maxItems: maxPage, description: "newest first" }),
    next: Nullable(Type.Integer({ description: "`before` of the next page; null on the last one" })),
  },
  { description: "turns of an agent and what they used, newest first" },
);
export type LedgerPage = Static<typeof LedgerPage>;

const groupCounts = {
  turns: Type.Integer({ minimum: 0, description: "a turn of several models counts with its first one" }),
  turns_not_covered: Type.Integer({ minimum: 0, description: "turns without a token count" }),
  ...counts,
};

/** Turns of one day, model and wake reason. */
export const LedgerGroup = Strict(
  {
    day: Type.String({ description: "day on which the turns began, in UTC", examples: ["2026-11-25"] }),
    model: Nullable(Type.String({ description: "name of the model; null when the tool names none" })),
    wake_reason: WakeReason,
    tool: ToolName,
    source: LedgerSource,
    ...groupCounts,
  },
  { description: "turns of one day, model and wake reason" },
);
export type LedgerGroup = Static<typeof LedgerGroup>;

export const LedgerSummary = Strict(
  {
    schema_version: SchemaVersion1,
    since_utc: Nullable(SinceTime),
    groups: Type.Array(LedgerGroup, { maxItems: maxListed, description: "the newest day first" }),
  },
  { description: "what the turns of an agent used" },
);
export type LedgerSummary = Static<typeof LedgerSummary>;

const period = {
  since: Type.Optional(
    Type.String({
      ...moment,
      description: "only turns that began at or after this time, RFC 3339 with its offset",
    }),
  ),
  until: Type.Optional(Type.String({ ...moment, description: "only turns that began before this time" })),
};

/** The ledger of one agent, at its gateway. */
export const ledgerEndpoints = {
  ledger: endpoint({
    method: "GET",
    path: "/v1/ledger",
    summary: "What each turn of the agent used, newest first",
    description:
      "The counts are those of the tool; each turn is counted once, however often it is read. Calls outside turns, such as titles of conversations, are in no entry unless the tool counts them with the turn.",
    query: Strict({
      limit: Type.Integer({
        minimum: 1,
        maximum: maxPage,
        default: 100,
        description: "at most this many turns",
      }),
      before: Type.Optional(
        Type.Integer({ minimum: 1, description: "only entries before the one with this `seq`" }),
      ),
      ...period,
    }),
    status: 200,
    response: LedgerPage,
    errors: { 422: RefusedOrInvalid },
  }),
  ledgerSummary: endpoint({
    method: "GET",
    path: "/v1/ledger/summary",
    summary: "What the turns of the agent used, by day, model and wake reason",
    query: Strict(period),
    status: 200,
    response: LedgerSummary,
    errors: { 422: RefusedOrInvalid },
  }),
} as const;
