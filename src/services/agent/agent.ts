import type {
  ChatSession,
  Evidence,
  Execution,
  PromptRefusalCode,
  SurfaceEligibility,
} from "../../protocol/gateway.ts";
import type {
  AwaitingDecision,
  DecisionAnswer,
  TerminalExplanation,
  TerminalHistory,
  TerminalState,
  WaitFor,
} from "../../protocol/terminal.ts";
import type { HeadlessChatSession, TurnEvent, TurnStatusRecord } from "../../protocol/turns.ts";
import { ServiceError } from "../../system/errors.ts";

/**
 * The agent that a gateway drives, over any backend. Queue, direct prompt, reminders and notifier depend only
 * on this port. `terminal` and `turns` are capabilities, which an agent may lack.
 */
export interface Agent {
  readonly backend: string;
  readonly tool: string;
  /** Set for an agent in a terminal. */
  readonly terminal?: AgentTerminal;
  /** Set for a headless agent, whose turns are separate processes; an interrupt may pre-empt a turn. */
  readonly turns?: AgentTurns;
  /** The latest known connectivity, without I/O. */
  connectivity(): Connectivity;
  /** Whether `policy` admits a prompt now, by the latest state; `reserve` reads the state again. */
  readiness(policy: SubmitPolicy): Readiness;
  /**
   * Reserves the agent for one prompt: waits until no other writer uses it, then reads its state again.
   * Resolves with the refusal, and types nothing, when the policy does not admit the prompt. Otherwise no
   * other writer uses the agent until the permit is used or disposed of. `submit` of the permit proves that
   * the agent took the prompt.
   */
  reserve(submission: Submission): Promise<Permit<SubmitOutcome> | RefusedPermit>;
  /**
   * Reserves the agent for one interrupt, in any state; prompts are refused from this call on. `submit` of
   * the permit ends the running turn and proves its end; without a running turn it sends no key: `no_op`.
   */
  interrupt(): Promise<Permit<InterruptOutcome>>;
  /**
   * Answers the agent's question; absent for an agent that asks none. Throws ServiceError:
   * `precondition_failed` without that question, `invalid_request` when no option fits,
   * `unavailable`, `dispatch_failed`, `unsupported` for a tool whose screen cannot be read.
   */
  decide?(answer: DecisionAnswer): Promise<{ index: number; text: string }>;
  /**
   * Calls `listener` after each change of `connectivity` or `readiness`. Returns the unsubscribe function.
   */
  onChange(listener: () => void): () => void;
}

/** The terminal of an agent. */
export interface AgentTerminal {
  /** Whether the screen can be read; otherwise only the state of the process is known. */
  readonly tracked: boolean;
  /** Announces a prompt, so that the terminal may start to read the state for `reserve`. Sends no key. */
  expectPrompt(): void;
  /**
   * Withdraws a prompt that an earlier process began to type: clears the composer when it holds exactly its
   * text, and changes no other text. Resolves with a clause for people about the result. Never rejects.
   */
  withdraw(prompt: string): Promise<string>;
  /**
   * Follows the turn of a prompt that an earlier process submitted; `started`: evidence shows that it ran.
   */
  followTurn(turn: { started: boolean; onEvidence: (evidence: Evidence) => void }): void;
  /**
   * Presses and types `sequence`, written in the `<[key-name]>` grammar, in any state of the agent; `literal`
   * takes all of it as text. Throws ServiceError: `invalid_request` for a bad token, with nothing sent;
   * `unavailable` when the program is not there; `dispatch_failed` when the terminal refused.
   */
  keys(input: { sequence: string; literal: boolean }): Promise<void>;
  /**
   * Types the bytes of a keyboard unchanged, with control characters and sequences, in any state of the
   * agent. Throws ServiceError: `unavailable`, `dispatch_failed`.
   */
  type(text: string): Promise<void>;
  /** The terminal state record. This and the methods below return null for an untracked terminal. */
  state(): TerminalState | null;
  /** Why the state is what it is. */
  explain(): TerminalExplanation | null;
  /** Recent samples, newest last, at most `limit`. */
  history(limit: number): TerminalHistory | null;
  /** Records that a person or another program gave the agent a prompt (contract 4.3). */
  notePrompt(prompt: string): TerminalState | null;
  /**
   * Resolves when the terminal is in the state `wanted`; with `satisfied` false after `timeoutMs` or when
   * `signal` aborts.
   */
  waitFor(
    wanted: WaitFor,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<{ satisfied: boolean; waitedMs: number; state: TerminalState } | null>;
}

/** Calls `decide`. Throws `unsupported` for an agent without it. */
export async function answerAgent(agent: Pick<Agent, "decide">, answer: DecisionAnswer) {
  if (agent.decide) return agent.decide(answer);
  throw withoutTerminal();
}

/** Whether the agent's screen can be read. */
export function isTracked({ terminal }: Pick<Agent, "terminal">): boolean {
  return terminal?.tracked ?? false;
}

/** Throws `unsupported` for an agent without a terminal. */
export function terminalOf({ terminal }: Pick<Agent, "terminal">): AgentTerminal {
  if (terminal) return terminal;
  throw withoutTerminal();
}

function withoutTerminal(): ServiceError {
  return new ServiceError("unsupported", "a headless agent has no terminal that takes keys");
}

export interface Connectivity {
  /** Whether the agent's process runs and can be driven. */
  connected: boolean;
  /** Why the agent is not connected, for people. */
  detail: string;
  /** The agent's instance; null while it cannot be read. */
  instanceId: string | null;
  eligibility: SurfaceEligibility;
  /** The question of a headless agent to a person; for a terminal agent it is in the terminal state. */
  decision?: AwaitingDecision;
  /** Set when the agent runs but lacks a file that it needs. */
  unusable?: "manifest_unusable" | "launch_environment_lost";
}

/**
 * `turn_boundary`: the agent can begin a new turn. `composer`: its composer takes input, busy or not.
 * `if_no_pending`, `always`: contract 4.2.
 */
export type SubmitPolicy = "turn_boundary" | "composer" | "if_no_pending" | "always";

export type Readiness = { ready: true } | Refusal;

/** `detail` names each failing fact with its value. */
export interface Refusal {
  ready: false;
  code: Extract<
    PromptRefusalCode,
    | "unavailable"
    | "tracking_unavailable"
    | "not_ready"
    | "awaiting_decision"
    | "pending_input"
    | "pending_input_unknown"
  >;
  detail: string;
}

/** The right of one caller to write to the agent once. An unused permit must be disposed of. */
export interface Permit<Outcome> extends Disposable {
  ready: true;
  /** Writes at once. Never rejects because of the agent's behaviour. */
  submit(): Promise<Outcome>;
}

/**
 * A permit that holds `reserved` until it is disposed of, or until the end of `act` once `submit` was called.
 */
export function createPermit<Outcome>(
  reserved: DisposableStack,
  act: () => Promise<Outcome>,
): Permit<Outcome> {
  return {
    ready: true,
    async submit() {
      using _held = reserved.move();
      return await act();
    },
    [Symbol.dispose]: () => reserved.dispose(),
  };
}

/** A refusal instead of a permit; nothing is reserved. */
export type RefusedPermit = Refusal & Disposable;

export function refusePermit(refusal: Refusal): RefusedPermit {
  return { ...refusal, [Symbol.dispose]() {} };
}

/** Submits a prompt now, or refuses it when the agent cannot take it now. */
export async function submitAtOnce(
  agent: Pick<Agent, "reserve">,
  submission: Submission,
): Promise<SubmitOutcome | RefusedSubmission> {
  using permit = await agent.reserve(submission);
  return permit.ready ? await permit.submit() : { outcome: "refused", refusal: permit };
}

export interface Submission {
  prompt: string;
  policy: SubmitPolicy;
  /** Reset the conversation with the tool's command first, and wait until the agent is ready again. */
  newChat?: boolean;
  // The next four fields are for headless agents only.
  /** Set for a queued request and a reminder, not for a direct prompt. */
  requestId?: string;
  turnId?: string;
  chatSession?: ChatSession;
  execution?: Execution;
  /** Called for each step when it is proved, also after `submit` resolved (turn started, turn ended). */
  onEvidence: (evidence: Evidence) => void;
}

export interface RefusedSubmission {
  outcome: "refused";
  refusal: Refusal;
}

export type SubmitOutcome =
  /** `turn`: the headless turn of the prompt. */
  | { outcome: "submitted"; turn?: RunningTurn }
  /** `typed`: whether the composer may hold a part of the prompt. */
  | { outcome: "failed"; typed: boolean; detail: string };

export type InterruptOutcome =
  | { outcome: "interrupted"; detail: string }
  | { outcome: "no_op"; detail: string }
  | { outcome: "unavailable"; detail: string }
  | { outcome: "failed"; detail: string };

/** A turn that runs or has ended. It does not need this process. */
export interface RunningTurn {
  turnId: string;
  turnIndex: number;
  /**
   * Resolves with the final state. Never rejects. Never resolves once this process stopped watching the
   * agent.
   */
  ended: Promise<TurnEnd>;
}

export interface TurnEnd {
  status: "completed" | "failed" | "interrupted";
  /** Why the turn was not completed, or its answer, on one line. */
  detail: string | null;
}

/** The turns of a headless agent and their conversation. */
export interface AgentTurns {
  active(): { turnId: string; turnIndex: number } | null;
  /**
   * The turn that an earlier process began for a queued request, running or ended; null without one.
   */
  resume(requestId: string, onEvidence: (evidence: Evidence) => void): RunningTurn | null;
  /** Why the tool cannot run a turn with `execution`, as a clause for people; null when it can. */
  refuseExecution(execution: Execution | undefined): string | null;
  chatSession(): HeadlessChatSession;
  /** Makes the next direct prompt without a chat session begin a new conversation. */
  overrideNextPrompt(): void;
  exists(turnId: string): boolean;
  /** Newest first. */
  list(limit: number): TurnStatusRecord[];
  read(turnId: string): TurnStatusRecord | null;
  /** Reads events from disk as they are taken. `after`: events to skip. Null for an unknown turn. */
  events(turnId: string, after: number): TurnEventReader | null;
  /** The output of the tool, also while it writes. Null for an unknown turn. */
  artifact(turnId: string, name: "stdout" | "stderr", part: ArtifactPart): ArtifactReader | null;
}

export type TurnEventReader = IteratorObject<TurnEvent, undefined>;

export interface ArtifactPart {
  offset: number;
  /** Null: to the end. */
  maxBytes: number | null;
}

export interface ArtifactReader {
  /** Read from disk when they are taken. */
  pieces: Iterable<Uint8Array>;
  /** Offset of the next part; null when no byte follows now. */
  next: number | null;
}
