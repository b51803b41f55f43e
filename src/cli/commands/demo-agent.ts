import { resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  createHookPayloads,
  createRecordLines,
  type DemoLogRecord,
  renderLogLine,
} from "../../services/demo/log.ts";
import { next } from "../../services/demo/model.ts";
import {
  answerText,
  enterSequence,
  type Frame,
  leaveSequence,
  paint,
  render,
} from "../../services/demo/screen.ts";
import { type DemoScript, emptyScript, type MailRound, parseDemoScript } from "../../services/demo/script.ts";
import {
  createDemoState,
  type DemoEvent,
  type Interference,
  isPainting,
  nextWakeMs,
} from "../../services/demo/state.ts";
import { demoRecordRoot } from "../../services/sessions/roots.ts";
import { createClock, toTimestamp } from "../../system/clock.ts";
import { childPath } from "../../system/contained-path.ts";
import { messageOf } from "../../system/errors.ts";
import { createFiles, type Files } from "../../system/files.ts";
import { createIds } from "../../system/ids.ts";
import { createProcesses, type PipedProcess } from "../../system/processes.ts";
import { quietSteps } from "../../system/steps.ts";

const usage = `Usage: svc-gateway demo-agent [--script FILE] [--log FILE] [--speed F] [--signals]
       svc-gateway demo-agent --headless [--state DIR] [--log FILE] [--speed F]
                              [--resume ID | --continue] [--model NAME] [--effort WORD]
       svc-gateway demo-agent --acp [--state DIR] [--log FILE] [--speed F]

The scripted agent: behaves like a coding agent in a terminal, without a model.
With --headless it takes one turn: prompt on standard input, JSON lines on standard output.
With --acp it speaks the Agent Client Protocol on its standard streams, for any number of turns.

  --script FILE  JSON file: rounds of mail, or a program that does its work
  --log FILE     append what it really received and did, one JSON object per line
  --speed F      divide the durations of turns by F (default 1)
  --signals      report prompts, questions and ends of turns to the gateway, as real tools do by hooks
  --state DIR    folder of its headless conversations (default: in the state folder)
  --resume ID    go on with a conversation; --continue: with the last one, or begin one
  --help         show this text

The last line of a prompt directs its turn: FAST, SLOW <ms>, SILENT <ms>, FAIL <text>,
LIMIT [time], MENU [question], ECHO, EXIT or CRASH. /help lists the slash commands.
Headless, the last lines may be FAST, SLOW <ms>, SILENT <ms>, THINK [text], TOOL [name],
ASK [what] (with --acp), STDERR [text], ECHO, USAGE <in> <out>, ERROR [text], EXIT [code] or CRASH.
`;

/** How long a terminal may take the last bytes. */
const goneMs = 1000;

/** What the file of `--script` says; tests add an interference. */
type ScriptReader = (
  text: string,
) => { script: DemoScript; interference?: Interference } | { errors: string[] };

interface Options {
  script: DemoScript;
  interference?: Interference | undefined;
  logPath: string | null;
  speed: number;
  /** The hook command, or null. */
  hook: readonly string[] | null;
}

/**
 * Runs the scripted agent on this process's terminal until it exits. Resolves to the exit code: 0 after an
 * ordinary exit, a signal or the end of the input, 1 when its log cannot be written, 2 for wrong arguments or
 * no terminal, 3 for a crash that a prompt asked for. The terminal is restored except after a crash.
 */
export async function runDemoAgent(
  argv: string[],
  readScript: ScriptReader = parseDemoScript,
): Promise<number> {
  if (argv.includes("--acp") && !argv.includes("--help")) {
    const { runAcpDemoAgent } = await import("./demo-agent-acp.ts");
    return runAcpDemoAgent(argv);
  }
  if (argv.includes("--headless") && !argv.includes("--help")) {
    const { runHeadlessDemoAgent } = await import("./demo-agent-headless.ts");
    return runHeadlessDemoAgent(argv);
  }
  const files = createFiles({ ids: createIds(), steps: quietSteps });
  let options: Options | "help";
  try {
    options = parseOptions(argv, files, readScript);
  } catch (error) {
    process.stderr.write(`demo-agent: ${messageOf(error)}\n`);
    return 2;
  }
  if (options === "help") {
    process.stdout.write(usage);
    return 0;
  }
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    process.stderr.write("demo-agent: needs a terminal on its standard input and output\n");
    return 2;
  }
  return converse(options, files);
}

function parseOptions(argv: string[], files: Files, readScript: ScriptReader): Options | "help" {
  const { values } = parseArgs({
    args: argv,
    strict: true,
    options: {
      script: { type: "string" },
      log: { type: "string" },
      speed: { type: "string", default: "1" },
      signals: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const speed = Number(values.speed);
  if (!(speed > 0 && speed <= 1000)) throw new Error("--speed must be a number above 0, at most 1000");
  const given =
    values.script === undefined
      ? { script: emptyScript }
      : scriptIn(resolve(values.script), files, readScript);
  // A launch by svc says which program it is.
  const hook = values.signals
    ? (JSON.parse(process.env["SVC_DEMO_HOOK"] ?? "null") as string[] | null)
    : null;
  return { ...given, speed, hook, logPath: values.log === undefined ? null : resolve(values.log) };
}

function scriptIn(path: string, files: Files, readScript: ScriptReader) {
  const text = files.read(path, { owner: "anyone" });
  if (text === null) throw new Error(`script ${path}: no such file`);
  const parsed = readScript(text);
  if ("errors" in parsed) throw new Error(`script ${path}: ${parsed.errors.join("; ")}`);
  return parsed;
}

/** An event of the model before its time is known. */
type Happening = DemoEvent extends infer E ? (E extends DemoEvent ? Omit<E, "atMs"> : never) : never;

/** Connects the model to the terminal: bytes, signals and one timer in; log, screen and exit out. */
function converse({ script, interference, speed, logPath, hook }: Options, files: Files): Promise<number> {
  const { stdin, stdout } = process;
  const clock = createClock();
  const startedMs = clock.monotonicMs();
  const size = () => ({ cols: stdout.columns || 80, rows: stdout.rows || 24 });
  let state = createDemoState({ script, speed, interference });
  let shown: Frame | null = null;
  let cancelTimer = () => {};
  const end = Promise.withResolvers<number>();

  function happen(event: Happening): void {
    const atMs = clock.monotonicMs() - startedMs;
    const step = next(state, { ...event, atMs } as DemoEvent);
    state = step.state;
    cancelTimer();
    for (const effect of step.effects) {
      if (effect.kind === "exit") {
        leave(effect.code, effect.restore);
        return;
      }
      if (effect.kind === "mail_round") void workMail(effect.turn, effect.round);
      else if (effect.kind === "program") runProgram(effect.turn, effect.command, effect.prompt);
      else if (effect.kind === "program_stop") programs.get(effect.turn)?.kill();
      else if (!log(effect.record)) return;
    }
    if (isPainting(state)) show();
    const wakeMs = nextWakeMs(state);
    if (wakeMs !== null) cancelTimer = clock.after(wakeMs - atMs, () => happen({ kind: "tick" }));
  }

  /** An agent whose log is not whole is of no use to its reader: it ends. */
  function log(record: DemoLogRecord): boolean {
    if (hook) {
      keepRecord(record);
      for (const payload of payloadsOf(record)) runHook(hook, payload);
    }
    if (logPath === null) return true;
    try {
      files.append("demo.log", logPath, renderLogLine(record));
      return true;
    } catch (error) {
      leave(1, true, `demo-agent: the log ${logPath} cannot be written: ${messageOf(error)}\r\n`);
      return false;
    }
  }

  const recordRoot = demoRecordRoot(process.env, process.env["HOME"] ?? "/");
  const recordPath = childPath(recordRoot, `demo-${process.pid}-${clock.nowMs()}.jsonl`);
  const payloadsOf = createHookPayloads(process.pid, recordPath);
  const recordLinesOf = createRecordLines();

  /** As real tools do. */
  function keepRecord(record: DemoLogRecord): void {
    const ended = record.kind === "turn_ended" ? record.turn : null;
    const cell = state.cells.findLast((one) => one.kind === "answer" && one.turn === ended);
    const said = cell?.kind === "answer" ? answerText(cell) : null;
    const lines = recordLinesOf(record, said, toTimestamp(clock.nowMs()));
    if (lines.length === 0) return;
    files.ensureDirectory("demo.records", recordRoot);
    files.append("demo.record", recordPath, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  }

  let hooked: Promise<unknown> = Promise.resolve();

  /** One after the other, in the order of their events. */
  function runHook(command: readonly string[], payload: Record<string, unknown>): void {
    hooked = hooked.then(async () => {
      const run = createProcesses({ steps: quietSteps }).pipe(command);
      run.write(JSON.stringify(payload));
      run.closeInput();
      await run.exited;
    });
    hooked = hooked.catch(() => {});
  }

  async function workMail(turn: number, round: MailRound): Promise<void> {
    const { workMailRound } = await import("./demo-agent-mail.ts");
    const problem = await workMailRound({
      clock,
      round,
      acted: (act) => happen({ kind: "mail_acted", act }),
    });
    happen({ kind: "mail_round_ended", turn, problem });
  }

  const programs = new Map<number, PipedProcess>();

  function runProgram(turn: number, command: readonly string[], prompt: string): void {
    const ended = (code: number | null) => {
      programs.delete(turn);
      happen({ kind: "program_ended", turn, code });
    };
    let program: PipedProcess;
    try {
      program = createProcesses({ steps: quietSteps }).pipe(command);
    } catch {
      clock.after(0, () => ended(null));
      return;
    }
    programs.set(turn, program);
    program.write(prompt);
    program.closeInput();
    void (async () => {
      // What it says is nobody's business, but it must be able to say it.
      for await (const _ of program.stdout);
    })();
    void program.exited.then(ended);
  }

  function show(): void {
    const frame = render(state, size());
    const bytes = paint(shown, frame);
    if (bytes !== "") stdout.write(bytes);
    shown = frame;
  }

  function leave(code: number, restore: boolean, lastWords = ""): void {
    for (const program of programs.values()) program.kill();
    for (const [name, listener] of signals) process.off(name, listener);
    stdin.off("data", onData).off("end", onEnd);
    if (!restore) {
      end.resolve(code);
      return;
    }
    // A terminal that has gone may refuse this, or never take it: the agent ends all the same.
    clock.after(goneMs, () => end.resolve(code));
    try {
      show();
      stdin.setRawMode(false);
      stdin.pause();
      stdout.write(leaveSequence(shown) + lastWords, () => end.resolve(code));
    } catch {
      end.resolve(code);
    }
  }

  const onData = (bytes: Uint8Array) => happen({ kind: "bytes", bytes });
  const onEnd = () => happen({ kind: "stop", why: "end_of_input" });
  const onResize = () => {
    shown = null;
    happen({ kind: "resize", ...size() });
  };
  const stopOn = (name: NodeJS.Signals) => [name, () => happen({ kind: "stop", why: name })] as const;
  const signals = [stopOn("SIGTERM"), stopOn("SIGHUP"), stopOn("SIGINT")];

  for (const [name, listener] of signals) process.on(name, listener);
  // A terminal that has gone shows as a failed write; the signal or the end of the input follows.
  stdout.on("error", () => {}).on("resize", onResize);
  stdin.setRawMode(true);
  stdin.on("data", onData).on("end", onEnd).on("error", onEnd);
  stdout.write(enterSequence);
  happen({ kind: "started", pid: process.pid, ...size() });
  return end.promise;
}
