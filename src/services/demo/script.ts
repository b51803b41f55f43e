import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { MailMessage } from "../../protocol/mail.ts";

/** How a turn runs. Durations are milliseconds before `--speed` divides them. */
export interface TurnPlan {
  durationMs: number;
  /** False: nothing but the spinner shows. */
  streams: boolean;
  ending: TurnEnding;
  /** The whole answer, instead of words that it makes up. */
  says?: string;
}

export type TurnEnding =
  | { kind: "success" }
  /** `text`: the row that ends the turn, behind its mark. */
  | { kind: "error"; text: string }
  | { kind: "menu"; question: string }
  | { kind: "exit" }
  | { kind: "crash" };

/** How long a turn runs that nothing directs. */
export const DEFAULT_MS = 1500;
const FAST_MS = 30;
/** Long enough to be seen at work before it is gone. */
const ENDING_MS = 500;
const DEFAULT_QUESTION = "Go on with this?";

/**
 * Reads a directive: `FAST`, `SLOW <ms>`, `SILENT <ms>`, `FAIL <text>`, `LIMIT [time]`, `MENU [question]`,
 * `EXIT` or `CRASH`, alone on its line. Null when the line is none of them.
 */
export function parseDirective(line: string): TurnPlan | null {
  const [, word = "", rest = ""] = /^([A-Z]+)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
  const success: TurnEnding = { kind: "success" };
  const durationMs = /^\d{1,7}$/.test(rest) ? Number(rest) : null;
  switch (word) {
    case "FAST":
      return rest ? null : { durationMs: FAST_MS, streams: true, ending: success };
    case "SLOW":
      return durationMs === null ? null : { durationMs, streams: true, ending: success };
    case "SILENT":
      return durationMs === null ? null : { durationMs, streams: false, ending: success };
    case "FAIL":
      return failure(`error: ${rest || "failed"}`);
    case "LIMIT":
      return failure(`usage limit reached${rest ? ` · resets ${rest}` : ""}`);
    case "MENU":
      return menuPlan(rest);
    case "EXIT":
    case "CRASH":
      if (rest) return null;
      return { durationMs: ENDING_MS, streams: false, ending: { kind: word === "EXIT" ? "exit" : "crash" } };
    default:
      return null;
  }
}

function failure(text: string): TurnPlan {
  return { durationMs: DEFAULT_MS, streams: true, ending: { kind: "error", text } };
}

/** A turn that ends by asking `question`, or its default question when that is empty. */
export function menuPlan(question: string): TurnPlan {
  const ending = { kind: "menu", question: question || DEFAULT_QUESTION } as const;
  return { durationMs: DEFAULT_MS, streams: true, ending };
}

/** The slash command that a submitted text is, or null. A leading blank or a path makes plain text. */
export function parseCommand(text: string): string | null {
  return /^(\/[a-z][a-z-]*)(?:[^\S\n][^\n]*)?\n*$/.exec(text)?.[1] ?? null;
}

const closed = { additionalProperties: false };

/** The script file of the scripted agent. */
const DemoScriptSchema = Type.Object(
  {
    schema_version: Type.Literal(1),
    mail_rounds: Type.Optional(
      Type.Boolean({
        description: "Acts on wake-up prompts: reads, answers and archives the mail that they name",
      }),
    ),
    program: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description:
          "Command with its arguments that does the work of every prompt, which is its standard input; the turn lasts until it ends, and an interrupt ends it",
      }),
    ),
  },
  closed,
);

export type DemoScript = Static<typeof DemoScriptSchema>;

export const emptyScript: DemoScript = { schema_version: 1 };

/** Reads a script file's text. A refusal names each wrong place, such as `/program/0: ...`. */
export function parseDemoScript(text: string): { script: DemoScript } | { errors: string[] } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { errors: [error instanceof Error ? error.message : String(error)] };
  }
  if (Value.Check(DemoScriptSchema, value)) return { script: value };
  const errors = [...Value.Errors(DemoScriptSchema, value)].map(
    ({ path, message }) => `${path || "/"}: ${message}`,
  );
  return { errors: [...new Set(errors)] };
}

/** One round of mail, as a wake-up prompt asks for it. */
export interface MailRound {
  /** The gateway's address, read from the prompt and from nowhere else. */
  baseUrl: string;
  /** References in the order of the prompt. */
  refs: readonly string[];
}

/** What the scripted agent did in a mail round; a line of its log each, after the gateway agreed. */
export type MailAct =
  | { kind: "mail_read"; message_ref: string; sender: string; subject: string }
  | { kind: "mail_replied"; message_ref: string; body: string }
  | { kind: "mail_sent"; to: string; subject: string; body: string }
  | { kind: "mail_archived"; message_ref: string };

/** What one message asks of the scripted agent before it is archived. */
type MailAnswer =
  | { answer: "none" }
  | { answer: "reply"; body: string }
  | { answer: "send"; to: string; subject: string; body: string };

/**
 * Reads a wake-up prompt. Null for any other prompt: without a gateway's address and at least one reference
 * there is no round. The lines are those of the notifier's prompt (contract 2.6).
 */
export function parseMailRound(prompt: string): MailRound | null {
  const baseUrl = /^Gateway: (http:\/\/\S+)$/m.exec(prompt)?.[1];
  const refs = [...prompt.matchAll(/^\d+\. message_ref: (\S+)(?: \||$)/gm)].flatMap(([, ref]) => ref ?? []);
  return baseUrl === undefined || refs.length === 0 ? null : { baseUrl, refs };
}

/**
 * What a message is answered with, by its body alone: `TALK <address> <n>` begins a conversation of n rounds;
 * `round <k> of <n>` is answered with the next round until the last one; anything else needs no answer.
 */
export function planMailAnswer(message: Pick<MailMessage, "body_text">): MailAnswer {
  const body = message.body_text ?? "";
  const talk = /^TALK (\S+@\S+) (\d{1,4})$/m.exec(body);
  if (talk?.[1] && talk[2]) {
    return { answer: "send", to: talk[1], subject: "A conversation", body: `round 1 of ${talk[2]}` };
  }
  const round = /^round (\d{1,4}) of (\d{1,4})$/m.exec(body);
  const [now, last] = [Number(round?.[1]), Number(round?.[2])];
  return now < last ? { answer: "reply", body: `round ${now + 1} of ${last}` } : { answer: "none" };
}
