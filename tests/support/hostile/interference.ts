import {
  type Composer,
  emptyComposer,
  insertText,
  isEmpty,
  submittedText,
} from "../../../src/services/demo/composer.ts";
import type { DialogSource, PersonDraftOutcome } from "../../../src/services/demo/log.ts";
import { finishPaste, logPaste } from "../../../src/services/demo/model.ts";
import { parseDirective } from "../../../src/services/demo/script.ts";
import { demoSignature } from "../../../src/services/demo/signature.ts";
import type { DemoState, Interference, Work } from "../../../src/services/demo/state.ts";
import { CRASH_CODE, openDialog, submit } from "../../../src/services/demo/turn.ts";
import type { Hostile, Misbehaviour } from "./behaviours.ts";
import { isChosen } from "./occasions.ts";

/** What the script leaves open, in milliseconds. */
const usual = { repaint: 250, dead: 200, piece: 60, dismiss: 700, key: 40, hold: 500 } as const;
const swallowedInARow = 2;
const pieces = 3;
const personsText = "hm, could you also";

/** Takes away the first occurrence of `text` outside of chips; unchanged when there is none. */
function removeText(composer: Composer, text: string): Composer {
  const index = composer.parts.findIndex((part) => part.kind === "text" && part.text.includes(text));
  const part = composer.parts[index];
  if (!part) return composer;
  const left = part.text.replace(text, () => "");
  const replaced: Composer["parts"] = left === "" ? [] : [{ kind: "text", text: left }];
  return { parts: [...composer.parts.slice(0, index), ...replaced, ...composer.parts.slice(index + 1)] };
}

interface SplitPaste {
  /** The composer before the paste. */
  base: Composer;
  text: string;
  pieces: number;
  shown: number;
  pieceDelayMs: number;
  nextMs: number;
}

interface PersonDraft {
  text: string;
  typed: number;
  nextMs: number;
  holdMs: number;
  ending: "delete" | "submit";
  /** Keys from elsewhere have changed the composer since. */
  foreign: boolean;
}

/** Something that happens at a time. */
type Due = "dismiss" | "piece" | "menu" | "person_begins" | "person_types" | "repaint";

/** Misbehaves as it is told. What is random depends on the seed alone. */
export function createInterference({
  hostile = {},
  seed = 0,
  startup = {},
  rules = [],
}: Misbehaviour): Interference {
  const occasions: Record<string, number> = {};
  /** How many prompts met the condition of each rule. */
  const matches = rules.map(() => 0);
  let split: SplitPaste | null = null;
  let person: PersonDraft | null = null;
  let menuDueMs: number | null = null;
  let personDueMs: number | null = null;
  let frozenUntilMs: number | null = null;
  let enterDeadUntilMs = 0;
  let swallowed = 0;
  /** Whether a menu comes before this draft has been decided. */
  let draftMenuDecided = false;
  /** When a person elsewhere answers the menu of this source. */
  let dismissal: { source: DialogSource; atMs: number } | null = null;

  /** Counts an occasion of the behaviour; its parameters when the script chose this one, else null. */
  function chosen<N extends Exclude<keyof Hostile, "queue_merge" | "busy_title">>(name: N) {
    const behaviour = hostile[name];
    if (!behaviour) return null;
    occasions[name] = (occasions[name] ?? 0) + 1;
    return isChosen(behaviour, seed, name, occasions[name]) ? behaviour : null;
  }

  function openUnasked(
    work: Work,
    source: "before_prompt" | "after_paste" | "spontaneous",
    dismissMs: number = usual.dismiss,
  ): void {
    openDialog(work, { source, question: "May the agent look around?" });
    dismissal = dismissMs > 0 ? { source, atMs: work.state.nowMs + dismissMs } : null;
  }

  function maybeFreeze(work: Work, after: "paste" | "enter"): void {
    const late = chosen("late_repaint");
    if (!late) return;
    const delay_ms = late.delay_ms ?? usual.repaint;
    work.log({ kind: "late_repaint", after, delay_ms });
    frozenUntilMs = Math.max(frozenUntilMs ?? 0, work.state.nowMs + delay_ms);
  }

  function isSwallowed(work: Work): boolean {
    if (work.state.nowMs < enterDeadUntilMs) {
      work.log({ kind: "enter_swallowed", why: "enter_dead_time" });
      return true;
    }
    const most = hostile.swallow_enter?.in_a_row ?? swallowedInARow;
    const isOne = swallowed < most && chosen("swallow_enter") !== null;
    swallowed = isOne ? swallowed + 1 : 0;
    if (isOne) work.log({ kind: "enter_swallowed", why: "swallow_enter" });
    return isOne;
  }

  /** Shows the next piece of a split paste; with the last one it becomes an ordinary paste. */
  function showNextPiece(work: Work): void {
    if (!split) return;
    const shown = split.shown + 1;
    const { base, text } = split;
    if (shown >= split.pieces) {
      split = null;
      finishPaste(work, base, text);
      return;
    }
    const part = text.slice(0, Math.ceil((text.length * shown) / split.pieces));
    split = { ...split, shown, nextMs: work.state.nowMs + split.pieceDelayMs };
    work.set({ composer: insertText(base, part) });
  }

  /** A person sits down and types, unless the composer is in use by then. */
  function beginPersonDraft(work: Work): void {
    const { phase, composer, nowMs } = work.state;
    if (phase.kind !== "idle" || split || !isEmpty(composer)) return;
    const { text = personsText, hold_ms = usual.hold, ending = "delete" } = hostile.person_draft ?? {};
    work.log({ kind: "person_draft_started", text });
    person = { text, typed: 0, nextMs: nowMs, holdMs: hold_ms, ending, foreign: false };
    typeOn(work);
  }

  /**
   * The person's next move: one more character, or, after the hold, the end of the draft. A person stops
   * typing when somebody else's keys show up.
   */
  function typeOn(work: Work): void {
    if (!person) return;
    const { composer, nowMs } = work.state;
    const characters = [...person.text];
    const next = characters[person.typed];
    if (next === undefined) {
      finishDraft(work);
      return;
    }
    if (person.foreign) {
      const text = characters.slice(0, person.typed).join("");
      person = { ...person, text, nextMs: nowMs + person.holdMs };
      return;
    }
    const typed = person.typed + 1;
    const waitMs = typed === characters.length ? person.holdMs : usual.key;
    person = { ...person, typed, nextMs: nowMs + waitMs };
    work.set({ composer: insertText(composer, next) });
  }

  function noteForeignInput(): void {
    if (person) person = { ...person, foreign: true };
  }

  function endPersonDraft(work: Work, outcome: PersonDraftOutcome): void {
    if (!person) return;
    const { foreign } = person;
    person = null;
    work.log({ kind: "person_draft_ended", outcome, foreign });
  }

  function finishDraft(work: Work): void {
    if (!person) return;
    const { text, ending, foreign } = person;
    const { composer, phase } = work.state;
    const canSubmit = phase.kind === "idle" || phase.kind === "busy";
    if (ending === "submit" && canSubmit && !isEmpty(composer)) {
      endPersonDraft(work, "submitted");
      draftMenuDecided = false;
      work.set({ composer: emptyComposer });
      submit(work, { text: submittedText(composer), by: "person", merged: foreign });
      return;
    }
    work.set({ composer: removeText(composer, text) });
    endPersonDraft(work, "deleted");
  }

  /** The earliest first. */
  function deadlines({ phase }: DemoState): { what: Due; atMs: number }[] {
    const isOpen = phase.kind === "dialog" && phase.dialog.source === dismissal?.source;
    const times: Record<Due, number | null | undefined> = {
      dismiss: isOpen ? dismissal?.atMs : null,
      piece: split?.nextMs,
      menu: menuDueMs,
      person_begins: personDueMs,
      // A person sees a paste arriving and waits for its end.
      person_types: split ? null : person?.nextMs,
      repaint: frozenUntilMs,
    };
    return (Object.keys(times) as Due[])
      .flatMap((what) => {
        const atMs = times[what];
        return atMs === null || atMs === undefined ? [] : [{ what, atMs }];
      })
      .sort((left, right) => left.atMs - right.atMs);
  }

  const acts: Record<Due, (work: Work) => void> = {
    dismiss(work) {
      if (!dismissal) return;
      work.log({ kind: "menu_dismissed", source: dismissal.source });
      dismissal = null;
      work.set({ phase: { kind: "idle" } });
    },
    piece: showNextPiece,
    menu(work) {
      menuDueMs = null;
      if (work.state.phase.kind !== "idle") return;
      openUnasked(work, "spontaneous", hostile.spontaneous_menu?.dismiss_ms);
    },
    person_begins(work) {
      personDueMs = null;
      beginPersonDraft(work);
    },
    person_types: typeOn,
    repaint() {
      frozenUntilMs = null;
    },
  };

  return {
    startDelayMs: startup.delay_ms ?? 0,
    started(work) {
      if (!startup.trust_dialog) return;
      const options = ["Yes, continue", "No, exit"];
      openDialog(work, { source: "trust", question: demoSignature.trustQuestion, options });
    },
    dialogAnswered(work, source, index) {
      if (source !== "trust") return false;
      if (index !== 0) work.exit(0, "trust_refused", true);
      return true;
    },
    planTurn(prompt) {
      for (const [index, rule] of rules.entries()) {
        if (rule.contains !== undefined && !prompt.includes(rule.contains)) continue;
        const ordinal = (matches[index] ?? 0) + 1;
        matches[index] = ordinal;
        if (isChosen(rule, seed, `rule ${index}`, ordinal)) return parseDirective(rule.directive);
      }
      return null;
    },
    mergesQueue: hostile.queue_merge ?? false,
    hidesWork: hostile.busy_title === false,
    holdsInput: () => split !== null,
    freezesScreen: () => frozenUntilMs !== null,
    pasteBegins(work) {
      if (chosen("crash_during_paste")) work.exit(CRASH_CODE, "crash_during_paste", false);
    },
    paste(work, text) {
      const { composer, nowMs } = work.state;
      noteForeignInput();
      const splitting = chosen("split_paste");
      logPaste(work, text, splitting !== null);
      const dead = chosen("enter_dead_time");
      if (dead) enterDeadUntilMs = nowMs + (dead.dead_ms ?? usual.dead);
      maybeFreeze(work, "paste");
      if (splitting) {
        const pieceDelayMs = splitting.piece_delay_ms ?? usual.piece;
        const count = splitting.pieces ?? pieces;
        split = { base: composer, text, pieces: count, shown: 0, pieceDelayMs, nextMs: nowMs };
        showNextPiece(work);
      } else finishPaste(work, composer, text);
      const menu = work.state.phase.kind === "idle" ? chosen("menu_after_paste") : null;
      if (menu) openUnasked(work, "after_paste", menu.dismiss_ms);
      return true;
    },
    enter(work) {
      if (isSwallowed(work)) return { swallowed: true, merged: false };
      if (work.state.phase.kind === "idle" && !draftMenuDecided) {
        draftMenuDecided = true;
        const menu = chosen("menu_before_prompt");
        if (menu) {
          openUnasked(work, "before_prompt", menu.dismiss_ms);
          return { swallowed: true, merged: false };
        }
      }
      draftMenuDecided = false;
      const merged = person !== null;
      endPersonDraft(work, "submitted_by_keys");
      maybeFreeze(work, "enter");
      return { swallowed: false, merged };
    },
    draftEdited(work) {
      noteForeignInput();
      if (isEmpty(work.state.composer)) draftMenuDecided = false;
    },
    draftCleared(work) {
      endPersonDraft(work, "cleared");
      draftMenuDecided = false;
    },
    promptSubmitted(work) {
      if (!chosen("crash_on_prompt")) return false;
      work.exit(CRASH_CODE, "crash_on_prompt", false);
      return true;
    },
    turnStarted() {
      menuDueMs = null;
      personDueMs = null;
    },
    turnEnded(work) {
      const { nowMs } = work.state;
      const menu = chosen("spontaneous_menu");
      if (menu) {
        menuDueMs = nowMs + (menu.after_ms ?? 0);
        return;
      }
      const draft = chosen("person_draft");
      if (draft) personDueMs = nowMs + (draft.after_ms ?? 0);
    },
    dueMs: (state) => deadlines(state)[0]?.atMs ?? null,
    act(work) {
      const [due] = deadlines(work.state);
      if (due) acts[due.what](work);
    },
  };
}
