import type { Manifest } from "../../protocol/files.ts";
import type { Evidence } from "../../protocol/gateway.ts";
import type { AwaitingDecision } from "../../protocol/terminal.ts";
import type { TurnProcess, TurnRequest, TurnResult, TurnSession } from "../../protocol/turn-files.ts";
import type { TurnEvent } from "../../protocol/turns.ts";
import { afterThisTurn, type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Processes } from "../../system/processes.ts";
import type { Steps } from "../../system/steps.ts";
import type { RunningTurn, Submission, TurnEnd } from "../agent/agent.ts";
import type { EventLog } from "../diagnostics/event-log.ts";
import { planEnvironment, runtimeSettings } from "../sessions/environment.ts";
import type { ManifestStore } from "../sessions/manifest.ts";
import { type Environment, sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux/command.ts";
import { createLauncher } from "../terminal/tmux/launch.ts";
import { decisionOf, handToBridge } from "./acp-hand-over.ts";
import { settleTurn } from "./settle-turn.ts";
import { openTurn, type TurnDirectories, type TurnDirectory } from "./turn-directory.ts";
import { createTurnReader, type FollowDeps, type FollowedTurn, followTurn } from "./turn-reader.ts";
import { acpLaunchOf, instanceMarkOf, toTurnRequest, turnIndexOf } from "./turn-request.ts";

/** Puts the bridge of a turn into the agent's pane. */
type TurnPane = ReturnType<typeof createTurnPane>;

/** Set for our own processes, and none of the tool's business. */
const ofTheGateway = new Set(Object.keys(runtimeSettings));

export function createTurnPane(deps: {
  tmux: Tmux;
  files: Files;
  clock: Clock;
  processes: Processes;
  ids: Ids;
  steps: Steps;
  sessionRoot: string;
  /** How this very program is started as a bridge; the folder of the turn is appended. */
  bridgeCommand: readonly string[];
  personEnvironment: Environment;
  /** As of `createLauncher`. */
  over?: NonNullable<Parameters<typeof createLauncher>[0]["over"]>;
}) {
  const { files, sessionRoot } = deps;
  const launcher = createLauncher({ ...deps, folder: sessionRoot });

  function environmentOf({ launch_plan: plan, agent_id }: Manifest): Record<string, string> {
    const { env_var: homeVariable, home_path: home } = plan.home_selector;
    const person = Object.fromEntries(
      Object.entries(deps.personEnvironment).filter(([name]) => !ofTheGateway.has(name)),
    );
    return planEnvironment({
      person,
      extra: {
        ...openSessionFolder(files, sessionRoot).readLaunchVariables(),
        ...(homeVariable !== null && home !== null ? { [homeVariable]: home } : {}),
      },
      published: { SVC_MANIFEST_PATH: sessionPaths(sessionRoot).manifest, SVC_AGENT_ID: agent_id },
    });
  }

  return {
    /** Throws when tmux refuses; nothing was started then. */
    async begin(
      turnFolder: string,
      { pane, manifest }: { pane: TmuxPane; manifest: Manifest },
    ): Promise<void> {
      const start = (args: readonly string[]) =>
        launcher.respawn(pane.paneId, {
          command: [...deps.bridgeCommand, ...args],
          workdir: manifest.launch_plan.working_directory,
          afterwards: "wait",
          env: environmentOf(manifest),
        });
      if (acpLaunchOf(manifest) === null) await start([turnFolder]);
      else {
        const life = instanceMarkOf(manifest) ?? "";
        await handToBridge(deps, { turn: openTurn(files, turnFolder), life }, () =>
          start(["--acp", sessionRoot, life]),
        );
      }
    },
  };
}

/** Begins turns, one at a time, and follows them to their end. */
export type TurnRunner = ReturnType<typeof createTurnRunner>;

interface TurnRunnerDeps extends FollowDeps {
  ids: Ids;
  turns: TurnDirectories;
  pane: TurnPane;
  manifests: ManifestStore;
  manifestPath: string;
  events: Pick<EventLog, "append">;
}

/**
 * The end of a turn is published first: what its callers wait for shares the thread and the disk with the
 * manifest.
 */
const pinAfterMs = 10;
/**
 * How long a bridge that was just put into the pane may take to claim its turn, and one of an earlier
 * gateway.
 */
const claimMs = { fresh: 30_000, left: 3000 };

/** A request that was being executed belongs to one of the newest turns. */
const recentTurns = 16;

interface Current extends RunningTurn {
  requestId: string | null;
  followed: FollowedTurn | null;
  decision: AwaitingDecision | null;
  /** Kept for a later `resume`. */
  evidence: Evidence[];
  onEvidence: (evidence: Evidence) => void;
}

export function createTurnRunner(deps: TurnRunnerDeps) {
  const { clock, files, ids, turns, manifests, manifestPath, events, log } = deps;
  const reader = createTurnReader({ files, turns });
  const listeners: (() => void)[] = [];
  let current: Current | null = null;
  let written: Manifest | null = null;
  /** Of the newest turn; those of another gateway are found in `takeOver`. */
  let lastIndex = 0;
  /**
   * Writes what the last turn pinned, now, and once; null when a later turn has waited for it. A gateway that
   * dies before leaves it to the `takeOver` of the next one.
   */
  let savePin: (() => Promise<void>) | null = null;

  function changed(): void {
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        log.line("a listener to turns failed", { error: messageOf(error) });
      }
    }
  }

  const latest = (manifest: Manifest): Manifest =>
    written && instanceMarkOf(written) === instanceMarkOf(manifest) ? written : manifest;

  /** `left`: by an earlier process, which has reported the events so far. */
  function follow(
    turn: TurnDirectory,
    { request, manifest, left }: { request: TurnRequest; manifest: Manifest; left: boolean },
  ): Current {
    const { turn_id: turnId, turn_index: turnIndex, request_id: requestId } = request;
    const ended = Promise.withResolvers<TurnEnd>();
    const following: Current = {
      turnId,
      turnIndex,
      requestId,
      followed: null,
      evidence: [],
      decision: null,
      ended: ended.promise,
      onEvidence: () => {},
    };
    let seq = 0;

    function prove(step: Evidence["step"], proof: string): void {
      const evidence = { step, at_utc: timestampNow(clock), proof };
      following.evidence.push(evidence);
      following.onEvidence(evidence);
    }

    function finish(result: TurnResult): void {
      written = pinned(latest(manifest), request, result);
      savePin = soon(() => pin(request, result));
      try {
        events.append("turn_finished", { turn_id: turnId, turn_index: turnIndex, status: result.status });
        prove("turn_ended", turnProofs.turn_ended(result));
      } catch (error) {
        log.line("the end of the turn could not be recorded", { turn_id: turnId, error: messageOf(error) });
      } finally {
        // Whatever became of its record, the turn is over: its slot is free.
        if (current === following) current = null;
        // Who follows the events hears of it before the commit of its request: they are published in the next
        // turn of the event loop, and their streams write in the one after.
        afterThisTurn(() =>
          afterThisTurn(() => {
            ended.resolve(toEnd(result));
            changed();
          }),
        );
      }
    }

    current = following;
    following.followed = followTurn(deps, turn, {
      claimWithinMs: left ? claimMs.left : claimMs.fresh,
      news: {
        onStarted: (process) => prove("submitted", turnProofs.submitted(process)),
        onEvent(event, { old }) {
          seq += 1;
          if (seq === 1) prove("turn_started", turnProofs.turn_started(event));
          if (old && left) return;
          events.append("turn_event", {
            turn_id: turnId,
            turn_index: turnIndex,
            turn_seq: seq,
            event_kind: event.kind,
            provider_event_type: event.provider_event_type,
            message: event.message,
          });
        },
        onLook() {
          const decision = request.acp ? decisionOf(files, turn) : null;
          if (decision?.id === following.decision?.id) return;
          following.decision = decision;
          changed();
        },
        onEnd: finish,
      },
    });
    return following;
  }

  async function pin(request: TurnRequest, result: TurnResult): Promise<void> {
    try {
      written = await manifests.update(manifestPath, (now) => pinned(now, request, result));
    } catch (error) {
      log.line("the conversation could not be pinned", { error: messageOf(error) });
    }
  }

  /**
   * A later turn that fails pins nothing, and nobody would pin the last one after a crash. The agent may be
   * relaunched while its manifest is waited for: a turn of the instance before would not be ended by that
   * relaunch.
   */
  async function pinBefore(manifest: Manifest): Promise<void> {
    if (!savePin) return;
    await savePin();
    savePin = null;
    if (instanceMarkOf(manifests.read(manifestPath)) !== instanceMarkOf(manifest))
      throw new ServiceError("conflict", "the agent has just become a new instance");
  }

  /**
   * Runs `act` once, a moment later, or when what it returns is called before; that resolves when it is done.
   */
  function soon(act: () => Promise<void>): () => Promise<void> {
    let done: Promise<void> | null = null;
    const run = () => {
      done ??= act();
      return done;
    };
    const cancel = clock.after(pinAfterMs, () => void run());
    return () => {
      cancel();
      return run();
    };
  }

  return {
    active: (): { turnId: string; turnIndex: number } | null =>
      current && { turnId: current.turnId, turnIndex: current.turnIndex },
    /** What the active turn asks a person. */
    decision: (): AwaitingDecision | null => current?.decision ?? null,
    /** The manifest with the progress that turns have written since `manifest` was read. */
    latest,
    /** Writes the turn down and hands it to a bridge. Throws when it could not be begun; it then never runs. */
    async begin({
      submission,
      session,
      pane,
      manifest,
    }: {
      submission: Submission;
      session: TurnSession;
      pane: TmuxPane;
      manifest: Manifest;
    }): Promise<RunningTurn> {
      await pinBefore(manifest);
      const { working_directory: workdir } = manifest.launch_plan;
      if (!files.stat(workdir)?.directory) {
        throw new ServiceError("precondition_failed", `the working directory ${workdir} is gone`);
      }
      lastIndex = Math.max(lastIndex, turnIndexOf(manifest)) + 1;
      const turnIndex = lastIndex;
      const request = toTurnRequest({
        manifest,
        turnId: submission.turnId ?? `turn-${ids.hex(6)}`,
        turnIndex,
        requestId: submission.requestId ?? null,
        session,
        requestedAtUtc: timestampNow(clock),
        prompt: submission.prompt,
        execution: submission.execution,
      });
      const turn = turns.create(request);
      const following = follow(turn, { request, manifest, left: false });
      following.onEvidence = submission.onEvidence;
      changed();
      try {
        await deps.pane.begin(turn.paths.folder, { pane, manifest });
      } catch (error) {
        const detail = messageOf(error);
        await settleTurn(deps, turn, { unbegun: `its runner could not be started: ${detail}` });
        throw new ServiceError("dispatch_failed", detail, { cause: error });
      }
      submission.onEvidence({
        step: "typed",
        at_utc: timestampNow(clock),
        proof: `turn ${turn.turnId} was handed to its bridge`,
      });
      return following;
    },
    /**
     * See `AgentTurns.resume`. Reports every known step at once, also those that an earlier process reported.
     */
    resume(requestId: string, onEvidence: (evidence: Evidence) => void): RunningTurn | null {
      if (current?.requestId === requestId) {
        for (const evidence of current.evidence) onEvidence(evidence);
        current.onEvidence = onEvidence;
        return current;
      }
      const turn = turns.list(recentTurns).find((one) => one.request()?.request_id === requestId);
      const result = turn?.result();
      if (!turn || !result) return null;
      const turnIndex = turn.request()?.turn_index ?? 0;
      // It ended while no process followed it: its request still waits for these steps.
      const [firstEvent = null] = reader.events(turn.turnId, 0) ?? [];
      for (const evidence of evidenceOfEnded({ process: turn.process(), firstEvent, result })) {
        onEvidence(evidence);
      }
      return { turnId: turn.turnId, turnIndex, ended: Promise.resolve(toEnd(result)) };
    },
    /** Follows what an earlier process began and did not see the end of. */
    async takeOver(manifest: Manifest | null): Promise<void> {
      if (!manifest) return;
      const [newest] = turns.list(1);
      lastIndex = newest?.request()?.turn_index ?? 0;
      for (const turn of turns.all()) {
        files.removeLeftovers("file:leftovers", turn.paths.folder);
        if (turn.result() && (await settleTurn(deps, turn))) continue;
        const request = turn.request();
        // Written whole before anything could be begun: without it, nothing was.
        if (!request) continue;
        if (turn.turnId === newest?.turnId) follow(turn, { request, manifest, left: true });
        else await settleTurn(deps, turn, { unbegun: "its runner was never started" });
      }
      const request = newest?.request();
      const result = newest?.result();
      if (request && result) await pin(request, result);
    },
    onChange: (listener: () => void): void => void listeners.push(listener),
    /** Turns that run go on. */
    async stop(): Promise<void> {
      await current?.followed?.stop();
      await savePin?.();
    },
  };
}

/**
 * The manifest with the number of the turn and, when it was completed, its conversation, which is the
 * session's from now on (contract 3.5). Pure.
 */
function pinned(now: Manifest, request: TurnRequest, result: TurnResult): Manifest {
  const sessionId = result.status === "completed" ? result.session_id : null;
  const pins = sessionId !== null && request.life === instanceMarkOf(now);
  const turn_index = Math.max(request.turn_index, turnIndexOf(now));
  return {
    ...now,
    headless: {
      ...now.headless,
      turn_index,
      ...(pins ? { session_id: sessionId, role_bootstrap_applied: true } : {}),
    },
  };
}

function toEnd(result: TurnResult): TurnEnd {
  return { status: result.status, detail: result.error ?? result.history_summary };
}

/** What proves the steps of a turn, worded alike whether we saw them happen or read of them afterwards. */
const turnProofs = {
  submitted: (process: Pick<TurnProcess, "child_pid">) =>
    `the tool was started as process ${process.child_pid}`,
  turn_started: (first: Pick<TurnEvent, "kind">) => `the tool wrote its first event: ${first.kind}`,
  turn_ended: (result: Pick<TurnResult, "status" | "completion_source">) =>
    `${result.status}, decided by ${result.completion_source}`,
};

/** Pure. The steps that the files of an ended turn prove, in order, each at the time they give. */
function evidenceOfEnded(turn: {
  process: TurnProcess | null;
  firstEvent: TurnEvent | null;
  result: TurnResult;
}): Evidence[] {
  const { process, firstEvent: first, result } = turn;
  const steps: Evidence[] = [];
  if (process?.child_pid != null) {
    steps.push({ step: "submitted", at_utc: process.launched_at_utc, proof: turnProofs.submitted(process) });
  }
  if (first) {
    steps.push({ step: "turn_started", at_utc: first.timestamp_utc, proof: turnProofs.turn_started(first) });
  }
  steps.push({ step: "turn_ended", at_utc: result.completed_at_utc, proof: turnProofs.turn_ended(result) });
  return steps;
}
