import { demoSignature as look } from "../../../src/services/demo/signature.ts";
import { observationOf } from "../../../src/services/terminal/detect/explain.ts";
import type { Observation } from "../../../src/services/terminal/screen.ts";
import { compiled } from "./corpus.ts";

const width = 80;
const height = 24;
const rule = look.ruleGlyph.repeat(width);
const dim = (text: string) => `\x1b[2m${text}\x1b[0m`;

export interface DemoScreen {
  transcript?: readonly string[];
  /** Text of the status row's frame counter; undefined for none. */
  busySeconds?: number;
  queued?: readonly string[];
  draft?: readonly string[];
  popup?: readonly string[];
  footer?: string;
  title?: string | null;
}

/** The scripted agent's screen, as its signature describes it; the cursor is on the last composer row. */
export function demoScreen(screen: DemoScreen = {}): Observation {
  const [first, ...more] = screen.draft ?? [];
  const above = [
    look.banner,
    ...(screen.transcript ?? []),
    "",
    ...(screen.busySeconds === undefined
      ? []
      : [`${look.spinnerFrames[0]} ${look.statusLabel} (${screen.busySeconds}s · ${look.statusHint})`]),
    ...(screen.queued ?? []).map((text) => look.queuedPrefix + text),
    rule,
  ];
  const composer = [
    look.composerGlyph + (first ?? dim(look.placeholder)),
    ...more.map((text) => look.continuationIndent + text),
  ];
  const rows = [...above, ...composer, ...(screen.popup ?? []), rule, screen.footer ?? look.footer];
  return recorded(rows, screen.title ?? null, above.length + composer.length - 1);
}

/** `above`: rows of the transcript before the question. */
export function demoDialog(
  question: string,
  options: readonly string[],
  selected: number,
  above: readonly string[] = [],
  title: string | null = look.titleDecision,
): Observation {
  const rows = [
    look.banner,
    ...above,
    "",
    rule,
    question,
    ...options.map((text, index) =>
      index + 1 === selected
        ? `${look.selectedPrefix}${index + 1}. ${text}`
        : `${look.optionPrefix}${index + 1}. ${text}`,
    ),
    rule,
    look.footerDialog,
  ];
  return recorded(rows, title, 3 + above.length + selected);
}

function recorded(rows: string[], title: string | null, cursorRow: number): Observation {
  const blank = Array.from({ length: Math.max(0, height - rows.length) }, () => "");
  return observationOf({
    raw: `${[...rows, ...blank].join("\n")}\n`,
    tool: compiled("demo"),
    title,
    cursorRow,
  });
}
