import type { DemoInput } from "./input.ts";
import { type DialogSource, fingerprint } from "./log.ts";
import { demoSignature } from "./signature.ts";
import type { Dialog, Work } from "./state.ts";

export function openDialog(
  work: Work,
  { source, question }: { source: DialogSource; question: string },
): void {
  const options = source === "trust" ? ["Yes, continue", "No, exit"] : ["Yes", "No", "Always"];
  work.set({ phase: { kind: "dialog", dialog: { source, question, options, selected: 0 } } });
  work.log({ kind: "menu_opened", source, question, options });
}

export function openTrustDialog(work: Work): void {
  openDialog(work, { source: "trust", question: demoSignature.trustQuestion });
}

/** Input while a dialog is open: moves, chooses, cancels, or is lost. Leaves the agent idle once answered. */
export function takeDialogInput(work: Work, dialog: Dialog, input: DemoInput): void {
  if (input.kind === "key") {
    takeDialogKey(work, dialog, input.name);
    return;
  }
  if (input.kind === "paste_started") return;
  const digit = input.kind === "text" && /^[1-9]$/.test(input.text) ? Number(input.text) : null;
  if (digit !== null && digit <= dialog.options.length) {
    answer(work, dialog, digit - 1);
    return;
  }
  const { source } = dialog;
  work.log({ kind: "lost_input", input: input.kind, ...fingerprint(input.text), while: source });
}

function takeDialogKey(work: Work, dialog: Dialog, name: string): void {
  const select = (selected: number) =>
    work.set({
      phase: {
        kind: "dialog",
        dialog: { ...dialog, selected: Math.min(Math.max(selected, 0), dialog.options.length - 1) },
      },
    });
  if (name === "Up") select(dialog.selected - 1);
  else if (name === "Down") select(dialog.selected + 1);
  else if (name === "Enter") answer(work, dialog, dialog.selected);
  else if (name === "Escape") answer(work, dialog, null);
}

function answer(work: Work, dialog: Dialog, index: number | null): void {
  const label = index === null ? null : (dialog.options[index] ?? null);
  const option = index === null ? null : index + 1;
  work.log({ kind: "menu_answered", source: dialog.source, option, label });
  work.set({ phase: { kind: "idle" } });
  if (dialog.source === "trust") {
    if (index !== 0) work.exit(0, "trust_refused", true);
    return;
  }
  work.show({ kind: "note", text: `menu: ${label ?? "cancelled"}`, tone: "dim" });
}
