import {
  type HeadlessFacts,
  type HeadlessPlan,
  type HeadlessStep,
  planHeadlessTurn,
} from "../../../src/services/demo/headless-turn.ts";
import { createClock, sleep } from "../../../src/system/clock.ts";
import { createProcesses } from "../../../src/system/processes.ts";
import { quietSteps } from "../../../src/system/steps.ts";

type Place = "start" | "before the end" | "instead of the end";
interface HostileAct {
  place: Place;
  act(): Promise<void> | void;
}

const directives: Readonly<Record<string, (rest: string) => HostileAct[]>> = {
  CHILD: (rest) => [{ place: "start", act: () => startChild(rest === "STUBBORN") }],
  INVALID: () => [{ place: "before the end", act: () => write(invalidAnswer()) }],
  BIG: (rest) => [{ place: "before the end", act: () => writeBig(Number(rest)) }],
  CUT: () => [{ place: "instead of the end", act: () => write('{"type":"answer","te') }],
  KILL: () => [{ place: "instead of the end", act: endByKill }],
  HANG: (rest) => [
    { place: "start", act: () => ignoreSignals(rest) },
    { place: "instead of the end", act: hang },
  ],
};

/**
 * The turn of the scripted agent, with the hostile directives that end its prompt, one a line:
 * `CHILD [STUBBORN]` leaves a process behind, `INVALID` writes bytes that are no UTF-8 and a line that is no
 * JSON, `BIG <bytes>` writes one long line, `CUT` ends within a line, `KILL` by SIGKILL,
 * `HANG [SIGINT] [SIGTERM]` never, without those signals.
 */
export function planHostileTurn(facts: HeadlessFacts): HeadlessPlan {
  const lines = facts.prompt.trimEnd().split("\n");
  const first = lines.findLastIndex((line) => readDirective(line) === null) + 1;
  const acts = lines.slice(first).flatMap((line) => readDirective(line) ?? []);
  const { steps, exitCode } = planHeadlessTurn({ ...facts, prompt: lines.slice(0, first).join("\n") });
  const at = (place: Place): HeadlessStep[] =>
    acts.filter((one) => one.place === place).map(({ act }) => ({ kind: "act", act }));
  const [session, ...later] = steps as [HeadlessStep, ...HeadlessStep[]];
  const save = later.findIndex(({ kind }) => kind === "save");
  const ending = at("instead of the end");
  const answer = later.findIndex((step) => step.kind === "record" && step.record.type === "answer");
  const rest =
    ending.length > 0
      ? [...later.slice(0, answer), ...ending]
      : [...later.slice(0, save), ...at("before the end"), ...later.slice(save)];
  return { steps: [session, ...at("start"), ...rest], exitCode };
}

function readDirective(line: string): HostileAct[] | null {
  const [, word = "", rest = ""] = /^([A-Z]+)(?:\s+(.*))?$/.exec(line.trim()) ?? [];
  return directives[word]?.(rest) ?? null;
}

/** An answer with bytes that are no UTF-8, and a line that is no JSON. */
function invalidAnswer(): Uint8Array {
  const text = (part: string) => [...new TextEncoder().encode(part)];
  return new Uint8Array([
    ...text('{"type":"answer","text":"broken '),
    0xff,
    0xc3,
    0x28,
    0xe2,
    0x82,
    ...text(' text"}\nno JSON at all\n'),
  ]);
}

const pieceBytes = 65_536;

async function writeBig(bytes: number): Promise<void> {
  const piece = "x".repeat(pieceBytes);
  await write('{"type":"answer","text":"');
  for (let left = bytes; left > 0; left -= pieceBytes)
    await write(piece.slice(0, Math.min(left, pieceBytes)));
  await write('"}\n');
}

function write(bytes: Uint8Array | string): Promise<void> {
  return new Promise((done, failed) => {
    process.stdout.write(bytes, (error) => (error ? failed(error) : done()));
  });
}

/** Left behind in our process group: the process that ends the turn must end it too. */
function startChild(stubborn: boolean): void {
  const script = stubborn ? "trap '' INT TERM; while :; do sleep 600; done" : "sleep 600";
  createProcesses({ steps: quietSteps }).pipe(["/bin/sh", "-c", script]);
}

function endByKill(): Promise<void> {
  process.kill(process.pid, "SIGKILL");
  return hang();
}

function ignoreSignals(names: string): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) if (names.includes(name)) process.on(name, () => {});
}

async function hang(): Promise<void> {
  for (;;) await sleep(createClock(), 3_600_000);
}
