import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  type HeadlessFacts,
  type HeadlessPlan,
  type HeadlessSession,
  type HeadlessStep,
  planHeadlessTurn,
} from "../../services/demo/headless-turn.ts";
import { planRoots } from "../../services/sessions/roots.ts";
import { type Clock, createClock, sleep } from "../../system/clock.ts";
import { childPath } from "../../system/contained-path.ts";
import { messageOf } from "../../system/errors.ts";
import { createFiles, type Files } from "../../system/files.ts";
import { createIds, type Ids } from "../../system/ids.ts";
import { quietSteps } from "../../system/steps.ts";
import type { CliIo } from "../command-line/command.ts";
import { readStdin } from "../command-line/flag-values.ts";
import { createProcessIo } from "../command-line/process-io.ts";

/** Options of every form of the scripted agent without a terminal. */
export interface AgentOptions {
  stateFolder: string;
  logPath: string | null;
  speed: number;
}

interface Options extends AgentOptions {
  model: string | null;
  effort: string | null;
  resume: { mode: "new" } | { mode: "last" } | { mode: "exact"; id: string };
}

interface Parts {
  files: Files;
  ids: Ids;
  clock: Clock;
  io: CliIo;
}

/**
 * One turn of the scripted agent without a terminal: reads the prompt from standard input, writes its stream
 * as JSON lines and keeps its conversations as files in the state folder. Resolves to the exit code: 2 for
 * wrong arguments, 1 for a conversation that does not exist and for a turn that was asked to fail.
 */
export async function runHeadlessDemoAgent(
  argv: string[],
  plan: (facts: HeadlessFacts) => HeadlessPlan = planHeadlessTurn,
): Promise<number> {
  const ids = createIds();
  const io = createProcessIo();
  const parts = { ids, io, clock: createClock(), files: createFiles({ ids, steps: quietSteps }) };
  try {
    return await takeTurn(parseOptions(argv, io), parts, plan);
  } catch (error) {
    await io.writeError(`demo-agent: ${messageOf(error)}\n`).catch(() => {});
    return 2;
  }
}

function parseOptions(argv: string[], io: CliIo): Options {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({
    args: argv,
    strict: true,
    options: {
      headless: flag,
      state: text,
      log: text,
      speed: { ...text, default: "1" },
      model: text,
      effort: text,
      resume: text,
      continue: flag,
    },
  });
  return {
    ...toAgentOptions(values, io),
    model: values.model ?? null,
    effort: values.effort ?? null,
    resume:
      values.resume !== undefined
        ? { mode: "exact", id: values.resume }
        : { mode: values.continue ? "last" : "new" },
  };
}

/** Throws for a speed outside 0 to 1000. */
export function toAgentOptions(
  values: { state?: string | undefined; log?: string | undefined; speed: string },
  { env, home }: CliIo,
): AgentOptions {
  const speed = Number(values.speed);
  if (!(speed > 0 && speed <= 1000)) throw new Error("--speed must be a number above 0, at most 1000");
  return {
    stateFolder: values.state === undefined ? defaultFolder(env, home) : resolve(values.state),
    logPath: values.log === undefined ? null : resolve(values.log),
    speed,
  };
}

/** Beside the sessions of the user, as a tool's own home would be. */
function defaultFolder(env: CliIo["env"], home: string): string {
  return join(planRoots({ flags: {}, env, home, overlay: null }).runtimeRoot, "demo-agent");
}

async function takeTurn(options: Options, parts: Parts, plan: typeof planHeadlessTurn): Promise<number> {
  const { stateFolder, logPath, model, effort, speed, resume } = options;
  const { files, io } = parts;
  const prompt = await readStdin(io);
  files.ensureDirectory("demo.state", stateFolder);
  const found = openSession(options, parts);
  if (found === null) {
    await io.writeError("demo-agent: no such conversation\n");
    return 1;
  }
  const session = { ...found, turns: found.turns + 1 };
  saveSession(files, stateFolder, session);
  if (logPath !== null) {
    const { session_id, turns } = session;
    const run = { pid: process.pid, session_id, turn: turns, resume: resume.mode, model, effort, prompt };
    files.append("demo.log", logPath, `${JSON.stringify(run)}\n`);
  }
  const { steps, exitCode } = plan({ prompt, session, model, effort });
  for (const step of steps) await perform(step, { ...parts, stateFolder, speed });
  return exitCode;
}

async function perform(
  step: HeadlessStep,
  parts: Parts & { stateFolder: string; speed: number },
): Promise<void> {
  const { io, clock, files, stateFolder, speed } = parts;
  switch (step.kind) {
    case "record":
      return io.writeOut(`${JSON.stringify(step.record)}\n`);
    case "wait":
      return sleep(clock, step.ms / speed);
    case "warning":
      return io.writeError(`${step.text}\n`);
    case "ask":
      return;
    case "save":
      return saveSession(files, stateFolder, step.session);
    case "act":
      return step.act();
  }
}

/** The conversation to go on with, or a new one; null when the one that was named does not exist. */
export function openSession(
  { resume, stateFolder }: Pick<Options, "resume" | "stateFolder">,
  { files, ids }: Pick<Parts, "files" | "ids">,
): HeadlessSession | null {
  const id =
    resume.mode === "exact"
      ? resume.id
      : resume.mode === "last"
        ? files.read(lastPath(stateFolder), { owner: "anyone" })
        : null;
  if (id === null) return { session_id: ids.uuid(), turns: 0, remembered: [] };
  const text = /^[0-9a-f-]{36}$/.test(id)
    ? files.read(sessionPath(stateFolder, id), { owner: "anyone" })
    : null;
  return text === null ? null : (JSON.parse(text) as HeadlessSession);
}

export function saveSession(files: Files, folder: string, session: HeadlessSession): void {
  const plain = { durable: false };
  files.write("demo.session", sessionPath(folder, session.session_id), JSON.stringify(session), plain);
  files.write("demo.last", lastPath(folder), session.session_id, plain);
}

const sessionPath = (folder: string, id: string) => childPath(folder, `${id}.json`);
const lastPath = (folder: string) => join(folder, "last");
