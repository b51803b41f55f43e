import type { Evidence, Execution } from "../../protocol/gateway.ts";
import type { DecisionAnswer } from "../../protocol/terminal.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Lifecycle } from "../../system/lifecycle.ts";
import {
  type Agent,
  type Connectivity,
  createPermit,
  type InterruptOutcome,
  type Permit,
  type Readiness,
  type Refusal,
  type RefusedPermit,
  type RunningTurn,
  refusePermit,
  type Submission,
  type SubmitOutcome,
} from "../agent/agent.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import { acpBackend } from "../sessions/names.ts";
import { answerQuestion } from "./acp-hand-over.ts";
import type { ConnectivityState, HeadlessConnectivity } from "./connectivity.ts";
import type { HeadlessProvider } from "./provider.ts";
import { refuseModel } from "./provider.ts";
import { interruptTurn, type StopDeps } from "./settle-turn.ts";
import type { TurnDirectories, TurnDirectory } from "./turn-directory.ts";
import { createTurnReader } from "./turn-reader.ts";
import { resolveChatSession, toChatSession, toModel } from "./turn-request.ts";
import type { TurnRunner } from "./turn-runner.ts";

interface HeadlessAgentDeps extends StopDeps {
  backend: string;
  tool: string;
  provider: HeadlessProvider;
  connectivity: HeadlessConnectivity;
  turns: TurnDirectories;
  runner: TurnRunner;
  clock: Clock;
  files: Files;
  log: Log;
}

/** An agent whose every turn is a separate process, run by a bridge that outlives us. */
interface HeadlessAgent extends Agent, Lifecycle {
  /** Looks for the agent, and takes over the turns that an earlier process began. */
  firstLook(): Promise<void>;
}

export function createHeadlessAgent(deps: HeadlessAgentDeps): HeadlessAgent {
  const { connectivity, runner, turns, provider, clock, log } = deps;
  const listeners = new Set<() => void>();
  let override = false;
  /** A prompt is on its way into a turn: two must not both find the agent idle. */
  let beginning = false;

  const changed = () => {
    for (const tell of [...listeners]) tell();
  };

  function chatSession() {
    const { manifest } = connectivity.state();
    if (!manifest) throw new ServiceError("unavailable", "the session's manifest cannot be read");
    return toChatSession(runner.latest(manifest), override);
  }

  function readiness(): Readiness {
    const state = connectivity.state();
    if (!state.connected) return refuse("unavailable", state.detail);
    const active = runner.active();
    if (active) return refuse("not_ready", `turn ${active.turnId} is running`);
    return beginning ? refuse("not_ready", "a turn is being begun") : { ready: true };
  }

  function toConnectivity(): Connectivity {
    const state = connectivity.state();
    if (!state.connected) {
      const { detail, unusable } = state;
      const absent = { connected: false, detail, instanceId: null, eligibility: "unknown" } as const;
      return unusable ? { ...absent, unusable } : absent;
    }
    const eligibility = readiness().ready ? "ready" : "not_ready";
    const decision = runner.decision();
    return {
      connected: true,
      detail: "connected",
      instanceId: state.instanceId,
      eligibility,
      ...(decision ? { decision } : {}),
    };
  }

  function refuseExecution(execution: Execution | undefined): string | null {
    const { manifest } = connectivity.state();
    if (!manifest) return null;
    const model = toModel(manifest, execution);
    return model && refuseModel(provider, { model, args: manifest.launch_plan.args });
  }

  async function reserve(submission: Submission): Promise<Permit<SubmitOutcome> | RefusedPermit> {
    const before = connectivity.state();
    await connectivity.look();
    const answer = readiness();
    if (!answer.ready) return refusePermit(answer);
    const state = connectivity.state();
    if (!state.connected) return refusePermit(refuse("unavailable", state.detail));
    // The caller checked admission for the instance of that moment.
    if (before.connected && before.instanceId !== state.instanceId) {
      return refusePermit(refuse("not_ready", "the agent has just become a new instance"));
    }
    beginning = true;
    const reserved = new DisposableStack();
    reserved.defer(() => {
      beginning = false;
    });
    const permit = createPermit(reserved, () => begin(submission, state));
    return { ...permit, submit: () => permit.submit().finally(changed) };
  }

  async function begin(
    submission: Submission,
    { pane, manifest }: Pick<ConnectivityState & { connected: true }, "pane" | "manifest">,
  ): Promise<SubmitOutcome> {
    try {
      const direct = submission.requestId === undefined;
      const choice = resolveChatSession({ wanted: submission.chatSession, direct, state: chatSession() });
      if (!choice.ok) return failed(`missing_current_chat_session: ${choice.detail}`);
      const problem = refuseExecution(submission.execution);
      if (problem) return failed(`invalid_execution: ${problem}`);
      const turn = await runner.begin({ submission, session: choice.session, pane, manifest });
      if (choice.consumesOverride) override = false;
      return { outcome: "submitted", turn };
    } catch (error) {
      log.line("a turn could not be begun", { error: messageOf(error) });
      return failed(messageOf(error));
    }
  }

  function activeTurn(): TurnDirectory | null {
    const active = runner.active();
    return active && turns.find(active.turnId);
  }

  async function stopTurn(): Promise<InterruptOutcome> {
    const turn = activeTurn();
    if (!turn) return { outcome: "no_op", detail: "no turn is running" };
    try {
      return await interruptTurn(deps, turn, "gateway");
    } catch (error) {
      return { outcome: "failed", detail: messageOf(error) };
    }
  }

  return {
    backend: deps.backend,
    tool: deps.tool,
    turns: {
      active: runner.active,
      resume: (requestId, onEvidence: (evidence: Evidence) => void): RunningTurn | null =>
        runner.resume(requestId, onEvidence),
      refuseExecution,
      chatSession,
      overrideNextPrompt() {
        override = true;
      },
      ...createTurnReader({ files: deps.files, turns }),
    },
    connectivity: toConnectivity,
    readiness,
    reserve,
    // A turn is asked to stop by a file: two interrupts of one turn do no harm, and nothing is reserved.
    interrupt: async () => createPermit(new DisposableStack(), stopTurn),
    ...(deps.backend === acpBackend
      ? { decide: (answer: DecisionAnswer) => answerQuestion(deps, activeTurn(), answer) }
      : {}),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async firstLook() {
      const state = await connectivity.look();
      await runner.takeOver(state.manifest);
      log.line("headless agent", { connected: state.connected, at: timestampNow(clock) });
    },
    start() {
      connectivity.onChange(changed);
      runner.onChange(changed);
      connectivity.start();
    },
    async stop() {
      await connectivity.stop();
      await runner.stop();
    },
  };
}

function failed(detail: string): SubmitOutcome & { outcome: "failed" } {
  return { outcome: "failed", typed: false, detail };
}

function refuse(code: Refusal["code"], detail: string): Refusal {
  return { ready: false, code, detail };
}
