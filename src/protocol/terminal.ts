import { type Static, Type } from "@sinclair/typebox";
import {
  AgentId,
  AgentName,
  EventTime,
  ManifestPath,
  RecordingTime,
  SessionRoot,
  TerminalId,
  ToolName,
} from "./fields.ts";
import { describe, maxPage, NonBlank, Nullable, Strict, StringEnum, shortList, Timestamp } from "./wire.ts";

/** The terminal state record and its parts. Source: contract 2.4; spec/terminal.md 1. */

export const Tri = StringEnum(["yes", "no", "unknown"], { description: "unknown: the screen does not say" });
export const Availability = StringEnum(["available", "unavailable", "tui_down", "error", "unknown"], {
  description: "whether the terminal could be captured and read",
});
export type Availability = Static<typeof Availability>;
export const TransportState = StringEnum(["tmux_up", "tmux_missing", "probe_error"], {
  description: "whether tmux has the agent's session",
});
export const ProcessState = StringEnum(["tui_up", "tui_down", "unsupported_tool", "probe_error", "unknown"], {
  description: "whether the tool runs in the pane",
});
export const ParseStatus = StringEnum(
  ["parsed", "skipped_tui_down", "unsupported_tool", "transport_unavailable", "probe_error", "parse_error"],
  { description: "whether the screen was read, or why not" },
);

export const TrackedSession = Strict(
  {
    tracked_session_id: Type.String({ description: "id of the session whose terminal is followed" }),
    session_name: Type.String({ description: "tmux session of a terminal agent; null for a headless one" }),
    tool: ToolName,
    observed_tool_version: Nullable(
      Type.String({ description: "version that the tool's banner shows; null before it was seen" }),
    ),
    tool_version_proved: Type.Optional(
      Type.Boolean({
        description:
          "whether the tool's profile was proved on the observed version; absent while that is not known",
      }),
    ),
    tmux_session_name: Type.String({ description: "tmux session of the agent; null when it has none" }),
    tmux_window_name: Nullable(
      Type.String({ description: "tmux window of the agent; null when it has none" }),
    ),
    terminal_aliases: Type.Array(Type.String(), {
      ...shortList,
      description: "other ids of the terminal; empty here",
    }),
    agent_name: Nullable(AgentName),
    agent_id: Nullable(AgentId),
    manifest_path: Nullable(ManifestPath),
    session_root: Nullable(SessionRoot),
  },
  { description: "the session whose terminal is followed" },
);
export type TrackedSession = Static<typeof TrackedSession>;

export const ProbeError = Strict(
  {
    kind: Type.String({ description: "kind of the error" }),
    message: Type.String({ description: "one line for people" }),
    details: Type.Record(Type.String(), Type.String(), { description: "further facts, by name" }),
  },
  { description: "a failure to capture or read the terminal" },
);
export type ProbeError = Static<typeof ProbeError>;

export const TerminalDiagnostics = Strict(
  {
    availability: describe(Availability, "the conclusion from the other fields"),
    transport_state: TransportState,
    process_state: ProcessState,
    parse_status: ParseStatus,
    probe_error: Nullable(describe(ProbeError, "why the terminal could not be captured; null when it was")),
    parse_error: Nullable(describe(ProbeError, "why the screen could not be read; null when it was")),
  },
  { description: "whether the terminal could be reached, found and read" },
);
export type TerminalDiagnostics = Static<typeof TerminalDiagnostics>;

export const ProbeSnapshot = Strict(
  {
    observed_at_utc: describe(Timestamp, "when the terminal was captured"),
    pane_id: Type.String({ description: "tmux pane of the agent" }),
    pane_pid: Type.Integer({ description: "process id of the pane's first process" }),
    captured_text_hash: Type.String({ description: "sha1 of the raw capture" }),
    captured_text_length: Type.Integer({ description: "characters of the capture" }),
    captured_text_excerpt: Type.String({ description: "the last 4000 characters" }),
    matched_process_names: Type.Array(Type.String(), {
      ...shortList,
      description: "processes below the pane that are the tool",
    }),
  },
  { description: "one capture of the terminal" },
);
export type ProbeSnapshot = Static<typeof ProbeSnapshot>;

export const BusinessState = StringEnum(["idle", "working", "awaiting_operator", "unknown"], {
  description: "activity of the tool, as the parser reads the screen",
});
export const InputMode = StringEnum(["freeform", "modal", "closed", "unknown"], {
  description: "how the tool takes input",
});

export const ParsedSurface = Strict(
  {
    parser_family: Type.String({ description: "name of the parser" }),
    parser_preset_id: Nullable(Type.String({ description: "tool profile of the parser; null without one" })),
    parser_preset_version: Nullable(
      Type.String({ description: "version of that profile; null without one" }),
    ),
    availability: StringEnum(["supported", "unsupported", "disconnected", "unknown"], {
      description: "whether the parser knows this screen",
    }),
    business_state: BusinessState,
    input_mode: InputMode,
    ui_context: Type.String({
      description:
        "normal_prompt, selection_menu, slash_command, trust_prompt, approval_dialog, startup_modal, error_banner, unknown; open set",
    }),
    normalized_projection_text: Type.String({ description: "the screen without its decoration" }),
    dialog_text: Type.String({ description: "the conversation as shown" }),
    dialog_head: Type.String({ description: "the first lines of the dialog" }),
    dialog_tail: Type.String({ description: "the last lines of the dialog" }),
    anomaly_codes: Type.Array(Type.String(), {
      ...shortList,
      description: "anomalies that the parser found on the screen",
    }),
    baseline_invalidated: Type.Boolean({
      description: "whether the screen no longer follows from the one before",
    }),
    operator_blocked_excerpt: Nullable(
      Type.String({ description: "the text that waits for a person; null without one" }),
    ),
  },
  { description: "what the parser read from the screen" },
);
export type ParsedSurface = Static<typeof ParsedSurface>;

const verdictTexts = {
  accepting_input: "whether the tool takes typed input now",
  editing_input: "whether a draft is in the composer",
  ready_posture: "whether the screen looks ready for a prompt",
  pending_input: "whether the tool visibly holds submitted input behind its turn",
} as const;

export const Surface = Strict(
  {
    accepting_input: describe(Tri, verdictTexts.accepting_input),
    editing_input: describe(Tri, verdictTexts.editing_input),
    ready_posture: describe(Tri, verdictTexts.ready_posture),
    pending_input: describe(Tri, verdictTexts.pending_input),
  },
  { description: "four verdicts about the screen" },
);
export type Surface = Static<typeof Surface>;

export const TurnPhase = StringEnum(["ready", "active", "unknown"], {
  description: "whether a turn runs",
});
export type TurnPhase = Static<typeof TurnPhase>;

export const LastTurn = Strict(
  {
    result: StringEnum(["success", "interrupted", "known_failure", "none"], { description: "how it ended" }),
    source: StringEnum(["explicit_input", "surface_inference", "none"], {
      description:
        "explicit_input: a known prompt began the turn; surface_inference: only the screen shows the turn",
    }),
    updated_at_utc: Nullable(describe(Timestamp, "when the result was decided; null without a result")),
  },
  { description: "how the newest turn ended, and the source of that" },
);
export type LastTurn = Static<typeof LastTurn>;

export const ChatContext = StringEnum(["current", "degraded", "unknown"], {
  description:
    "whether the conversation still has its whole context; degraded: the tool showed that some was lost",
});

export const ChatContextDiagnostic = Strict(
  {
    tool_name: Type.String({ description: "the tool that showed it" }),
    detector_name: Type.String({ description: "the rule that recognized it" }),
    detector_version: Type.String({ description: "version of that rule" }),
    degraded_error_type: Type.String({
      description: "which kind of degradation the tool showed; null when none",
    }),
    message_preview: Type.String({ description: "one line, at most 240 characters" }),
  },
  { description: "how a degraded context was recognized" },
);
export type ChatContextDiagnostic = Static<typeof ChatContextDiagnostic>;

export const Stability = Strict(
  {
    signature: Type.String({ description: "sha1 of the visible state" }),
    stable: Type.Boolean({ description: "whether the visible state has not changed for long enough" }),
    stable_for_seconds: Type.Number({ description: "seconds since the last change" }),
    stable_since_utc: describe(Timestamp, "when it last changed"),
    screen_since_utc: Type.Optional({
      ...Timestamp,
      description: "last change of the screen or the pane title; absent while the screen cannot be read",
    }),
    witness: Type.Optional(
      StringEnum(["screen", "tool", "both"], {
        description:
          "what proves that the state is stable; screen: it has not changed; tool: the tool reported the end of its turn; absent while it is not stable",
      }),
    ),
  },
  { description: "how long the visible state has not changed" },
);
export type Stability = Static<typeof Stability>;

/**
 * Confirmation of a screen of an unproved tool version, one that the profile was not proved on (additional;
 * ruling 17).
 */
export const SecondWitness = Strict(
  {
    by: Nullable(
      StringEnum(["turn_ended", "session_started", "still_screen", "still_readings"], {
        description: "the confirming fact; null without one, and no queued prompt is typed then",
      }),
    ),
    missing: Nullable(Type.String({ description: "what is missing, and the command that works without it" })),
  },
  { description: "confirmation of a screen of an unproved tool version" },
);
export type SecondWitness = Static<typeof SecondWitness>;

export const DecisionOption = Strict(
  {
    index: Type.Integer({ description: "position from 1, as shown" }),
    text: Type.String({ description: "the text as shown" }),
    selected: Type.Boolean({ description: "whether the cursor is on it" }),
    description: Type.Optional(Type.String({ description: "the tool's description of the option" })),
    checked: Type.Optional(
      Type.Boolean({
        description:
          "for a question with several choices: whether the option is checked; choosing it toggles the check and leaves the question open",
      }),
    ),
  },
  { description: "one choice of a question" },
);

/** A question that a person must answer before the agent can continue (additional; ruling 17). */
export const AwaitingDecision = Strict(
  {
    kind: Type.String({ description: "approval_dialog, trust_prompt, selection_menu, startup_modal, ..." }),
    question: Type.String({ description: "in the tool's words; empty when it could not be read" }),
    options: Type.Array(DecisionOption, { ...shortList, description: "what can be chosen, as shown" }),
    header: Type.Optional(
      Type.String({ description: "the heading above the question, such as the pages of several questions" }),
    ),
    id: Type.Optional(
      Type.String({
        description:
          "id of this question, which survives restarts of the gateway; a later question has another id, even with the same words",
      }),
    ),
    since_utc: Type.Optional({ ...Timestamp, description: "when the gateway first saw it" }),
    reported: Type.Optional(
      Strict(
        {
          message: Nullable(Type.String({ description: "at most 2000 characters" })),
          action: Nullable(Type.String({ description: "the tool call that asks, such as `Bash`" })),
        },
        { description: "the tool's report of the question; absent without one" },
      ),
    ),
    unread: Type.Optional(
      Type.String({ description: "which part could not be read; absent when all was read" }),
    ),
    keys: Type.Optional(
      Type.Array(Type.String(), {
        ...shortList,
        description: "keys that answer a question that was not read in full, as `<[Key]>` of send-keys",
      }),
    ),
    opened_by: Type.Optional(
      StringEnum(["person"], {
        description:
          "person: a list that a person opened at the terminal; absent for a question of the agent",
      }),
    ),
  },
  { description: "a question that the tool asks a person" },
);
export type AwaitingDecision = Static<typeof AwaitingDecision>;

/** The question of the agent; null for a list that a person opened at its terminal. */
export function agentQuestion(decision: AwaitingDecision | null | undefined): AwaitingDecision | null {
  return decision && decision.opened_by === undefined ? decision : null;
}

/** A usage limit that the tool shows and that has not ended (additional; ruling 17). */
export const Parked = Strict(
  {
    notice: Type.String({ description: "the limit in the tool's own words" }),
    until: Nullable(describe(Timestamp, "when the limit ends; null when the tool does not say")),
  },
  { description: "a usage limit that holds the agent" },
);
export type Parked = Static<typeof Parked>;

export const Transition = Strict(
  {
    recorded_at_utc: RecordingTime,
    summary: Type.String({ description: "field: old -> new; ..." }),
    changed_fields: Type.Array(Type.String(), {
      ...shortList,
      description: "names of the fields that changed",
    }),
    diagnostics_availability: describe(Availability, "availability after the change"),
    surface_pending_input: describe(Tri, "pending input after the change"),
    turn_phase: describe(TurnPhase, "whether a turn ran then"),
    last_turn_result: LastTurn.properties.result,
    last_turn_source: LastTurn.properties.source,
    transport_state: TransportState,
    process_state: ProcessState,
    parse_status: ParseStatus,
  },
  { description: "one change of the terminal state" },
);
export type Transition = Static<typeof Transition>;

const observedFields = {
  diagnostics: TerminalDiagnostics,
  probe_snapshot: Nullable(ProbeSnapshot),
  parsed_surface: Nullable(ParsedSurface),
  surface: Surface,
  turn: Strict({ phase: TurnPhase }, { description: "whether a turn runs" }),
  last_turn: LastTurn,
  chat_context: ChatContext,
  chat_context_diagnostic: Nullable(
    describe(ChatContextDiagnostic, "how the degraded context was recognized; null without a finding"),
  ),
  stability: Stability,
  second_witness: Type.Optional({
    ...SecondWitness,
    description:
      "for a screen that reads as ready; absent when the tool's version is proved or unknown, and while the screen is not ready",
  }),
  awaiting_decision: Type.Optional(AwaitingDecision),
  parked: Type.Optional({
    ...Parked,
    description: "a usage limit that holds the agent; absent without one and after its end",
  }),
  parked_until: Type.Optional({
    ...Nullable(Timestamp),
    description: "when that limit ends; null when the tool shows no time; absent without `parked`",
  }),
  background: Type.Optional(
    Type.Array(Type.String(), {
      ...shortList,
      description:
        "work that goes on beside the turns, such as a shell or a subagent; absent when none is known",
    }),
  ),
  active_reasons: Type.Optional(
    Type.Array(Type.String(), { ...shortList, description: "which facts say that the tool is busy" }),
  ),
};

/** A startup question of an unattended agent that the gateway answered by the tool profile. */
export const StartupAnswer = Strict(
  {
    question: Type.String({ description: "the question as shown" }),
    option: Type.String({ description: "the text of the chosen option" }),
    at_utc: EventTime,
  },
  { description: "a startup question of an unattended agent that the gateway answered by the tool profile" },
);
export type StartupAnswer = Static<typeof StartupAnswer>;

export const TerminalState = Strict(
  {
    terminal_id: TerminalId,
    tracked_session: describe(TrackedSession, "whose terminal it is"),
    ...observedFields,
    recent_transitions: Type.Array(Transition, { maxItems: 24, description: "newest last, at most 24" }),
    startup_answers: Type.Optional(
      Type.Array(StartupAnswer, {
        ...shortList,
        description: "startup questions that the gateway answered; absent when there was none",
      }),
    ),
  },
  { description: "what the agent's terminal shows, and the state that follows from it" },
);
export type TerminalState = Static<typeof TerminalState>;

export const TerminalHistoryEntry = Strict(
  { recorded_at_utc: RecordingTime, ...observedFields },
  { description: "one sample of the terminal" },
);
export type TerminalHistoryEntry = Static<typeof TerminalHistoryEntry>;

export const TerminalHistory = Strict(
  {
    terminal_id: TerminalId,
    tracked_session_id: Type.String({ description: "id of the session whose terminal is followed" }),
    entries: Type.Array(TerminalHistoryEntry, { maxItems: maxPage, description: "newest last" }),
  },
  { description: "samples of the terminal, newest last" },
);
export type TerminalHistory = Static<typeof TerminalHistory>;

const Reasoned = Strict({ value: Tri, reason: Type.String({ description: "why" }) });

/** Why the terminal state is what it is (additional, ruling 17). */
export const TerminalExplanation = Strict(
  {
    tool: ToolName,
    profile_version: Nullable(Type.String({ description: "null when no profile describes the tool" })),
    proved_versions: Type.Array(Type.String(), {
      ...shortList,
      description: "versions of the tool that its profile was proved on",
    }),
    tool_version: Nullable(Type.String({ description: "version in the tool's banner" })),
    surface: Strict(
      {
        accepting_input: describe(Reasoned, verdictTexts.accepting_input),
        editing_input: describe(Reasoned, verdictTexts.editing_input),
        ready_posture: describe(Reasoned, verdictTexts.ready_posture),
        pending_input: describe(Reasoned, verdictTexts.pending_input),
      },
      { description: "four verdicts about the screen" },
    ),
    title: StringEnum(["idle", "busy", "decision", "unknown"], {
      description: "state that the window title shows",
    }),
    active_reasons: Type.Array(Type.String(), {
      ...shortList,
      description: "which facts say that the tool is busy",
    }),
    fired_rules: Type.Array(
      Strict({
        rule: Type.String({ description: "name of the rule" }),
        row: Nullable(Type.Integer({ description: "row of the screen, 0 at the top" })),
        seen: Type.String({ description: "the text that matched" }),
      }),
      { ...shortList, description: "rules of the tool profile that matched the screen" },
    ),
    turn: Strict(
      { phase: TurnPhase, reason: Type.String({ description: "why" }) },
      { description: "the phase and its reason" },
    ),
    last_turn: LastTurn,
    awaiting_decision: Nullable(AwaitingDecision),
    prompt_ready: Strict(
      {
        holds: Type.Boolean({ description: "whether all conditions hold" }),
        failing: Type.Array(Type.String(), { ...shortList, description: "name=value" }),
      },
      { description: "whether a direct prompt would be accepted, and which conditions fail" },
    ),
    second_witness: Type.Optional(
      describe(
        SecondWitness,
        "confirmation that the screen needs before the agent counts as ready; absent when it needs none",
      ),
    ),
    reports: Strict(
      {
        absence: Nullable(Type.String({ description: "why the tool cannot report; null when it can" })),
        received: Type.Integer({ description: "reports since the gateway started" }),
        session_id: Nullable(Type.String({ description: "the tool's id of the conversation in the pane" })),
        last: Nullable(
          Strict(
            { kind: Type.String({ description: "what kind it is" }), at_utc: EventTime },
            { description: "the newest report; null before the first" },
          ),
        ),
        contradictions: Type.Array(Type.String(), {
          ...shortList,
          description: "reports that were not believed or that the screen contradicts; newest last",
        }),
      },
      { description: "the reports of the tool" },
    ),
  },
  { description: "why the terminal state is what it is" },
);
export type TerminalExplanation = Static<typeof TerminalExplanation>;

export const defaultTimings = {
  watch_poll_interval_seconds: 0.5,
  stability_threshold_seconds: 1,
  completion_stability_seconds: 1,
  unknown_to_stalled_timeout_seconds: 30,
  stale_active_recovery_seconds: 5,
  final_stable_active_recovery_seconds: 20,
};

const timing = (name: keyof typeof defaultTimings, text: string) =>
  Type.Number({ exclusiveMinimum: 0, description: `${text}; default ${defaultTimings[name]}` });

/** The six timings, seconds, each greater than zero (contract 4.4 rule 7; spec/terminal.md 2). */
export const TrackingTimings = Strict({
  watch_poll_interval_seconds: timing(
    "watch_poll_interval_seconds",
    "longest gap between samples while unsettled",
  ),
  stability_threshold_seconds: timing(
    "stability_threshold_seconds",
    "visible state unchanged this long is stable",
  ),
  completion_stability_seconds: timing("completion_stability_seconds", "a success must hold this long"),
  unknown_to_stalled_timeout_seconds: timing(
    "unknown_to_stalled_timeout_seconds",
    "an unknown surface this long is stalled",
  ),
  stale_active_recovery_seconds: timing(
    "stale_active_recovery_seconds",
    "recovery from a stale busy verdict",
  ),
  final_stable_active_recovery_seconds: timing(
    "final_stable_active_recovery_seconds",
    "recovery when the screen did not change",
  ),
});
export type TrackingTimings = Static<typeof TrackingTimings>;

/** The answer to a question of the agent (additional; ruling 17). */
export const DecisionAnswer = Strict(
  {
    schema_version: Type.Optional(Type.Literal(1, { description: "version of this shape" })),
    option: Type.Union([Type.Integer({ minimum: 1 }), NonBlank("text of the option")], {
      description: "index from 1, or the option's text without regard to case and blanks",
    }),
    question: Type.Optional(
      NonBlank("the question that was read; refused when the screen shows another one by then"),
    ),
    id: Type.Optional(
      NonBlank(
        "`awaiting_decision.id` of the question that was read; refused when another question is open by then",
      ),
    ),
  },
  { description: "which option to choose" },
);
export type DecisionAnswer = Static<typeof DecisionAnswer>;

export const DecisionResult = Strict(
  {
    status: Type.Literal("ok"),
    action: Type.Literal("decide"),
    option: Strict(
      {
        index: Type.Integer({ description: "position from 1" }),
        text: Type.String({ description: "the text as shown" }),
      },
      { description: "the option that was chosen" },
    ),
  },
  { description: "the option that was chosen" },
);
export type DecisionResult = Static<typeof DecisionResult>;

export const WaitFor = StringEnum(["ready", "busy", "decision"], {
  description:
    "ready: the agent can take a prompt and none is pending; busy: a turn runs; decision: the agent asks a question",
});
export type WaitFor = Static<typeof WaitFor>;

export const WaitResult = Strict(
  {
    schema_version: Type.Literal(1),
    for: WaitFor,
    satisfied: Type.Boolean({ description: "false when the time limit ended the wait" }),
    waited_seconds: Type.Number({ description: "how long it took" }),
    state: describe(TerminalState, "the state of the terminal at the answer"),
  },
  { description: "whether the state was reached, and the state now" },
);
export type WaitResult = Static<typeof WaitResult>;
