import { emptyComposer, insertText, isEmpty, removeText, submittedText } from "./composer.ts";
import type { PersonDraftOutcome } from "./log.ts";
import { submit } from "./turn.ts";
import type { Work } from "./work.ts";

const KEY_MS = 40;
const HOLD_MS = 500;
const DEFAULT_TEXT = "hm, could you also";

/** A person sits down and types, unless the composer is in use by then. */
export function beginPersonDraft(work: Work): void {
  const { phase, composer, script, nowMs, splitPaste } = work.state;
  work.set({ personDueMs: null });
  if (phase.kind !== "idle" || splitPaste || !isEmpty(composer)) return;
  const asked = script.hostile?.person_draft ?? {};
  const text = asked.text ?? DEFAULT_TEXT;
  const holdMs = asked.hold_ms ?? HOLD_MS;
  const ending = asked.ending ?? "delete";
  work.log({ kind: "person_draft_started", text });
  work.set({ person: { text, typed: 0, nextMs: nowMs, holdMs, ending, foreign: false } });
  typeOn(work);
}

/**
 * The person's next move: one more character, or, after the hold, the end of the draft. A person stops typing
 * when somebody else's keys show up.
 */
export function typeOn(work: Work): void {
  const { person, composer, nowMs } = work.state;
  if (!person) return;
  const characters = [...person.text];
  const next = characters[person.typed];
  if (next === undefined) {
    finishDraft(work);
    return;
  }
  if (person.foreign) {
    const text = characters.slice(0, person.typed).join("");
    work.set({ person: { ...person, text, nextMs: nowMs + person.holdMs } });
    return;
  }
  const typed = person.typed + 1;
  const waitMs = typed === characters.length ? person.holdMs : KEY_MS;
  work.set({ composer: insertText(composer, next), person: { ...person, typed, nextMs: nowMs + waitMs } });
}

/** Keys from elsewhere changed the composer while a person's draft stands in it. */
export function noteForeignInput(work: Work): void {
  const { person } = work.state;
  if (person && !person.foreign) work.set({ person: { ...person, foreign: true } });
}

export function endPersonDraft(work: Work, outcome: PersonDraftOutcome): void {
  const { person } = work.state;
  if (!person) return;
  work.set({ person: null });
  work.log({ kind: "person_draft_ended", outcome, foreign: person.foreign });
}

function finishDraft(work: Work): void {
  const { person, composer, phase } = work.state;
  if (!person) return;
  const canSubmit = phase.kind === "idle" || phase.kind === "busy";
  if (person.ending === "submit" && canSubmit && !isEmpty(composer)) {
    endPersonDraft(work, "submitted");
    work.set({ composer: emptyComposer, draftMenuDecided: false });
    submit(work, { text: submittedText(composer), by: "person", merged: person.foreign });
    return;
  }
  work.set({ composer: removeText(composer, person.text) });
  endPersonDraft(work, "deleted");
}
