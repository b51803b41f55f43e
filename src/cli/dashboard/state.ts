import type { AttentionItem } from "../../protocol/attention.ts";
import type { Advise } from "../../protocol/remedy.ts";
import type { PersonMail } from "../../services/attention/people-mail.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import { assertNever } from "../../system/errors.ts";
import type { TerminalInput } from "../../system/terminal-input.ts";
import { type AgentRow, followPhases, type SeenPhases, toAgentRows } from "./agent-rows.ts";
import { type Draft, draftOf, edit, insert, textOf } from "./draft.ts";

/**
 * What keys mean. `list` is left for a dialog by one key and entered again by Escape, Enter or the answer:
 *
 *     list --p--> prompt    list --a--> answer    list --s--> confirm_stop    list --/--> filter    list --?--> help
 *     list --d--> drop
 */
type Mode =
  | { kind: "list" }
  | { kind: "prompt"; agent: AgentName; draft: Draft }
  /** Of this very question: another one by then closes the dialog. */
  | { kind: "answer"; agent: AgentName; item: AttentionItem }
  | { kind: "confirm_stop"; agent: AgentName }
  /** `waiting`: what waited when the person asked, the next one first; null until it is read. */
  | { kind: "drop"; agent: AgentName; waiting: readonly WaitingPrompt[] | null }
  | { kind: "filter"; draft: Draft }
  | { kind: "help" };

interface AgentName {
  id: string;
  name: string;
}

/** A prompt in the queue of an agent. */
export interface WaitingPrompt {
  requestId: string;
  from: string;
  text: string;
}

/** A command that was begun and has not ended. */
interface Running {
  number: number;
  agent: AgentName;
  /** As a clause: `stopping "worker"`. */
  what: string;
  /** Given back to the person when the command fails. */
  prompt?: string;
  /** What is seen of the agent until its end is no fault of it. */
  stops?: true;
}

export interface DashboardState {
  /** In the terms of the program that shows it. */
  advise: Advise;
  /** False until the first look. */
  loaded: boolean;
  snapshots: readonly AgentSnapshot[];
  personMail: readonly PersonMail[];
  phases: SeenPhases;
  /** All agents in their order. */
  rows: readonly AgentRow[];
  /** Waits for the person and is no agent's. */
  unowned: readonly AttentionItem[];
  /** The coordination server that hints come through. */
  source: string | null;
  filter: string;
  /** Id of the selected agent; null only while none is shown. */
  selected: string | null;
  mode: Mode;
  notice: { text: string; failed: boolean } | null;
  running: readonly Running[];
  nextNumber: number;
  /** Prompts that were not accepted or not sent, by the agent's id. */
  unsent: ReadonlyMap<string, string>;
  /** The person has left; what runs is waited for. */
  leaving: boolean;
}

export type DashboardEvent =
  | { kind: "input"; input: TerminalInput }
  | { kind: "fleet"; snapshots: readonly AgentSnapshot[] }
  | { kind: "mail"; mail: readonly PersonMail[] }
  | { kind: "source"; coordinator: string | null }
  | { kind: "warning"; text: string }
  | { kind: "queue"; agentId: string; waiting: readonly WaitingPrompt[] }
  | { kind: "ended"; number: number; failed: boolean; text: string }
  | { kind: "detached"; failed: boolean; text: string };

/** What a key does with an agent. */
export type DashboardAction =
  | { do: "prompt"; agentId: string; prompt: string }
  | { do: "interrupt" | "stop"; agentId: string }
  | { do: "withdraw"; agentId: string; requestId: string }
  | { do: "answer"; id: string; answer: string; epoch: number | null };

export type DashboardEffect =
  /** Its end comes back as `ended` with this number. */
  | { kind: "run"; number: number; action: DashboardAction }
  | { kind: "attach"; agentId: string }
  /** What waits comes back as `queue`, a failure as `warning`. */
  | { kind: "read_queue"; agentId: string }
  /** Draw the whole screen again: something else wrote to it. */
  | { kind: "repaint" }
  | { kind: "quit" };

interface Step {
  state: DashboardState;
  effects: readonly DashboardEffect[];
}

export const createInitialState = (advise: Advise): DashboardState => ({
  advise,
  loaded: false,
  snapshots: [],
  personMail: [],
  phases: new Map(),
  rows: [],
  unowned: [],
  source: null,
  filter: "",
  selected: null,
  mode: { kind: "list" },
  notice: null,
  running: [],
  nextNumber: 1,
  unsent: new Map(),
  leaving: false,
});

/**
 * The agents that the filter leaves: each of its words is in the name, the tool, the state or what waits.
 * Pure.
 */
export function shownRows({ rows, filter }: DashboardState): readonly AgentRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ name, tool, state, items }) => {
    const text = [name, tool, state, ...items.map(({ kind }) => kind)].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Pure. */
export function selectedRow(state: DashboardState): AgentRow | null {
  return state.rows.find(({ id }) => id === state.selected) ?? null;
}

/** The question of an agent that keys can answer. Pure. */
function answerable(row: AgentRow): AttentionItem | null {
  return row.items.find(({ answers }) => answers.length > 0) ?? null;
}

/** One event at a moment. Pure; never throws. */
export function reduce(state: DashboardState, event: DashboardEvent, nowMs: number): Step {
  const { state: next, effects } = apply(state, event, nowMs);
  const same =
    next.snapshots === state.snapshots &&
    next.personMail === state.personMail &&
    next.running === state.running;
  return { state: same ? next : withRows(next, shownRows(state), nowMs), effects };
}

function apply(state: DashboardState, event: DashboardEvent, nowMs: number): Step {
  switch (event.kind) {
    case "input":
      return onInput(state, event.input);
    case "fleet": {
      const { snapshots } = event;
      const phases = followPhases(state.phases, snapshots, nowMs);
      return stay({ ...state, loaded: true, snapshots, phases });
    }
    case "mail":
      return stay({ ...state, personMail: event.mail });
    case "source":
      return stay({ ...state, source: event.coordinator });
    case "warning":
      return stay({ ...state, notice: { text: event.text, failed: true } });
    case "queue":
      return stay(onQueue(state, event));
    case "ended":
      return onEnded(state, event);
    case "detached": {
      const notice = event.text === "" ? null : { text: event.text, failed: event.failed };
      return { state: { ...state, notice }, effects: [{ kind: "repaint" }] };
    }
    default:
      return assertNever(event);
  }
}

const stay = (state: DashboardState): Step => ({ state, effects: [] });
const list: Mode = { kind: "list" };

function withRows(state: DashboardState, before: readonly AgentRow[], nowMs: number): DashboardState {
  const { advise, running, snapshots, personMail, phases } = state;
  const stopping = new Set(running.flatMap(({ agent, stops }) => (stops ? [agent.id] : [])));
  const { rows, unowned } = toAgentRows({ advise, snapshots, mail: personMail, phases, stopping }, nowMs);
  return withSelection(closeOldQuestion({ ...state, rows, unowned }), before);
}

/**
 * An answer is for the question that was shown: when that is over the dialog ends, whatever is asked next.
 */
function closeOldQuestion(state: DashboardState): DashboardState {
  const { mode } = state;
  if (mode.kind !== "answer") return state;
  const items = state.rows.find(({ id }) => id === mode.agent.id)?.items ?? [];
  const item = items.find(({ id }) => id === mode.item.id);
  if (item && item.answers.length > 0 && item.epoch === mode.item.epoch)
    return { ...state, mode: { ...mode, item } };
  const text = `the question of "${mode.agent.name}" is over: it was answered, withdrawn or replaced`;
  return { ...state, mode: list, notice: { text, failed: true } };
}

/** Keeps the selected agent; where it is not shown any more, the one that took its place. */
function withSelection(state: DashboardState, before: readonly AgentRow[]): DashboardState {
  const shown = shownRows(state);
  if (shown.some(({ id }) => id === state.selected)) return state;
  const place = Math.max(
    0,
    before.findIndex(({ id }) => id === state.selected),
  );
  return { ...state, selected: shown[Math.min(place, shown.length - 1)]?.id ?? null };
}

function onEnded(state: DashboardState, { number, failed, text }: DashboardEvent & { kind: "ended" }): Step {
  const ended = state.running.find((one) => one.number === number);
  const running = state.running.filter((one) => one.number !== number);
  const unsent = new Map(state.unsent);
  if (ended?.prompt !== undefined && failed) unsent.set(ended.agent.id, ended.prompt);
  const said = ended && !text.includes(`"${ended.agent.name}"`) ? `${ended.agent.name}: ${text}` : text;
  // The next look finds it gone, and its gateway before that.
  const gone = ended?.stops && !failed ? ended.agent.id : null;
  const snapshots =
    gone === null ? state.snapshots : state.snapshots.filter(({ record }) => record.agent_id !== gone);
  const next = { ...state, running, unsent, snapshots, notice: { text: said, failed } };
  return { state: next, effects: state.leaving && running.length === 0 ? [{ kind: "quit" }] : [] };
}

function onInput(state: DashboardState, input: TerminalInput): Step {
  switch (input.kind) {
    case "text":
      return [...input.text].reduce(
        (step: Step, character) => after(step, (next) => onCharacter(next, character)),
        stay(state),
      );
    case "key":
      return onKey(state, input.name);
    case "paste":
      // In the list a pasted text would be a run of commands.
      return isTyping(state.mode)
        ? stay(withDraft(state, state.mode, insert(state.mode.draft, input.text)))
        : stay(state);
    case "paste_started":
      return stay(state);
  }
}

function after({ state, effects }: Step, go: (state: DashboardState) => Step): Step {
  const next = go(state);
  return { state: next.state, effects: [...effects, ...next.effects] };
}

type Typing = Mode & { draft: Draft };
const isTyping = (mode: Mode): mode is Typing => "draft" in mode;

function onCharacter(state: DashboardState, character: string): Step {
  const { mode } = state;
  switch (mode.kind) {
    case "prompt":
    case "filter":
      return stay(withDraft(state, mode, insert(mode.draft, character)));
    case "list":
      return onCommand({ ...state, notice: null }, character);
    case "answer":
      return character === "q" ? stay({ ...state, mode: list }) : answer(state, mode, character);
    case "confirm_stop":
      return confirmStop(state, mode.agent, /^y$/i.test(character));
    case "drop":
      return character === "q" ? stay({ ...state, mode: list }) : drop(state, mode, character);
    case "help":
      return stay({ ...state, mode: list });
  }
}

function withDraft(state: DashboardState, mode: Typing, draft: Draft): DashboardState {
  const next = { ...state, mode: { ...mode, draft } };
  if (mode.kind !== "filter") return next;
  // A filter is one line.
  const filter = textOf(draft).replace(/\s+/g, " ");
  return withSelection({ ...next, filter }, shownRows(state));
}

function onKey(state: DashboardState, key: string): Step {
  if (key === "C-c") return quit(state);
  if (key === "C-l") return { state, effects: [{ kind: "repaint" }] };
  const { mode } = state;
  switch (mode.kind) {
    case "list":
      return onCommand(key === "unknown" ? state : { ...state, notice: null }, key);
    case "prompt":
      if (key === "Enter") return submit(state, mode);
      if (key === "Escape")
        return stay(keepUnsent({ ...state, mode: list }, mode.agent.id, textOf(mode.draft)));
      return stay(edited(state, mode, key));
    case "filter":
      if (key === "Enter") return stay({ ...state, mode: list });
      if (key === "Escape") return stay(unfiltered(state));
      if (key === "Up" || key === "Down") return stay(move(state, key === "Up" ? -1 : 1));
      return stay(edited(state, mode, key));
    case "confirm_stop":
      return key === "unknown" ? stay(state) : confirmStop(state, mode.agent, false);
    case "answer":
    case "drop":
    case "help":
      return stay(key === "unknown" ? state : { ...state, mode: list });
  }
}

function edited(state: DashboardState, mode: Typing, key: string): DashboardState {
  const draft = edit(mode.draft, key);
  return draft === null ? state : withDraft(state, mode, draft);
}

const unfiltered = (state: DashboardState): DashboardState =>
  withSelection({ ...state, mode: list, filter: "" }, shownRows(state));

function keepUnsent(state: DashboardState, id: string, text: string): DashboardState {
  const unsent = new Map(state.unsent);
  if (text.trim() === "") unsent.delete(id);
  else unsent.set(id, text);
  return { ...state, unsent };
}

/** A key or character of the list. */
function onCommand(state: DashboardState, key: string): Step {
  switch (key) {
    case "q":
      return quit(state);
    case "?":
      return stay({ ...state, mode: { kind: "help" } });
    case "/":
      return stay({ ...state, mode: { kind: "filter", draft: draftOf(state.filter) } });
    case "Escape":
      return stay(unfiltered(state));
    case "j":
    case "Down":
      return stay(move(state, 1));
    case "k":
    case "Up":
      return stay(move(state, -1));
    case "g":
    case "Home":
      return stay(move(state, Number.NEGATIVE_INFINITY));
    case "G":
    case "End":
      return stay(move(state, Number.POSITIVE_INFINITY));
  }
  const row = selectedRow(state);
  if (row === null) return stay(state);
  const agent = { id: row.id, name: row.name };
  switch (key) {
    case "Enter":
      return { state, effects: [{ kind: "attach", agentId: agent.id }] };
    case "p": {
      const draft = draftOf(state.unsent.get(row.id) ?? "");
      return stay({ ...state, mode: { kind: "prompt", agent, draft } });
    }
    case "a":
      return stay(ask(state, row, agent));
    case "i":
      return begin(
        state,
        { agent, what: `interrupting "${row.name}"` },
        { do: "interrupt", agentId: agent.id },
      );
    case "d": {
      const mode = { kind: "drop", agent, waiting: null } as const;
      return { state: { ...state, mode }, effects: [{ kind: "read_queue", agentId: agent.id }] };
    }
    case "s":
      return stay({ ...state, mode: { kind: "confirm_stop", agent } });
    default:
      return stay(state);
  }
}

function move(state: DashboardState, by: number): DashboardState {
  const shown = shownRows(state);
  const place = shown.findIndex(({ id }) => id === state.selected);
  const next = Math.min(Math.max(place + by, 0), shown.length - 1);
  return { ...state, selected: shown[next]?.id ?? null };
}

function begin(state: DashboardState, command: Omit<Running, "number">, action: DashboardAction): Step {
  const number = state.nextNumber;
  const running = [...state.running, { ...command, number }];
  const next = { ...state, mode: list, running, nextNumber: number + 1, notice: null };
  return { state: next, effects: [{ kind: "run", number, action }] };
}

function ask(state: DashboardState, row: AgentRow, agent: AgentName): DashboardState {
  const item = answerable(row);
  if (item) return { ...state, mode: { kind: "answer", agent, item } };
  const asks = row.items.some(({ question }) => question !== null);
  const text = asks
    ? `the question of "${row.name}" can only be answered in its terminal: Enter opens it`
    : `"${row.name}" asks nothing`;
  return { ...state, notice: { text, failed: true } };
}

function submit(state: DashboardState, { agent, draft }: Mode & { kind: "prompt" }): Step {
  const prompt = textOf(draft);
  if (prompt.trim() === "") return stay({ ...keepUnsent(state, agent.id, ""), mode: list });
  const sent = keepUnsent(state, agent.id, "");
  const what = `giving "${agent.name}" a prompt`;
  return begin(sent, { agent, what, prompt }, { do: "prompt", agentId: agent.id, prompt });
}

function answer(state: DashboardState, { agent, item }: Mode & { kind: "answer" }, character: string): Step {
  if (!item.answers.some((one) => one.answer === character)) return stay(state);
  const { id, epoch } = item;
  return begin(
    state,
    { agent, what: `answering "${agent.name}"` },
    { do: "answer", id, answer: character, epoch },
  );
}

/** The answer is for the dialog that asked: the person may have left it. */
function onQueue(
  state: DashboardState,
  { agentId, waiting }: DashboardEvent & { kind: "queue" },
): DashboardState {
  const { mode } = state;
  if (mode.kind !== "drop" || mode.agent.id !== agentId) return state;
  if (waiting.length > 0) return { ...state, mode: { ...mode, waiting } };
  const notice = { text: `nothing waits for "${mode.agent.name}"`, failed: false };
  return { ...state, mode: list, notice };
}

function drop(state: DashboardState, { agent, waiting }: Mode & { kind: "drop" }, character: string): Step {
  const chosen = /^[1-9]$/.test(character) ? waiting?.[Number(character) - 1] : undefined;
  if (chosen === undefined) return stay(state);
  const { requestId } = chosen;
  return begin(
    state,
    { agent, what: `withdrawing a prompt of "${agent.name}"` },
    { do: "withdraw", agentId: agent.id, requestId },
  );
}

function confirmStop(state: DashboardState, agent: AgentName, yes: boolean): Step {
  if (!yes) return stay({ ...state, mode: list, notice: { text: "nothing was stopped", failed: false } });
  return begin(
    state,
    { agent, what: `stopping "${agent.name}"`, stops: true },
    { do: "stop", agentId: agent.id },
  );
}

/**
 * Waits for the commands that run: a stop that ends half way leaves an agent half stopped. The second time it
 * leaves at once.
 */
function quit(state: DashboardState): Step {
  if (state.running.length === 0 || state.leaving) return { state, effects: [{ kind: "quit" }] };
  return stay({ ...state, mode: list, leaving: true });
}
