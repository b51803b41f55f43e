import { type Static, Type } from "@sinclair/typebox";
import { AgentId, AgentName, EventTime, ToolName } from "./fields.ts";
import { TypingLease } from "./gateway.ts";
import {
  agentIds,
  describe,
  maxListed,
  maxPage,
  NonBlank,
  Nullable,
  SchemaVersion1,
  Strict,
  StringEnum,
  shortList,
  Timestamp,
} from "./wire.ts";

/**
 * The browser console: sign-in, rendered screens, the typing lease and the live terminal (additional).
 */

export const ConsoleSession = Strict(
  {
    schema_version: SchemaVersion1,
    surface: StringEnum(["coordinator", "gateway"], {
      description: "coordinator: all agents; gateway: the one agent that it serves, under /v1",
    }),
    agent: Nullable(
      Strict(
        { agent_id: AgentId, agent_name: AgentName, tool: ToolName },
        { description: "the agent of this gateway; null at a coordinator" },
      ),
    ),
    signed_in: StringEnum(["not_needed", "cookie", "bearer"], {
      description: "not_needed: this server requires no token",
    }),
    version: Type.String({ description: "version of svc" }),
  },
  { description: "the server of the console, and how it signed in; 401 when it must sign in first" },
);
export type ConsoleSession = Static<typeof ConsoleSession>;

export const SignInCode = Strict(
  {
    schema_version: SchemaVersion1,
    sign_in_path: Type.String({ description: "path and query of the one-time link on this server" }),
    expires_at_utc: describe(Timestamp, "when the link expires"),
  },
  { description: "a sign-in link for one browser, valid once" },
);
export type SignInCode = Static<typeof SignInCode>;

export const SignedOut = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("sign_out"),
  },
  { description: "the cookie is invalid from now on" },
);

// Screens that the server renders.

const colour = (of: string) =>
  Type.Optional(
    Type.String({
      pattern: "^(?:palette:(?:\\d{1,2}|1\\d\\d|2[0-4]\\d|25[0-5])|#[0-9a-f]{6})$",
      description: `${of}: palette:0 to palette:255 or #rrggbb; the terminal's own when left out`,
    }),
  );
const optionalTrue = (description: string) => Type.Optional(Type.Literal(true, { description }));

export const ScreenRun = Strict(
  {
    text: Type.String({ description: "without control and bidi characters; may be empty" }),
    foreground: colour("colour of the text"),
    background: colour("colour behind it"),
    bold: optionalTrue("bold"),
    dim: optionalTrue("dim"),
    italic: optionalTrue("italic"),
    underline: optionalTrue("underlined"),
    inverse: optionalTrue("foreground and background are exchanged"),
  },
  { description: "text of one style" },
);
export type ScreenRun = Static<typeof ScreenRun>;

export const ScreenRow = Strict(
  {
    row: Type.Integer({ minimum: 0, description: "from the top, 0 first" }),
    runs: Type.Array(ScreenRun, {
      ...shortList,
      description: "left to right; blanks at the end are left out",
    }),
  },
  { description: "one row of a screen" },
);
/** The changed rows of an agent's screen; the other rows are unchanged. */
export const ScreenUpdate = Strict(
  {
    kind: Type.Literal("screen"),
    agent_id: AgentId,
    at_utc: EventTime,
    epoch: Type.Integer({ minimum: 0, description: "epoch of the agent's instance" }),
    revision: Type.Integer({ minimum: 1, description: "grows with each picture; may leave gaps" }),
    whole: Type.Boolean({
      description: "true: discard all earlier rows; `rows` has every row that is not blank",
    }),
    width: Type.Integer({ minimum: 1, maximum: maxListed, description: "columns" }),
    height: Type.Integer({ minimum: 1, maximum: maxPage, description: "rows" }),
    cursor: Type.Union(
      [
        Strict({
          row: Type.Integer({ description: "from 0" }),
          column: Type.Integer({ description: "from 0" }),
        }),
        Type.Null(),
      ],
      { description: "null when it is not known" },
    ),
    rows: Type.Array(ScreenRow, { maxItems: maxPage, description: "the changed rows, from the top" }),
  },
  { description: "the screen of one agent, or its changed rows" },
);
export type ScreenUpdate = Static<typeof ScreenUpdate>;

/** The screen of an agent cannot be shown now; the next `screen` event has `whole`. */
export const ScreenAbsent = Strict(
  {
    kind: Type.Literal("screen_absent"),
    agent_id: AgentId,
    at_utc: EventTime,
    reason: Type.String({ description: "why, one sentence" }),
  },
  {
    description: "an agent whose screen cannot be shown",
    examples: [
      {
        kind: "screen_absent",
        agent_id: "5f4dcc3b5aa765d61d8327deb882cf99",
        at_utc: "2026-11-21T04:47:00.000+00:00",
        reason: "no gateway runs for this agent",
      },
    ],
  },
);
export type ScreenAbsent = Static<typeof ScreenAbsent>;

export const ScreenEvent = Type.Union([ScreenUpdate, ScreenAbsent], {
  description: "what the screen of one agent shows, or why it cannot be shown",
});
export type ScreenEvent = Static<typeof ScreenEvent>;

export const screenEventKinds = {
  screen: "the screen of an agent, or its rows that changed",
  screen_absent: "the screen of an agent cannot be shown, and why",
} as const;

/** Screens that one server reads at the same time for all viewers; the others are `screen_absent`. */
export const maxScreens = 64;

export const ScreensQuery = Strict({
  agents: agentIds(maxScreens, `ids of at most ${maxScreens} agents, separated by commas`),
});

// The typing lease: the right of one person to type into the agent's terminal. Meanwhile requests of the
// queue, reminders and the notifier wait with the reason `typing_lease`.

/** A lease ends after this long without a key. */
export const leaseIdleSeconds = 60;
/** A lease ends after this long in any case. */
export const leaseMaxSeconds = 1800;

export const LeaseRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    holder: NonBlank("who will type, shown to everybody", { maxLength: 80 }),
    take_over: Type.Optional(
      Type.Boolean({
        description:
          "take the lease from its holder; without it, the request is refused while another person holds it",
      }),
    ),
  },
  { description: "a person who wants to type by hand" },
);
export type LeaseRequest = Static<typeof LeaseRequest>;

export const LeaseGrant = Strict(
  {
    schema_version: SchemaVersion1,
    lease_id: Type.String({ description: "a secret: it lets a client type" }),
    lease: TypingLease,
  },
  { description: "the right to type, with the id that proves it" },
);
export type LeaseGrant = Static<typeof LeaseGrant>;

export const LeaseState = Strict(
  { schema_version: SchemaVersion1, lease: Nullable(TypingLease) },
  { description: "the typing lease; null when nobody holds it" },
);
export type LeaseState = Static<typeof LeaseState>;

/** Characters of one piece of typing. */
const maxTyped = 16_384;

export const TypeRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    lease_id: NonBlank("id of the lease"),
    text: Type.String({
      maxLength: maxTyped,
      description: "what the keyboard sent, control characters and escape sequences as they are",
    }),
    release: Type.Optional(Type.Boolean({ description: "give the lease back afterwards" })),
  },
  { description: "text that a person typed" },
);
export type TypeRequest = Static<typeof TypeRequest>;

export const TypeResult = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("type"),
    lease: Nullable(TypingLease),
  },
  { description: "the text was typed" },
);
export type TypeResult = Static<typeof TypeResult>;

// The live terminal.

/** The live terminal at a gateway; see `TerminalMessage`. */
export const gatewaySocketPath = "/v1/terminal/socket";
/** The same at the coordinator. */
export const coordinatorSocketPath = "/svc/agents/:agent_ref/gateway/terminal/socket";

/**
 * A WebSocket at `coordinatorSocketPath` or `gatewaySocketPath`. Binary messages are bytes for the terminal,
 * in order. Text messages are one value of `TerminalMessage` (from the server) or `ViewerMessage` (from the
 * viewer) as JSON.
 *
 * After each `picture` the viewer resets its terminal and sets its size. The bytes that follow begin with the
 * whole screen. A viewer never resizes the pane.
 */
export const TerminalMessage = Type.Union([
  Strict({
    kind: Type.Literal("picture"),
    why: StringEnum(["first", "resized", "skipped", "repaint"], {
      description: "skipped: this viewer was too slow and missed output",
    }),
    width: Type.Integer({ minimum: 1 }),
    height: Type.Integer({ minimum: 1 }),
    epoch: Type.Integer({ minimum: 0 }),
  }),
  Strict({
    kind: Type.Literal("lease"),
    lease: Nullable(TypingLease),
    mine: Type.Boolean({ description: "whether this viewer holds the lease" }),
  }),
  Strict({
    kind: Type.Literal("refused"),
    detail: Type.String({ description: "why the last message of this viewer was refused" }),
  }),
  Strict({
    kind: Type.Literal("ended"),
    reason: Type.String({ description: "why the terminal has ended; no message follows" }),
  }),
]);
export type TerminalMessage = Static<typeof TerminalMessage>;

export const ViewerMessage = Type.Union([
  Strict({
    kind: Type.Literal("type"),
    text: Type.String({
      minLength: 1,
      maxLength: maxTyped,
      description: "only while this viewer holds the lease",
    }),
  }),
  Strict({
    kind: Type.Literal("take_lease"),
    holder: NonBlank("who will type", { maxLength: 80 }),
    take_over: Type.Optional(Type.Boolean()),
  }),
  Strict({ kind: Type.Literal("release_lease") }),
]);
export type ViewerMessage = Static<typeof ViewerMessage>;
