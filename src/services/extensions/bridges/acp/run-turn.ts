import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";
import { renderJson } from "../../../../protocol/json.ts";
import type { TurnProcess, TurnRequest } from "../../../../protocol/turn-files.ts";
import { aborted, type Clock, sleep, timestampNow, withinTime } from "../../../../system/clock.ts";
import type { Files } from "../../../../system/files.ts";
import type { Locks } from "../../../../system/locks.ts";
import type { Processes } from "../../../../system/processes.ts";
import type { FolderWatch } from "../../../../system/watch.ts";
import { questionPaths, readAnswer } from "../../../headless/acp-files.ts";
import { renderTurnStart, toSummary } from "../../../headless/display.ts";
import { createOutputPump, type OutputPump } from "../../../headless/output-pump.ts";
import { type HeadlessProvider, promptWithRole } from "../../../headless/provider.ts";
import type { TurnDirectory } from "../../../headless/turn-directory.ts";
import { decideVerdict, type Verdict } from "../../../headless/verdict.ts";
import type { KnownProcess } from "../../../sessions/process-tree.ts";
import {
  type AgentLimits,
  type AgentSession,
  defaultLimits,
  reasonOf,
  type TurnListener,
  waitForExit,
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
  /** Shows text in the pane; may go nowhere. */
  show: (text: string) => void;
  limits?: Partial<AgentLimits>;
}

const pollIntervalMs = 250;

/**
 * Runs one turn with the agent of the session to its final state and holds the turn's lock meanwhile. Returns
 * `refused`, and runs nothing, when the turn was begun or settled before.
 */
export async function runTurn(deps: RunTurnDeps, at: TurnDirectory): Promise<"ran" | "refused"> {
  const request = at.request();
  if (!request) return "refused";
  return deps.locks.hold(at.paths.lock, async () => {
    if (at.process() || at.result()) return "refused";
    const controls = watchControls(deps, at);
    try {
      await openAndPrompt(deps, at, request, controls);
    } finally {
      controls.end();
    }
    return "ran";
  });
}

/** The interrupt and the answers that the gateway writes into the folder of a turn. */
interface TurnControls {
  /** Aborts when the gateway asks for an interrupt, and when the folder of the turn is removed. */
  interrupted: AbortSignal;
  /** Resolves after something may have changed. */
  change(): Promise<void>;
  end(): void;
}

function watchControls({ clock, files, watch }: RunTurnDeps, at: TurnDirectory): TurnControls {
  const interrupted = new AbortController();
  // Nobody can interrupt a turn whose folder is gone, nor learn what it came to.
  const isUnwanted = () => at.interrupt() !== null || !files.isOwnFolder(at.paths.folder);
  const ended = new AbortController();
  let waiting: (() => void)[] = [];
  const check = () => {
    if (!interrupted.signal.aborted && isUnwanted()) interrupted.abort();
    const resolves = waiting;
    waiting = [];
    for (const resolve of resolves) resolve();
  };
  const unwatch = watch.watchFolder(at.paths.folder, (name) => {
    if (name === null || name === "interrupt.json" || name === "answer.json") check();
  });
  void (async () => {
    while (!ended.signal.aborted) {
      check();
      await sleep(clock, pollIntervalMs, ended.signal);
    }
  })();
  return {
    interrupted: interrupted.signal,
    change: () => new Promise((resolve) => void waiting.push(resolve)),
    end() {
      ended.abort();
      unwatch();
    },
  };
}

async function openAndPrompt(
  deps: RunTurnDeps,
  at: TurnDirectory,
  request: TurnRequest,
  controls: TurnControls,
): Promise<void> {
  const { clock, files, session } = deps;
  const provider = deps.providerOf(request.tool);
  const fail = (error: string) => settle(deps, at, { notStarted: error });
  if (!provider) return fail(`no provider drives ${request.tool}`);
  // The agent may run already; this turn has not used it yet.
  at.saveProcess({ ...describe(deps), child_pid: null, child_start: null });
  // Read after the claim: an interrupt from before it must prevent the prompt.
  if (at.interrupt()) return fail("interrupted before the prompt was given");
  const display = { style: request.display_style, detail: request.display_detail };
  deps.show(renderTurnStart({ turnIndex: request.turn_index, prompt: request.prompt }, display));
  const opened = await session.open(request, controls.interrupted).catch((error: unknown) => ({ error }));
  if ("error" in opened) {
    return fail(
      controls.interrupted.aborted ? "interrupted before the prompt was given" : reasonOf(opened.error),
    );
  }
  const { sessionId } = opened;
  const pump = createOutputPump({
    files,
    clock,
    request,
    paths: at.paths,
    show: deps.show,
    provider: { parser: (context) => provider.parser({ ...context, sessionId }) },
  });
  try {
    at.saveProcess(describe(deps));
    pump.note("session", "svc/session", `session ${sessionId}`, { session_id: sessionId });
    const text = opened.isNew
      ? promptWithRole({ ...request, rolePrompt: request.role_prompt, session: { mode: "new" } })
      : request.prompt;
    await promptAgent(deps, { at, request, pump, controls, text, sessionId });
  } finally {
    pump.close();
  }
}

interface OpenedTurn {
  at: TurnDirectory;
  request: TurnRequest;
  pump: OutputPump;
  controls: TurnControls;
  text: string;
  sessionId: string;
}

/** Sends the prompt, cancels it when the gateway interrupts, and settles the turn. */
async function promptAgent(deps: RunTurnDeps, turn: OpenedTurn): Promise<void> {
  const { session, clock } = deps;
  const { at, pump, controls, sessionId } = turn;
  const permissions = createPermissions(deps, turn);
  const listener = createListener(deps, { pump, permission: permissions.ask });
  const before = await session.tree();
  const exited = session.exited();
  const answered = session.prompt(turn.text, listener).then(
    () => "answered" as const,
    // An error, or the end of its output: the process may be about to exit.
    () => waitForExit(clock, exited).then(() => "answered" as const),
  );
  const interrupted = aborted(controls.interrupted).then(() => "interrupted" as const);
  if ((await Promise.race([answered, exited, interrupted])) === "interrupted") {
    await cancelPrompt(deps, { settled: Promise.race([answered, exited]), before });
  }
  permissions.close();
  const end = session.process() === null ? await exited : { exitCode: null, signal: null };
  const { summary, lastStderr } = pump.finish();
  const { historySummary, usage } = summary;
  const verdict = decideVerdict({
    summary,
    ...end,
    exited: true,
    lastStderr: listener.outputFault() ?? lastStderr,
    interruptRequested: at.interrupt() !== null,
  });
  // A turn without a stop reason leaves the agent in an unknown state.
  if (verdict.completionSource !== "terminal_event") await session.end("SIGINT");
  settle(deps, at, { verdict, end, sessionId, historySummary, usage });
}

/** `outputFault`: why output could not be stored; null when all was. */
function createListener(
  { session }: RunTurnDeps,
  { pump, permission }: { pump: OutputPump; permission: TurnListener["permission"] },
): TurnListener & { outputFault(): string | null } {
  let fault: string | null = null;
  return {
    output(stream, chunk) {
      try {
        pump.push(stream, chunk);
      } catch (error) {
        // An agent whose output cannot be stored must not go on.
        fault ??= `its output could not be kept: ${reasonOf(error)}`;
        void session.end("SIGINT");
      }
    },
    permission,
    outputFault: () => fault,
  };
}

/**
 * Cancels the prompt, ends the agent when it does not answer in time, and ends processes that the turn left.
 */
async function cancelPrompt(
  { session, clock, limits }: RunTurnDeps,
  { settled, before }: { settled: Promise<unknown>; before: readonly KnownProcess[] },
): Promise<void> {
  await session.cancel().catch(() => {});
  const answer = settled.then(() => "settled" as const);
  const inTime = await withinTime(clock, limits?.cancelMs ?? defaultLimits.cancelMs, answer);
  if (inTime === null) await session.end("SIGINT");
  // codex-acp 2.6.0 answers the cancel and leaves the command running.
  else await session.endLeftovers(before);
}

/** Answers permission requests of the agent: by the policy, else by a person, one after the other. */
function createPermissions(
  { files, clock }: RunTurnDeps,
  {
    at,
    request,
    pump,
    controls,
  }: { at: TurnDirectory; request: TurnRequest; pump: OutputPump; controls: TurnControls },
) {
  const paths = questionPaths(at.paths.folder);
  const closed = new AbortController();
  let asked = 0;
  let lastQuestion: Promise<unknown> = Promise.resolve();

  function note(text: string, data: Record<string, unknown>): void {
    pump.note("progress", "svc/permission", text, data);
  }

  async function askPerson(
    question: RequestPermissionRequest,
    signal: AbortSignal,
  ): Promise<RequestPermissionResponse> {
    asked += 1;
    const id = `${at.turnId}-${asked}`;
    const isWithdrawn = () => signal.aborted || closed.signal.aborted || controls.interrupted.aborted;
    const decision = toDecision(question, { id, sinceUtc: timestampNow(clock) });
    files.write("file:acp-question", paths.question, renderJson({ schema_version: 1, decision }));
    try {
      const withdrawn = aborted(AbortSignal.any([signal, closed.signal, controls.interrupted]));
      while (!isWithdrawn()) {
        const answer = readAnswer(files, at.paths.folder);
        const option = answer?.id === id ? question.options[answer.index - 1] : undefined;
        if (option) {
          note(`a person chose: ${option.name}`, { by: "person", option: option.kind });
          return { outcome: { outcome: "selected", optionId: option.optionId } };
        }
        await Promise.race([controls.change(), withdrawn]);
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
        const title = call.title || question.toolCall.toolCallId;
        note(`the policy says ${action}: ${title}`, { by: "policy", action });
        return settled;
      }
      const answer = lastQuestion.then(() => askPerson(question, signal));
      lastQuestion = answer.catch(() => {});
      return answer;
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
  // It may quote the agent.
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
