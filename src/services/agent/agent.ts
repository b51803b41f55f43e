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
 * The agent that a gateway drives, over any backend. Queue, direct prompt, reminders and notifier know only
 * this. What an agent of one kind has besides is a capability: absent where it does not exist.
 */
export interface Agent {
  readonly backend: string;
  readonly tool: string;
  /** Set for an agent in a terminal. */
  readonly terminal?: AgentTerminal;
  /** Set where each turn is a separate process, which an interrupt may pre-empt. */
  readonly turns?: AgentTurns;
  /** What is known at this moment, without I/O. */
  connectivity(): Connectivity;
  /** Whether `policy` admits a prompt now, by the latest state; `reserve` reads the state again. */
  readiness(policy: SubmitPolicy): Readiness;
  /**
   * Reserves the agent for one prompt: waits until no other writer uses it and reads its state again. Resolves
   * with the refusal, and nothing typed, when the policy does not admit the prompt. Otherwise the state holds
   * until the permit is used or disposed of. `submit` of the permit proves that the agent took the prompt.
   */
  reserve(submission: Submission): Promise<Permit<SubmitOutcome> | RefusedPermit>;
  /**
   * Reserves the agent for one interrupt, in any state; from the call on, prompts are refused. `submit` of the
   * permit ends the running turn and proves it; `no_op`, with no key sent, when nothing runs.
   */
  interrupt(): Promise<Permit<InterruptOutcome>>;
  /**
   * Answers the agent's question; absent for an agent that asks none. Throws ServiceError:
   * `precondition_failed` when it asks nothing or something else, `invalid_request` when no option fits,
   * `unavailable`, `dispatch_failed`, `unsupported` for a tool whose screen cannot be read.
   */
  decide?(answer: DecisionAnswer): Promise<{ index: number; text: string }>;
  /**
   * Called after anything that may change `connectivity` or `readiness`. Returns the function that ends it.
   */
  onChange(listener: () => void): () => void;
}

/** The terminal of an agent. */
export interface AgentTerminal {
  /** Its screen can be read; otherwise only the state of its process is known. */
  readonly tracked: boolean;
  /** Announces a prompt: the terminal may begin to read the state that `reserve` needs. Sends no key. */
  expectPrompt(): void;
  /**
   * Takes back a prompt that an earlier process began to type and could not finish: clears the composer when
   * it holds exactly its text, and leaves anything else alone. Resolves with a clause for people that says
   * what it found and did. Never rejects.
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
  /** The terminal state record; null when it is not tracked, as of all below. */
  state(): TerminalState | null;
  /** Why the state is what it is. */
  explain(): TerminalExplanation | null;
  /** Recent samples, newest last, at most `limit`. */
  history(limit: number): TerminalHistory | null;
  /** Takes note that a person or another program gave the agent a prompt (contract 4.3). */
  notePrompt(prompt: string): TerminalState | null;
  /**
   * Resolves when the terminal is as wanted, or with `satisfied` false after `timeoutMs` or when `signal`
   * aborts.
   */
  waitFor(
    wanted: WaitFor,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<{ satisfied: boolean; waitedMs: number; state: TerminalState } | null>;
}

/** As `decide`; `unsupported` for an agent that asks nothing. */
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
  /** The provider process is there and can be driven. */
  connected: boolean;
  /** Why not, for people. */
  detail: string;
  /** The agent's instance; null while it cannot be read. */
  instanceId: string | null;
  eligibility: SurfaceEligibility;
  /** What an agent without a terminal asks a person; the state of a terminal has it itself. */
  decision?: AwaitingDecision;
  /** Set when the agent is there and only a file without which it cannot work is not. */
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

/** The right to write to the agent, for one caller and once; a permit that is not used must be disposed of. */
export interface Permit<Outcome> extends Disposable {
  ready: true;
  /** Begins at once. Never rejects because of the agent's behaviour. */
  submit(): Promise<Outcome>;
}

/**
 * A permit that holds `reserved` until it has been used or is disposed of. Once `act` has begun, only its end
 * gives `reserved` back.
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

/** In the place of a permit: nothing is reserved. */
export type RefusedPermit = Refusal & Disposable;

export function refusePermit(refusal: Refusal): RefusedPermit {
  return { ...refusal, [Symbol.dispose]() {} };
}

/** Submits a prompt that does not wait: it is refused when the agent cannot take it now. */
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
  /** First reset the agent's conversation with its own command and wait until it is ready again. */
  newChat?: boolean;
  /** Headless agents only, all of these. A queued request and a reminder have an id, a direct prompt none. */
  requestId?: string;
  turnId?: string;
  chatSession?: ChatSession;
  execution?: Execution;
  /** Called for each step as it is proved, also after `submit` resolved (turn started, turn ended). */
  onEvidence: (evidence: Evidence) => void;
}

export interface RefusedSubmission {
  outcome: "refused";
  refusal: Refusal;
}

export type SubmitOutcome =
  /** `turn`: it was begun, and runs until it ends by itself. */
  | { outcome: "submitted"; turn?: RunningTurn }
  /** `typed`: the composer may hold a part of the prompt. */
  | { outcome: "failed"; typed: boolean; detail: string };

export type InterruptOutcome =
  | { outcome: "interrupted"; detail: string }
  | { outcome: "no_op"; detail: string }
  | { outcome: "unavailable"; detail: string }
  | { outcome: "failed"; detail: string };

/** A turn that was begun; it ends whether or not anyone waits, and outlives this process. */
export interface RunningTurn {
  turnId: string;
  turnIndex: number;
  /** Its one final state. Never rejects; never resolves once the agent was let go. */
  ended: Promise<TurnEnd>;
}

export interface TurnEnd {
  status: "completed" | "failed" | "interrupted";
  /** Why it is not completed, else what it said, on one line. */
  detail: string | null;
}

/** The turns of an agent without a terminal, and the conversation they belong to. */
export interface AgentTurns {
  active(): { turnId: string; turnIndex: number } | null;
  /**
   * The turn that was begun for a request of the queue by an earlier process, running or ended; null: none
   * was.
   */
  resume(requestId: string, onEvidence: (evidence: Evidence) => void): RunningTurn | null;
  /** Why the tool cannot run a turn like that, as a clause for people, or null. */
  refuseExecution(execution: Execution | undefined): string | null;
  chatSession(): HeadlessChatSession;
  /** The next direct prompt that leaves the conversation open begins a new one. */
  overrideNextPrompt(): void;
  exists(turnId: string): boolean;
  /** Newest first. */
  list(limit: number): TurnStatusRecord[];
  read(turnId: string): TurnStatusRecord | null;
  /** Read from disk as they are taken. `after`: how many to pass over. Null when there is no such turn. */
  events(turnId: string, after: number): TurnEventReader | null;
  /** Bytes as the tool wrote them, also while it writes. Null when there is no such turn. */
  artifact(turnId: string, name: "stdout" | "stderr", part: ArtifactPart): ArtifactReader | null;
}

export type TurnEventReader = IteratorObject<TurnEvent, undefined>;

export interface ArtifactPart {
  offset: number;
  /** Null: to the end. */
  maxBytes: number | null;
}

export interface ArtifactReader {
  /** Read from disk as they are taken. */
  pieces: Iterable<Uint8Array>;
  /** Where the next part begins; null when nothing follows the asked one at present. */
  next: number | null;
}
