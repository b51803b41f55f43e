import type { DemoLogEntry, DemoLogRecord } from "../../src/services/demo/log.ts";
import type { HostileScript } from "./hostile/script.ts";
import { randomFrom } from "./load.ts";

/** What the scripted agent's person types; no prompt contains it. */
const personsText = "hm";

/**
 * An agent that misbehaves in every way that loses no work, often enough for a run of 200 prompts. With some
 * seeds the person sends their drafts, and with some the title never tells that the agent works.
 */
export function hostileScript(seed: number): HostileScript {
  return {
    schema_version: 1,
    seed,
    rules: [{ probability: 0.2, directive: "SLOW 400" }, { directive: "FAST" }],
    hostile: {
      busy_title: seed % 3 !== 0,
      swallow_enter: { probability: 0.15 },
      enter_dead_time: { probability: 0.07, dead_ms: 120 },
      late_repaint: { probability: 0.14 },
      split_paste: { probability: 0.26, piece_delay_ms: 40 },
      menu_before_prompt: { probability: 0.1, dismiss_ms: 120 },
      spontaneous_menu: { probability: 0.1, dismiss_ms: 120 },
      menu_after_paste: { probability: 0.08, dismiss_ms: 120 },
      person_draft: {
        probability: 0.26,
        text: personsText,
        hold_ms: 80,
        ending: seed % 2 === 0 ? "submit" : "delete",
      },
    },
  };
}

const shapes: readonly ((random: () => number) => string)[] = [
  () => "say what you find",
  () => "quotes ' \" ` and $(id) #{pane_id} %1 ; \\ ~ {} stay as they are",
  () => "größer als 日本語, 👩‍👩‍👧 and e\u0301, עברית too",
  () => "first line\nsecond\tline\n\n  fourth, indented",
  (random) => lines(3 + Math.floor(random() * 3), () => "a line among a few"),
  (random) => lines(8 + Math.floor(random() * 40), (line) => `line ${line} of many, ünïcödé`),
  (random) => lines(60, (line) => `${line} `.repeat(10 + Math.floor(random() * 20)).trim()),
  (random) => "one long line of words ".repeat(30 + Math.floor(random() * 200)).trim(),
];

/** `count` prompts, no two alike, of every shape: marks, Unicode, several lines, several KB. */
export function hostilePrompts(seed: number, count: number): string[] {
  const random = randomFrom(seed);
  return Array.from({ length: count }, (_, index) => {
    const shape = shapes[Math.floor(random() * shapes.length)];
    return `prompt ${index + 1}: ${shape?.(random)}`;
  });
}

function lines(count: number, line: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => line(index)).join("\n");
}

/** How often the agent says that it misbehaved, by kind. */
export function hostilityOf(log: readonly DemoLogRecord[]) {
  const count = (wanted: (entry: DemoLogEntry) => boolean) => log.filter(wanted).length;
  return {
    swallowed_enters: count(({ kind }) => kind === "enter_swallowed"),
    late_repaints: count(({ kind }) => kind === "late_repaint"),
    split_pastes: count((entry) => entry.kind === "paste_received" && entry.split),
    menus: count(({ kind }) => kind === "menu_opened"),
    persons_drafts: count(({ kind }) => kind === "person_draft_started"),
  };
}

/**
 * What is wrong with what the agent says that it was given, when it was to be given `prompts` in this order,
 * each once and byte for byte, with its menus and its person left alone. Empty when nothing is.
 */
export function hostileProblems(log: readonly DemoLogRecord[], prompts: readonly string[]): string[] {
  const problems: string[] = [];
  let given = 0;
  for (const record of log) {
    const at = `${record.at_ms} ms, line ${record.n}`;
    if (record.kind === "submitted" && record.by === "keys") {
      const wanted = prompts[given];
      given += 1;
      if (record.text !== wanted) {
        problems.push(`${at}: submission ${given} is ${brief(record.text)}, not ${brief(wanted)}`);
      }
    }
    const wrong = intrusion(record);
    if (wrong !== null) problems.push(`${at}: ${wrong}`);
  }
  if (given !== prompts.length) problems.push(`${given} prompts submitted of ${prompts.length}`);
  return problems;
}

/** How a record tells that keys reached what they were not meant for, or null. */
function intrusion(record: DemoLogRecord): string | null {
  switch (record.kind) {
    case "submitted":
      if (record.merged_with_person_draft) return `merged with a person's draft: ${brief(record.text)}`;
      if (record.by === "keys" || record.text === personsText) return null;
      return `the person submitted ${brief(record.text)}`;
    case "turn_started":
      return record.prompts.length === 1 ? null : `one turn for prompts ${record.prompts.join(", ")}`;
    case "person_draft_ended":
      if (record.outcome === "deleted" || record.outcome === "submitted") return null;
      return `a person's draft was ${record.outcome}`;
    case "menu_answered":
      return `a menu was answered: ${record.label}`;
    case "lost_input":
      return `${record.input} of ${record.length} characters went into a menu`;
    case "exited":
      return `the agent ended: ${record.why}`;
    default:
      return null;
  }
}

function brief(text: string | undefined): string {
  if (text === undefined) return "nothing";
  return JSON.stringify(text.length > 160 ? `${text.slice(0, 100)} … ${text.slice(-50)}` : text);
}
