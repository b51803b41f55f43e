import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { renderJson } from "../../protocol/json.ts";
import type { TurnProcess, TurnRequest } from "../../protocol/turns.ts";
import { type Clock, sleep, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import type { FolderWatch } from "../../system/watch.ts";
import { questionPaths, readAnswer } from "../headless/acp-files.ts";
import { renderTurnStart, toSummary } from "../headless/display.ts";
import { createOutputPump, type OutputPump } from "../headless/output-pump.ts";
import { type HeadlessProvider, promptWithRole } from "../headless/provider.ts";
import { decideVerdict, type Verdict } from "../headless/settle-turn.ts";
import type { TurnDirectory } from "../headless/turn-directory.ts";
import {
  type AgentLimits,
  type AgentSession,
  defaultLimits,
  leave,
  reasonOf,
  type TurnEars,
} from "./agent-session.ts";
import { answerOfPolicy, cancelledOutcome, decidePermission, toAskedCall, toDecision } from "./permission.ts";

export interface RunTurnDeps {
  clock: Clock;
  files: Files;
  processes: Processes;
  locks: Locks;
  watch: FolderWatch;
  providerOf: (tool: string) => HeadlessProvider | null;
  session: AgentSession;
  show: (text: string) => void;
  limits?: Partial<AgentLimits>;
}

const pollIntervalMs = 250;

/**
 * Runs one turn with the agent of the session, once, to its final state, holding the turn's lock all the while. Returns
 * `refused`, with nothing run, when somebody has begun or settled it before.
 */
export async function runTurn(deps: RunTurnDeps, at: TurnDirectory): Promise<"ran" | "refused"> {
  const request = at.request();
  if (!request) return "refused";
  return deps.locks.hold(at.paths.lock, async () => {
    if (at.process() || at.result()) return "refused";
    const wishes = followWishes(deps, at);
    try {
      await play(deps, at, request, wishes);
    } finally {
      wishes.end();
    }
    return "ran";
  });
}

/** What the gateway writes into the folder of a turn while it runs. */
interface Wishes {
  /** Aborts once the turn is to be interrupted. */
  interrupted: AbortSignal;
  /** Resolves after something may have changed. */
  change(): Promise<void>;
  end(): void;
}

function followWishes({ clock, watch }: RunTurnDeps, at: TurnDirectory): Wishes {
  const interrupted = new AbortController();
  const over = new AbortController();
  let waiting: (() => void)[] = [];
  const look = () => {
    if (!interrupted.signal.aborted && at.interrupt()) interrupted.abort();
    const roused = waiting;
    waiting = [];
    for (const rouse of roused) rouse();
  };
  const unwatch = watch.watchFolder(at.paths.folder, (name) => {
    if (name === null || name === "interrupt.json" || name === "answer.json") look();
  });
  void (async () => {
    while (!over.signal.aborted) {
      look();
      await sleep(clock, pollIntervalMs, over.signal);
    }
  })();
  return {
    interrupted: interrupted.signal,
    change: () => new Promise((resolve) => void waiting.push(resolve)),
    end() {
      over.abort();
      unwatch();
    },
  };
}

async function play(
  deps: RunTurnDeps,
  at: TurnDirectory,
  request: TurnRequest,
  wishes: Wishes,
): Promise<void> {
  const { clock, files, session } = deps;
  const provider = deps.providerOf(request.tool);
  const fail = (error: string) => settle(deps, at, { notStarted: error });
  if (!provider) return fail(`no provider drives ${request.tool}`);
  // The agent may run already; nothing was asked of it for this turn.
  at.saveProcess({ ...describe(deps), child_pid: null, child_start: null });
  // Looked for after the claim: an interrupt that came before it must keep the prompt from being given.
  if (at.interrupt()) return fail("interrupted before the prompt was given");
  const display = { style: request.display_style, detail: request.display_detail };
  deps.show(renderTurnStart({ turnIndex: request.turn_index, prompt: request.prompt }, display));
  const opened = await session.open(request, wishes.interrupted).catch((error: unknown) => ({ error }));
  if ("error" in opened) {
    return fail(
      wishes.interrupted.aborted ? "interrupted before the prompt was given" : reasonOf(opened.error),
    );
  }
  const { sessionId } = opened;
  const pump = createOutputPump({
    ...{ files, clock, request, paths: at.paths, show: deps.show },
    provider: { parser: (context) => provider.parser({ ...context, sessionId }) },
  });
  try {
    at.saveProcess(describe(deps));
    pump.note("session", "svc/session", `session ${sessionId}`, { session_id: sessionId });
    const text = opened.isNew
      ? promptWithRole({ ...request, rolePrompt: request.role_prompt, session: { mode: "new" } })
      : request.prompt;
    await carry(deps, { at, request, pump, wishes, text, sessionId });
  } finally {
    pump.close();
  }
}

async function carry(
  deps: RunTurnDeps,
  turn: {
    at: TurnDirectory;
    request: TurnRequest;
    pump: OutputPump;
    wishes: Wishes;
    text: string;
    sessionId: string;
  },
): Promise<void> {
  const { session, clock } = deps;
  const { at, pump, wishes } = turn;
  const permissions = createPermissions(deps, turn);
  let trouble: string | null = null;
  const ears: TurnEars = {
    output(stream, chunk) {
      try {
        pump.push(stream, chunk);
      } catch (error) {
        // An agent whose output cannot be kept must not work on unseen.
        trouble ??= `its output could not be kept: ${reasonOf(error)}`;
        void session.end("SIGINT");
      }
    },
    permission: permissions.ask,
  };
  const before = await session.tree();
  const answered = session.prompt(turn.text, ears).then(
    () => "answered" as const,
    // An error, or the end of its output: a process that ends says so in a moment.
    () => leave(clock, session.exited()).then(() => "answered" as const),
  );
  const ended = session.exited();
  const stopped = new Promise<"interrupted">((resolve) => {
    const stop = () => resolve("interrupted");
    wishes.interrupted.addEventListener("abort", stop, { once: true });
    if (wishes.interrupted.aborted) stop();
  });
  const first = await Promise.race([answered, ended.then(() => "ended" as const), stopped]);
  if (first === "interrupted") {
    await session.cancel().catch(() => {});
    const over = new AbortController();
    const late = sleep(clock, deps.limits?.cancelMs ?? defaultLimits.cancelMs, over.signal).then(
      () => "late",
    );
    if ((await Promise.race([answered, ended, late])) === "late") await session.end("SIGINT");
    // codex-acp 2.6.0 answers the cancel and leaves the command running.
    else await session.endLeft(before);
    over.abort();
  }
  permissions.close();
  const end = session.process() === null ? await ended : { exitCode: null, signal: null };
  const { summary, lastStderr } = pump.finish();
  const verdict = decideVerdict({
    ...{ summary, ...end, exited: true, lastStderr: trouble ?? lastStderr },
    interruptRequested: at.interrupt() !== null,
  });
  // What an agent says that the turn did not end with a message of it is not worth another prompt to it.
  if (verdict.completionSource !== "terminal_event") await session.end("SIGINT");
  settle(deps, at, {
    verdict,
    end,
    sessionId: turn.sessionId,
    historySummary: summary.historySummary,
    usage: summary.usage,
  });
}

/** Answers what the agent asks: by the policy, else by a person, one question after the other. */
function createPermissions(
  { files, clock }: RunTurnDeps,
  {
    at,
    request,
    pump,
    wishes,
  }: { at: TurnDirectory; request: TurnRequest; pump: OutputPump; wishes: Wishes },
) {
  const paths = questionPaths(at.paths.folder);
  const closed = new AbortController();
  let asked = 0;
  let turnOf: Promise<unknown> = Promise.resolve();

  function note(text: string, data: Record<string, unknown>): void {
    pump.note("progress", "svc/permission", text, data);
  }

  async function askPerson(
    question: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    asked += 1;
    const id = `${at.turnId}-${asked}`;
    const isOver = () => signal.aborted || closed.signal.aborted || wishes.interrupted.aborted;
    const decision = toDecision(question, { id, sinceUtc: timestampNow(clock) });
    files.write("file:acp-question", paths.question, renderJson({ schema_version: 1, decision }));
    try {
      const withdrawn = new Promise<void>((resolve) => {
        for (const one of [signal, closed.signal, wishes.interrupted]) {
          one.addEventListener("abort", () => resolve(), { once: true });
        }
      });
      while (!isOver()) {
        const answer = readAnswer(files, at.paths.folder);
        const option = answer?.id === id ? question.options[answer.index - 1] : undefined;
        if (option) {
          note(`a person chose: ${option.name}`, { by: "person", option: option.kind });
          return { outcome: { outcome: "selected", optionId: option.optionId } };
        }
        await Promise.race([wishes.change(), withdrawn]);
      }
      note("the question was withdrawn", { by: "interrupt", option: null });
      return cancelledOutcome;
    } finally {
      files.removeFile("file:acp-question", paths.question);
    }
  }

  return {
    async ask(question: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
      const call = toAskedCall(question);
      const action = decidePermission(request.acp?.policy ?? [], call);
      const settled = action === "ask" ? null : answerOfPolicy(action, question.options);
      if (settled) {
        note(`the policy says ${action}: ${call.title}`, { by: "policy", action });
        return settled;
      }
      const own = turnOf.then(() => askPerson(question, signal));
      turnOf = own.catch(() => {});
      return own;
    },
    close: () => closed.abort(),
  };
}

function describe({ clock, processes, session }: RunTurnDeps): TurnProcess {
  const self = processes.selfPid();
  const child = session.process();
  return {
    runner_pid: self,
    runner_start: processes.startToken(self),
    child_pid: child?.pid ?? null,
    child_start: child?.startToken ?? null,
    launched_at_utc: timestampNow(clock),
  };
}

type Ending =
  | { notStarted: string }
  | {
      verdict: Verdict;
      end: { exitCode: number | null; signal: string | null };
      sessionId: string;
      historySummary: string | null;
      usage: object | null;
    };

function settle(deps: RunTurnDeps, at: TurnDirectory, ending: Ending): void {
  const begun = "verdict" in ending ? ending : null;
  const status = begun ? begun.verdict.status : at.interrupt() ? "interrupted" : "failed";
  // An agent's own words may be in it.
  const error = "verdict" in ending ? ending.verdict.error : toSummary(ending.notStarted, 2000);
  at.saveResult({
    schema_version: 1,
    status,
    completed_at_utc: timestampNow(deps.clock),
    returncode: begun?.end.exitCode ?? null,
    signal: begun?.end.signal ?? null,
    completion_source: begun ? begun.verdict.completionSource : "not_started",
    session_id: begun?.sessionId ?? null,
    history_summary: begun?.historySummary ?? null,
    error,
    usage: begun?.usage ? { ...(begun.usage as Record<string, number | null>) } : null,
  });
  deps.show(`\n[turn ${at.turnId} ${status}${error ? `: ${error}` : ""}]\n`);
}
