import type { TerminalState } from "../../src/protocol/terminal.ts";
import type { DispatchDeps } from "../../src/services/agent/dispatch.ts";
import type { PromptNote, TerminalView } from "../../src/services/agent/terminal-view.ts";
import { profileFor } from "../../src/services/terminal/profiles/profile.ts";
import { createFakeAgent } from "./fake-agent.ts";
import { createFakeClock } from "./fake-clock.ts";
import { giveTerminal } from "./fake-terminal.ts";

interface FakeComposerOptions {
  /** Typed by a person at the very moment of our paste. */
  person?: string;
  /** Typed by a person right after it. */
  after?: string;
  /** Typed by a person, and drawn, after the look before Enter. */
  afterLook?: string;
  /** Typed by a person so late that the tool has not drawn it at Enter. */
  undrawn?: string;
  /** The cursor is behind all that the composer shows; else all behind our text may be a hint. */
  cursorAtEnd?: boolean;
  /** How many of our first Enters the tool swallows. */
  swallows?: number;
  /** Typed by a person right after the first Enter. */
  afterEnter?: string;
  /** Instead of the text this stands in the composer right after the first Enter. */
  replacedBy?: string;
  /** It had been taken all the same, and the tool is seen to work so many ms after that Enter. */
  worksAfterMs?: number;
  /** Stands there from the start. */
  draft?: string;
  /** A prompt that was taken shows no work: it is over before anybody looks. */
  quick?: boolean;
  /** The tool is killed at our paste or at Enter. */
  killed?: "paste" | "enter";
  /** The tool is started anew right after our paste, or after `starvedMs`, with an empty composer. */
  relaunched?: boolean;
  /** A menu opens over the composer at our paste. */
  menu?: boolean;
  /** The tool reads nothing, and its screen does not change, so many ms after our paste. */
  starvedMs?: number;
  /** At our paste one frame still shows the work of the turn before. */
  lateFrame?: boolean;
  /** The tool works on another turn all the while. */
  busy?: boolean;
  /** The tool reads a text that begins with `!` as a shell line, whatever stands before it. */
  shellLines?: boolean;
  /**
   * What C-u does while the cursor is not at the end: spare the last letter (vim's normal mode) or nothing
   * (the cursor is at the start). `always`: nothing anywhere.
   */
  stubborn?: "spares_last" | "at_start" | "always";
  /** What the tool's banner says. */
  version?: string;
  /** What the tool reports at our paste, or at the first Enter. */
  reports?: { at: "paste" | "enter"; text: "exact" | "other"; prompt?: string };
  /**
   * A completion list opens after our paste and closes again; while it is open Enter takes its first entry.
   */
  list?: { entry: string; opensMs: number; closesMs?: number };
  /** What the transcript shows of the prompt that was taken; `conversation`: it began a new one. */
  shows?: string | "conversation";
  /** The composer never shows what was pasted. */
  blind?: boolean;
}

const shellSurface: NonNullable<TerminalState["parsed_surface"]> = {
  parser_family: "tool_profile",
  parser_preset_id: null,
  parser_preset_version: null,
  availability: "supported",
  business_state: "idle",
  input_mode: "closed",
  ui_context: "shell_mode",
  normalized_projection_text: "",
  dialog_text: "",
  dialog_head: "",
  dialog_tail: "",
  anomaly_codes: [],
  baseline_invalidated: false,
  operator_blocked_excerpt: null,
};

/** Of a screen that shows `draft`. */
function probeOf(draft: string): NonNullable<TerminalState["probe_snapshot"]> {
  return {
    observed_at_utc: "2026-01-01T00:00:00.000+00:00",
    pane_id: "%0",
    pane_pid: 1,
    captured_text_hash: draft,
    captured_text_length: 0,
    captured_text_excerpt: "",
    matched_process_names: [],
  };
}

/** A tool in memory that takes what stands in its composer at Enter. */
export function createFakeComposer(options: FakeComposerOptions = {}) {
  const { state: unseen } = giveTerminal(createFakeAgent());
  const clock = createFakeClock();
  const profile = profileFor("demo");
  if (!profile) throw new Error("no profile");
  const listeners = new Set<(state: TerminalState, change: { material: boolean }) => void>();
  const pressed: string[] = [];
  const told: string[] = [];
  const proofs: string[] = [];
  const notes: PromptNote[] = [];
  let draft = options.draft ?? "";
  let taken = false;
  let life = "one";
  let menu = false;
  let { stubborn } = options;
  let atEnd = stubborn === undefined;
  const shown = {
    offered: null as string | null,
    newestPrompt: null as string | null,
    untouched: false,
    cursorAtEnd: options.cursorAtEnd === true,
  };
  let ended = false;
  let entered = 0;
  let shell = false;
  let late = false;
  let afterLook = options.afterLook ?? "";
  let report: "exact" | "other" | null = null;
  const tellAt = (moment: "paste" | "enter") => {
    if (options.reports?.at === moment) report = options.reports.text;
  };
  let phase: TerminalState["turn"]["phase"] = "ready";
  const frame = () => (options.starvedMs === undefined ? {} : { probe_snapshot: probeOf(draft) });
  const state = (): TerminalState => ({
    ...unseen,
    ...frame(),
    tracked_session: { ...unseen.tracked_session, observed_tool_version: options.version ?? null },
    ...(shell ? { parsed_surface: shellSurface } : {}),
    diagnostics: {
      ...unseen.diagnostics,
      transport_state: "tmux_up",
      process_state: ended ? "tui_down" : "tui_up",
    },
    stability: { ...unseen.stability, stable: true },
    surface: {
      accepting_input: "yes",
      ready_posture: "yes",
      pending_input: "no",
      editing_input: shell || !(draft === "" || menu || options.blind) ? "yes" : "no",
    },
    turn: { phase: draft === "" ? phase : "unknown" },
    ...(menu ? { awaiting_decision: { kind: "selection_menu", question: "May I?", options: [] } } : {}),
    ...(options.busy || late || (taken && !options.quick) ? { active_reasons: ["status_row"] } : {}),
  });
  const show = () => {
    for (const listener of listeners) listener(state(), { material: true });
  };
  const view = {
    state,
    look: async () => state(),
    judged: state,
    readAhead: () => {},
    draft: () => draft,
    instanceId: () => life,
    promptTyped: () => {},
    typedReport: () => report,
    otherPrompt: () => options.reports?.prompt ?? null,
    shown: () => ({ ...shown, cursor: { row: 0, column: draft.length } }),
    subscribe(listener: (state: TerminalState, change: { material: boolean }) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    noteInterrupt: () => {},
    notePrompt(note: PromptNote) {
      notes.push(note);
      phase = "active";
      show();
    },
  } as unknown as TerminalView;
  const work = () => {
    taken = true;
    show();
  };
  const enter = () => {
    tellAt("enter");
    ended ||= options.killed === "enter";
    const first = entered++ === 0;
    if (entered <= (options.swallows ?? 0)) {
      if (first) draft = options.replacedBy ?? `${draft}${options.afterEnter ?? ""}`;
      if (first && options.worksAfterMs !== undefined) clock.after(options.worksAfterMs, work);
      return;
    }
    taken = draft !== "" && !ended && shown.offered === null && options.shows === undefined;
    if (options.shows === "conversation") shown.untouched = true;
    else shown.newestPrompt = shown.offered ?? options.shows ?? `${draft}${options.undrawn ?? ""}`;
    shown.offered = null;
    draft = "";
  };
  const afterClearing = (of: string) => {
    if (stubborn === "always") return of;
    if (atEnd) return "";
    return stubborn === "spares_last" ? of.slice(-1) : of;
  };
  const pane: DispatchDeps["pane"] = {
    async paste(text) {
      tellAt("paste");
      if (options.starvedMs !== undefined) {
        ended = options.killed === "paste";
        clock.after(options.starvedMs, () => {
          if (options.relaunched) life = "two";
          else draft = text;
          show();
        });
        return;
      }
      const { list } = options;
      const offer = (entry: string | null) => {
        if (draft !== "") shown.offered = entry;
        show();
      };
      if (list) clock.after(list.opensMs, () => offer(list.entry));
      if (list?.closesMs !== undefined) clock.after(list.closesMs, () => offer(null));
      draft = `${draft}${options.person ?? ""}${text}${options.after ?? ""}`;
      menu = options.menu ?? false;
      shell = options.shellLines === true && draft.trim().startsWith("!");
      if (options.relaunched) {
        draft = "";
        life = "two";
      }
      ended = options.killed === "paste";
      late = options.lateFrame === true;
      show();
      if (!late) return;
      late = false;
      show();
    },
    async keys(tokens) {
      for (const token of tokens) {
        pressed.push(token.kind === "key" ? token.name : token.text);
        if (token.kind === "key" && token.name === "Enter") enter();
        // The line is cleared with one key and left with another.
        else if (token.kind === "key" && token.name === "BSpace") shell = false;
        else if (token.kind === "text") draft = `${draft}${token.text}`;
        else if (token.name === "Escape") {
          taken = false;
          phase = "ready";
        } else if (token.name === "C-e") atEnd = true;
        else if (token.name === "C-c") draft = "";
        else draft = afterClearing(draft);
        show();
      }
    },
    async enter(at) {
      if (afterLook !== "") {
        draft = `${draft}${afterLook}`;
        afterLook = "";
        show();
      }
      if (at !== null && at.column !== draft.length) return false;
      await pane.keys([{ kind: "key", name: "Enter" }]);
      return true;
    },
    raw: async () => {},
    leaveMode: async () => false,
  };
  const deps: DispatchDeps = {
    clock,
    profile,
    view,
    pane,
    onEvidence: (evidence) => {
      told.push(evidence.step);
      proofs.push(evidence.proof);
    },
  };
  return {
    deps,
    clock,
    pressed,
    told,
    proofs,
    notes,
    draft: () => draft,
    /** The composer can be cleared from now on. */
    yieldToClearing() {
      stubborn = undefined;
      atEnd = true;
    },
    typeByHand(words: string) {
      draft = `${draft}${words}`;
      show();
    },
    /** A person takes their own words out again. */
    clearByHand() {
      draft = "";
      show();
    },
    /** The turn that was noted is over. */
    endTurn() {
      phase = "ready";
      taken = false;
      show();
    },
  };
}
