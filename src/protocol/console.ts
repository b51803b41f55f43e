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
 * The console in a browser: how it signs in, and what it gets beyond the routes that every client has
 * (additional).
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
      description: "not_needed: this server asks nobody for a token",
    }),
    version: Type.String({ description: "version of svc" }),
  },
  { description: "whom the console talks to, and how it signed in; 401 when it has to sign in first" },
);
export type ConsoleSession = Static<typeof ConsoleSession>;

export const SignInCode = Strict(
  {
    schema_version: SchemaVersion1,
    sign_in_path: Type.String({ description: "path and query of the one-time link on this server" }),
    expires_at_utc: describe(Timestamp, "when it is worth nothing any more"),
  },
  { description: "good for one browser, once" },
);
export type SignInCode = Static<typeof SignInCode>;

export const SignedOut = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("sign_out"),
  },
  { description: "the cookie is worth nothing any more" },
);

// ---- Screens, rendered on the server
// -----------------------------------------------------------------------------

const colour = (of: string) =>
  Type.Optional(
    Type.String({
      pattern: "^(?:palette:(?:\\d{1,2}|1\\d\\d|2[0-4]\\d|25[0-5])|#[0-9a-f]{6})$",
      description: `${of}: palette:0 to palette:255 or #rrggbb; the terminal's own when left out`,
    }),
  );
const yes = (what: string) => Type.Optional(Type.Literal(true, { description: what }));

export const ScreenRun = Strict(
  {
    text: Type.String({ description: "without control and bidi characters; may be empty" }),
    foreground: colour("colour of the text"),
    background: colour("colour behind it"),
    bold: yes("bold"),
    dim: yes("dim"),
    italic: yes("italic"),
    underline: yes("underlined"),
    inverse: yes("foreground and background are exchanged"),
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
/** What changed on the screen of one agent. Rows that are not named are as before. */
export const ScreenUpdate = Strict(
  {
    kind: Type.Literal("screen"),
    agent_id: AgentId,
    at_utc: EventTime,
    epoch: Type.Integer({ minimum: 0, description: "which instance of the agent" }),
    revision: Type.Integer({ minimum: 1, description: "grows with each picture; may leave gaps" }),
    whole: Type.Boolean({
      description: "true: forget all earlier rows; every row that is not blank is here",
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
    rows: Type.Array(ScreenRow, { maxItems: maxPage, description: "those that changed, from the top" }),
  },
  { description: "the screen of one agent, or the rows of it that changed" },
);
export type ScreenUpdate = Static<typeof ScreenUpdate>;

/** Its screen cannot be shown at the moment; a later `screen` begins again with `whole`. */
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

/** Screens that one server reads at the same time for all who look; the others are `screen_absent`. */
export const maxScreens = 64;

export const ScreensQuery = Strict({
  agents: agentIds(maxScreens, `ids of at most ${maxScreens} agents, separated by commas`),
});

// ---- The typing lease
// --------------------------------------------------------------------------------------------

/**
 * The right of one person to type into the agent's terminal. While it is held the queue, reminders and the
 * notifier start nothing: their requests wait with the reason `typing_lease`.
 */
/** Without a key for this long a lease ends. */
export const leaseIdleSeconds = 60;
/** It ends after this long, whatever is typed. */
export const leaseLongestSeconds = 1800;

export const LeaseRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    holder: NonBlank("who will type, shown to everybody", { maxLength: 80 }),
    take_over: Type.Optional(
      Type.Boolean({ description: "also when somebody else has it: that person's lease ends" }),
    ),
  },
  { description: "who wants to type by hand" },
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
  { description: "who types by hand now" },
);
export type LeaseState = Static<typeof LeaseState>;

/** Characters of one piece of typing. */
const maxTyped = 16_384;

export const TypeRequest = Strict(
  {
    schema_version: Type.Optional(SchemaVersion1),
    lease_id: NonBlank("of the lease"),
    text: Type.String({
      maxLength: maxTyped,
      description: "what the keyboard sent, control characters and escape sequences as they are",
    }),
    release: Type.Optional(Type.Boolean({ description: "give the lease back afterwards" })),
  },
  { description: "a piece of typing" },
);
export type TypeRequest = Static<typeof TypeRequest>;

export const TypeResult = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("type"),
    lease: Nullable(TypingLease),
  },
  { description: "it was typed" },
);
export type TypeResult = Static<typeof TypeResult>;

// ---- The live terminal
// -------------------------------------------------------------------------------------------

/** The live terminal at a gateway; see `TerminalMessage`. */
export const gatewaySocketPath = "/v1/terminal/socket";
/** The same at the coordinator. */
export const coordinatorSocketPath = "/svc/agents/:agent_ref/gateway/terminal/socket";

/**
 * A WebSocket at `coordinatorSocketPath` or `gatewaySocketPath`. Binary messages are bytes for the terminal,
 * in order. Text messages are one value of `TerminalMessage` (from the server) or `ViewerMessage` (from the
 * viewer) as JSON.
 *
 * After each `picture` the viewer resets its terminal, gives it the size and writes what follows: the bytes
 * begin with the whole picture. A viewer never resizes the pane.
 */
export const TerminalMessage = Type.Union([
  Strict({
    kind: Type.Literal("picture"),
    why: StringEnum(["first", "resized", "skipped", "repaint"], {
      description: "skipped: this viewer was too slow; what lay between is not sent",
    }),
    width: Type.Integer({ minimum: 1 }),
    height: Type.Integer({ minimum: 1 }),
    epoch: Type.Integer({ minimum: 0 }),
  }),
  Strict({
    kind: Type.Literal("lease"),
    lease: Nullable(TypingLease),
    mine: Type.Boolean({ description: "whether this viewer holds it" }),
  }),
  Strict({
    kind: Type.Literal("refused"),
    detail: Type.String({ description: "why the last thing this viewer sent was not carried out" }),
  }),
  Strict({ kind: Type.Literal("ended"), reason: Type.String({ description: "nothing more comes" }) }),
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
