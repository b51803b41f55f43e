import { isOlder } from "../../../src/system/versions.ts";
import { type LabTool, versionOf } from "./cli-cache.ts";

/** How one tool, at the version that runs, goes about what all of them do. Measured here. */
export interface ToolFacts {
  /** Its command that compacts the conversation. */
  compact: string;
  /** What becomes of a prompt given while the model speaks. */
  whileSpeaking: "held" | "steered";
  /** A prompt given while a shell command runs is held though one is not while the model speaks. */
  holdsBehindCommand: boolean;
  /** What the newest turn reads as once the tool has given up on an answer with this status. */
  failures: readonly { status: number; result: "known_failure" | "none" }[];
  /** Statuses after which it tries again until it is interrupted. */
  retried: readonly number[];
  approval: Question & { result: "interrupted" | "none" };
  /** How a person leaves it: a prompt, or keys. */
  exit: { prompt: string } | { keys: readonly string[] };
  /**
   * Whether a prompt that begins with `!` can be given as text, or is refused because the tool would run it.
   */
  leadingBang: "text" | "refused";
  /** What it asks about a folder it does not know; null where it asks nothing. */
  trust: Question | null;
}

interface Question {
  kind: string;
  question: string;
  /** `{work}` stands for the working folder. */
  options: string[];
  /** The option that is marked at first; default: the one that allows. */
  selected?: number;
  /** Index of the option that allows once, and of the one that refuses. */
  allow: number;
  refuse: number;
}

/** Whether the version of `tool` that runs is `version` or a later one. */
function runsFrom(tool: LabTool, version: string): boolean {
  return !isOlder(versionOf(tool, process.env), version);
}

const claudeAsksWithoutNumbers = runsFrom("claude", "2.1.270");

export const toolFacts: Readonly<Record<LabTool, ToolFacts>> = {
  claude: {
    compact: "/compact",
    whileSpeaking: "held",
    holdsBehindCommand: false,
    failures: [
      { status: 400, result: "known_failure" },
      { status: 529, result: "known_failure" },
    ],
    retried: [429, 500],
    approval: {
      kind: "approval_dialog",
      question: "Do you want to proceed?",
      options: runsFrom("claude", "2.1.300")
        ? [
            "Yes",
            "Yes, and always allow access to {work} from this project",
            "Yes, and switch to auto mode · auto mode handles these prompts for you",
            "No",
          ]
        : ["Yes", "Yes, and always allow access to work/ from this project", "No"],
      allow: 1,
      refuse: runsFrom("claude", "2.1.300") ? 4 : 3,
      result: "interrupted",
    },
    leadingBang: "text",
    exit: { prompt: "/exit" },
    trust: {
      kind: "trust_prompt",
      question:
        "Quick safety check: Is this a project you created or one you trust? (Like your own code, a well-known open source",
      options: claudeAsksWithoutNumbers
        ? ["No, exit", "Yes, I trust this folder"]
        : ["Yes, I trust this folder", "No, exit"],
      selected: 1,
      allow: claudeAsksWithoutNumbers ? 2 : 1,
      refuse: claudeAsksWithoutNumbers ? 1 : 2,
    },
  },
  codex: {
    compact: "/compact",
    // 0.157.1 hands it over when the answer ends.
    whileSpeaking: runsFrom("codex", "0.166.0") ? "steered" : "held",
    holdsBehindCommand: true,
    failures: [
      { status: 400, result: "none" },
      { status: 429, result: "none" },
      { status: 500, result: "known_failure" },
      { status: 529, result: "none" },
    ],
    retried: [],
    approval: {
      kind: "approval_dialog",
      question: "Would you like to run the following command?",
      options: [
        "Yes, proceed (y)",
        "Yes, and don't ask again for commands that start with `touch tool-out.txt` (p)",
        "No, and tell Codex what to do differently (esc)",
      ],
      allow: 1,
      refuse: 3,
      result: "interrupted",
    },
    // A blank before it keeps it text from 0.169.0 on.
    leadingBang: runsFrom("codex", "0.169.0") ? "text" : "refused",
    exit: { keys: ["<[C-c]>"] },
    trust: {
      kind: "trust_prompt",
      question:
        "Trust this folder? Codex can read, edit, and run files here, subject to your permission settings. Folder settings",
      options: ["Trust and continue", runsFrom("codex", "0.169.0") ? "Back to Agent Command Center" : "Quit"],
      allow: 1,
      refuse: 2,
    },
  },
  gemini: {
    compact: "/compress",
    whileSpeaking: "held",
    holdsBehindCommand: false,
    failures: [{ status: 400, result: "known_failure" }],
    retried: [429, 500, 529],
    approval: {
      kind: "approval_dialog",
      question: "Allow execution of [Shell]?",
      options: ["Allow once", "Allow for this session", "No, suggest changes (esc)"],
      allow: 1,
      refuse: 3,
      result: "interrupted",
    },
    leadingBang: "text",
    exit: { keys: ["<[C-c]>", "<[C-c]>"] },
    trust: {
      kind: "trust_prompt",
      question: "Do you trust the files in this folder?",
      options: ["Trust folder (work)", "Trust parent folder (home)", "Don't trust"],
      allow: 1,
      refuse: 3,
    },
  },
  opencode: {
    compact: "/compact",
    whileSpeaking: "held",
    holdsBehindCommand: false,
    failures: [{ status: 400, result: "known_failure" }],
    retried: [429, 500],
    approval: {
      kind: "approval_dialog",
      question: "△ Permission required",
      options: ["Allow once", "Allow always", "Reject"],
      allow: 1,
      refuse: 3,
      result: "none",
    },
    leadingBang: "text",
    exit: { prompt: "/exit" },
    trust: null,
  },
};

/** The two ways in which a tool works without a terminal: its own print mode, or ACP. */
export const transports = ["native", "acp"] as const;
export type Transport = (typeof transports)[number];

/** How one tool goes about a turn without a terminal. */
export interface HeadlessFacts {
  /**
   * A model for one turn: as the flag names it, and as the model server is asked for it; null: it is refused.
   */
  model: { flag: string; name: string } | null;
  /** How the second reasoning level reaches the model; null where the tool has no levels. */
  level: { read: (body: unknown) => unknown; second: string } | null;
  /** The conversation goes on with the model that one of its turns named. */
  keepsModel: boolean;
  /**
   * What it calls its last conversation: the one used last, or any: it goes by a start that a resume may
   * move.
   */
  last: "used" | "any";
  /** It writes its first event before the model's answer is complete. */
  saysWhileSpeaking: boolean;
  /** Kind of its first event. */
  saysBefore: RegExp;
  /** Of a turn that went well; null: the process goes on. */
  returncode: 0 | null;
  /**
   * A cancel may leave its command running, and svc ends the process then; another goes on with the
   * conversation.
   */
  leavesCommands: boolean;
}

const effort = (key: string) => (body: unknown) =>
  (body as Record<string, { effort?: unknown } | undefined>)[key]?.effort;

const native = {
  returncode: 0,
  leavesCommands: false,
  saysBefore: /^session$/,
  saysWhileSpeaking: true,
} as const;

const acp: HeadlessFacts = {
  model: null,
  level: null,
  keepsModel: false,
  last: "used",
  saysWhileSpeaking: true,
  saysBefore: /^session$/,
  returncode: null,
  leavesCommands: false,
};

export const headlessFacts: Readonly<Record<Transport, Readonly<Record<LabTool, HeadlessFacts>>>> = {
  native: {
    claude: {
      ...native,
      model: { flag: "claude-opus-4-6", name: "claude-opus-4-6" },
      level: { read: effort("output_config"), second: "medium" },
      keepsModel: true,
      last: "used",
    },
    codex: {
      ...native,
      model: { flag: "gpt-5.1", name: "gpt-5.1" },
      level: { read: effort("reasoning"), second: "medium" },
      keepsModel: false,
      last: "used",
    },
    gemini: {
      ...native,
      model: { flag: "other-model", name: "other-model" },
      level: null,
      keepsModel: false,
      last: "any",
      saysBefore: /^(session|diagnostic)$/,
    },
    opencode: {
      ...native,
      model: { flag: "mock/other-model", name: "other-model" },
      level: null,
      keepsModel: true,
      last: "used",
      saysWhileSpeaking: false,
    },
  },
  acp: { claude: acp, codex: { ...acp, leavesCommands: true }, gemini: acp, opencode: acp },
};
