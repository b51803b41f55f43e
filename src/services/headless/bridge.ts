import type { TurnProcess, TurnRequest } from "../../protocol/turn-files.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes, StreamedProcess } from "../../system/processes.ts";
import { renderTurnStart } from "./display.ts";
import { endProvider } from "./end-provider.ts";
import { createOutputPump, type OutputPump } from "./output-pump.ts";
import type { HeadlessProvider, TurnSummary } from "./provider.ts";
import { openTurn, type TurnDirectory } from "./turn-directory.ts";
import { decideVerdict } from "./verdict.ts";

export interface BridgeDeps {
  clock: Clock;
  files: Files;
  processes: Processes;
  locks: Locks;
  providerOf: (tool: string) => HeadlessProvider | null;
  /** The environment that the tool gets. */
  env: Record<string, string>;
  /** Shows text in the pane; may go nowhere. */
  show: (text: string) => void;
}

/** What a tool that has ended may leave running with its output open is not waited for longer than this. */
const drainMs = 2000;

/**
 * The process beside a provider: it outlives the gateway, and everything it knows is in the turn's directory.
 */
export function createBridge(deps: BridgeDeps) {
  const { clock, files, processes, locks } = deps;
  let turn: TurnDirectory | null = null;
  let child: StreamedProcess | null = null;

  function describeSelf(started: StreamedProcess | null): TurnProcess {
    const self = processes.selfPid();
    return {
      runner_pid: self,
      runner_start: processes.startToken(self),
      child_pid: started?.pid ?? null,
      child_start: started ? processes.startToken(started.pid) : null,
      launched_at_utc: timestampNow(clock),
    };
  }

  function stopChild(): void {
    const startToken = child && processes.startToken(child.pid);
    if (child && startToken) void endProvider(deps, { pid: child.pid, startToken });
  }

  async function play(at: TurnDirectory, request: TurnRequest): Promise<void> {
    const provider = deps.providerOf(request.tool);
    if (!provider) return settle(at, null, { error: `no provider drives ${request.tool}` });
    at.saveProcess(describeSelf(null));
    // Looked for after the claim: an interrupt that came before it must keep the tool from being started.
    if (at.interrupt()) return settle(at, null, { error: "interrupted before the tool was started" });
    const { prompt, session, model, executable, args, role_prompt, working_directory } = request;
    const display = { style: request.display_style, detail: request.display_detail };
    deps.show(renderTurnStart({ turnIndex: request.turn_index, prompt }, display));
    const pump = createOutputPump({ ...deps, request, provider, paths: at.paths });
    try {
      const command = provider.command({
        prompt,
        session,
        model,
        executable,
        args,
        rolePrompt: role_prompt,
        promptFile: at.paths.prompt,
      });
      if (command.promptFile !== undefined)
        files.write("file:turn-prompt", at.paths.prompt, command.promptFile, { durable: false });
      child = processes.stream("process:provider", command.argv, {
        env: { ...deps.env, ...command.env },
        cwd: working_directory,
      });
      // Before the prompt is given: a tool whose starter dies here was never asked anything.
      at.saveProcess(describeSelf(child));
      child.give(command.stdin);
      if (at.interrupt()) stopChild();
      await carry(at, child, pump);
    } catch (error) {
      if (child) throw error;
      settle(at, null, { error: `the tool could not be started: ${messageOf(error)}` });
    } finally {
      pump.close();
    }
  }

  async function carry(at: TurnDirectory, running: StreamedProcess, pump: OutputPump): Promise<void> {
    let trouble: string | null = null;
    const streams = Promise.all([
      pump.carry("stdout", running.stdout),
      pump.carry("stderr", running.stderr),
    ]).catch((error: unknown) => {
      // A tool whose output cannot be kept must not work on unseen.
      trouble = `its output could not be kept: ${messageOf(error)}`;
      stopChild();
    });
    const end = await running.exited;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(drainMs, resolve);
    await Promise.race([streams, late]);
    cancel();
    const { summary, lastStderr } = pump.finish();
    settle(at, summary, { ...end, lastStderr: trouble ?? lastStderr });
  }

  /** Writes the final state; `facts.error` stands for a tool that never ran. */
  function settle(
    at: TurnDirectory,
    summary: TurnSummary | null,
    facts: {
      exitCode?: number | null;
      signal?: string | null;
      lastStderr?: string | null;
      error?: string;
    },
  ): void {
    const { exitCode = null, signal = null, lastStderr = null } = facts;
    const interruptRequested = at.interrupt() !== null;
    const verdict = summary
      ? decideVerdict({ summary, exitCode, signal, interruptRequested, lastStderr, exited: true })
      : {
          status: interruptRequested ? ("interrupted" as const) : ("failed" as const),
          error: facts.error ?? null,
          completionSource: "not_started",
        };
    at.saveResult({
      schema_version: 1,
      status: verdict.status,
      completed_at_utc: timestampNow(clock),
      returncode: exitCode,
      signal,
      completion_source: verdict.completionSource,
      session_id: summary?.sessionId ?? null,
      history_summary: summary?.historySummary ?? null,
      error: verdict.error,
      usage: summary?.usage ? { ...summary.usage } : null,
    });
    deps.show(`\n[turn ${at.turnId} ${verdict.status}${verdict.error ? `: ${verdict.error}` : ""}]\n`);
  }

  return {
    /**
     * Runs the turn in `folder` once: the tool, its output to disk, events, final state. Holds the turn's lock
     * all the while. Resolves `refused`, with nothing run, when somebody has begun or settled the turn before.
     */
    async run(folder: string): Promise<"ran" | "refused"> {
      const at = openTurn(files, folder);
      const request = at.request();
      if (!request) throw new ServiceError("not_found", `there is no turn in ${folder}`);
      return locks.hold(at.paths.lock, async () => {
        if (at.process() || at.result()) return "refused";
        turn = at;
        await play(at, request);
        return "ran";
      });
    },
    /** Ends the tool as an interrupt does; the turn then finishes its record by itself. Safe at any time. */
    interrupt(by: "pane"): void {
      turn?.saveInterrupt({ requested_at_utc: timestampNow(clock), requested_by: by });
      stopChild();
    },
  };
}
