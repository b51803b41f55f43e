import { assertNever } from "../../system/errors.ts";
import { type HeadlessWishes, type IgnoredSignal, parseHeadlessPrompt } from "./headless-directive.ts";

/** A conversation of the scripted agent, as its file holds it. */
export interface HeadlessSession {
  session_id: string;
  /** Turns begun. */
  turns: number;
  remembered: string[];
}

/**
 * One line of the stream: `session {session_id, model, effort}`, `piece {text}` of an answer, `answer {text}` whole,
 * `thought {text}`, `action {action_id, name, arguments}`, `action_done {action_id, status, output}`, and last
 * `end {status, error?, usage?}`.
 */
export type HeadlessRecord = { type: string } & Record<string, unknown>;

export type HeadlessStep =
  | { kind: "record"; record: HeadlessRecord }
  | { kind: "wait"; ms: number }
  | { kind: "bytes"; bytes: Uint8Array }
  /** A record of type answer whose text has this many bytes, written piece by piece. */
  | { kind: "big"; bytes: number }
  | { kind: "warning"; text: string }
  | { kind: "child"; stubborn: boolean }
  /** The conversation is worth keeping from here on. */
  | { kind: "save"; session: HeadlessSession }
  | { kind: "hang" }
  | { kind: "kill" };

export interface HeadlessPlan {
  ignores: IgnoredSignal[];
  steps: HeadlessStep[];
  exitCode: number;
}

/**
 * What the scripted agent does with a prompt, as its last lines direct it (see `parseHeadlessPrompt`). `session`: the
 * conversation with this turn counted in. A prompt that says `remember X` is remembered once the turn succeeds;
 * `recall` is answered with everything remembered.
 */
export function planHeadlessTurn(facts: {
  prompt: string;
  session: HeadlessSession;
  model: string | null;
  effort: string | null;
}): HeadlessPlan {
  const { session, model, effort } = facts;
  const { said, wishes } = parseHeadlessPrompt(facts.prompt);
  const { answer, remembered } = reply(said, session.remembered);
  const { session_id } = session;
  return {
    ignores: wishes.ending.kind === "hang" ? wishes.ending.ignores : [],
    steps: [
      { kind: "record", record: { type: "session", session_id, model, effort } },
      ...wishes.warnings.map((text) => ({ kind: "warning", text }) as const),
      ...(wishes.child === null ? [] : [{ kind: "child", stubborn: wishes.child === "stubborn" } as const]),
      ...workSteps(wishes),
      ...pieceSteps(answer, wishes.answerMs),
      ...endSteps(wishes, answer, { ...session, remembered }),
    ],
    exitCode: exitCodeOf(wishes),
  };
}

function workSteps({ silentMs, thought, tools }: HeadlessWishes): HeadlessStep[] {
  return [
    ...(silentMs === 0 ? [] : [{ kind: "wait", ms: silentMs } as const]),
    ...(thought === null ? [] : [record("thought", { text: thought })]),
    ...tools.flatMap((name, index) => [
      record("action", { action_id: `action_${index + 1}`, name, arguments: { target: "." } }),
      record("action_done", { action_id: `action_${index + 1}`, status: "success", output: `${name} done` }),
    ]),
  ];
}

function pieceSteps(answer: string, answerMs: number): HeadlessStep[] {
  const pieces = answer.match(/\S+\s*/g) ?? [];
  const ms = answerMs / Math.max(1, pieces.length);
  return pieces.flatMap((text) => [
    ...(ms === 0 ? [] : [{ kind: "wait", ms } as const]),
    record("piece", { text }),
  ]);
}

function endSteps(wishes: HeadlessWishes, answer: string, session: HeadlessSession): HeadlessStep[] {
  const { ending } = wishes;
  const usage = wishes.usage === null ? {} : { usage: wishes.usage };
  switch (ending.kind) {
    case "success":
      return [
        record("answer", { text: answer }),
        ...(wishes.invalidText ? [{ kind: "bytes", bytes: invalidAnswer() } as const] : []),
        ...(wishes.bigBytes === null ? [] : [{ kind: "big", bytes: wishes.bigBytes } as const]),
        { kind: "save", session },
        record("end", { status: "success", ...usage }),
      ];
    case "error":
      return [record("end", { status: "error", error: ending.text, ...usage })];
    case "exit":
      return [];
    case "kill":
      return [{ kind: "kill" }];
    case "cut":
      return [{ kind: "bytes", bytes: new TextEncoder().encode('{"type":"answer","te') }];
    case "hang":
      return [{ kind: "hang" }];
    default:
      return assertNever(ending);
  }
}

function exitCodeOf({ ending }: HeadlessWishes): number {
  if (ending.kind === "exit") return ending.code;
  return ending.kind === "error" ? 1 : 0;
}

function reply(said: string, remembered: string[]): { answer: string; remembered: string[] } {
  const fact = /^remember (.+)$/im.exec(said)?.[1];
  if (fact !== undefined) return { answer: `I will remember ${fact}`, remembered: [...remembered, fact] };
  if (!/^recall\b/im.test(said))
    return { answer: said === "" ? "ok" : `You said: ${firstLine(said)}`, remembered };
  const answer = remembered.length === 0 ? "I remember nothing" : `I remember ${remembered.join("; ")}`;
  return { answer, remembered };
}

function firstLine(text: string): string {
  return [...(text.split("\n")[0] ?? "")].slice(0, 200).join("");
}

function record(type: string, fields: Record<string, unknown>): HeadlessStep {
  return { kind: "record", record: { type, ...fields } };
}

/** An answer with bytes that are no UTF-8, and a line that is no JSON. */
function invalidAnswer(): Uint8Array {
  const text = (part: string) => [...new TextEncoder().encode(part)];
  return new Uint8Array([
    ...text('{"type":"answer","text":"broken '),
    ...[0xff, 0xc3, 0x28, 0xe2, 0x82],
    ...text(' text"}\nno JSON at all\n'),
  ]);
}
