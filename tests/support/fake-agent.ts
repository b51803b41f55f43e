import {
  type Agent,
  type AgentTerminal,
  type Connectivity,
  createPermit,
  type InterruptOutcome,
  type Permit,
  type Readiness,
  refusePermit,
  type Submission,
  type SubmitOutcome,
  type SubmitPolicy,
} from "../../src/services/agent/agent.ts";
import { type KeyToken, parseKeySequence } from "../../src/services/terminal/keys.ts";
import { ServiceError } from "../../src/system/errors.ts";

/** An agent whose mind the test makes up; it keeps what reached it. */
export interface FakeAgent extends Agent {
  terminal: AgentTerminal;
  decide: NonNullable<Agent["decide"]>;
  prompts: string[];
  withdrawn: string[];
  interrupts: number;
  keysSent: KeyToken[][];
  /** What was typed by hand. */
  typed: string[];
  /** Turns taken over from an earlier process. */
  followed: Parameters<AgentTerminal["followTurn"]>[0][];
  setConnectivity(connectivity: Partial<Connectivity>): void;
  setReadiness(readiness: Readiness, policy?: SubmitPolicy): void;
  /** What the next submissions come to; default `submitted`. A function may await what it likes. */
  onSubmit: (submission: Submission) => Promise<SubmitOutcome> | SubmitOutcome;
  onInterrupt: () => Promise<InterruptOutcome> | InterruptOutcome;
}

export const notReady: Readiness = { ready: false, code: "not_ready", detail: "turn.phase=active" };

/** A permit whose use is `submit`. */
export function fakePermit<Outcome>(submit: () => Promise<Outcome>): Permit<Outcome> {
  return createPermit(new DisposableStack(), submit);
}

export function createFakeAgent(): FakeAgent {
  const listeners = new Set<() => void>();
  const readiness = new Map<SubmitPolicy, Readiness>();
  let connectivity: Connectivity = {
    connected: true,
    detail: "connected",
    instanceId: "one",
    eligibility: "ready",
  };
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const fake: FakeAgent = {
    backend: "local_interactive",
    tool: "fake",
    prompts: [],
    withdrawn: [],
    interrupts: 0,
    keysSent: [],
    typed: [],
    followed: [],
    connectivity: () => connectivity,
    readiness: (policy) => readiness.get(policy) ?? { ready: true },
    async reserve(submission) {
      const answer = fake.readiness(submission.policy);
      if (!answer.ready) return refusePermit(answer);
      return fakePermit(async () => {
        const outcome = await fake.onSubmit(submission);
        if (outcome.outcome === "submitted") fake.prompts.push(submission.prompt);
        return outcome;
      });
    },
    interrupt: async () =>
      fakePermit(async () => {
        fake.interrupts += 1;
        return fake.onInterrupt();
      }),
    decide: async () => ({ index: 1, text: "Yes" }),
    terminal: {
      tracked: true,
      expectPrompt: () => {},
      async withdraw(prompt) {
        fake.withdrawn.push(prompt);
        return "the composer holds no text of it";
      },
      followTurn: (turn) => void fake.followed.push(turn),
      async keys({ sequence, literal }) {
        const parsed = parseKeySequence(sequence, literal);
        if (!parsed.ok) throw new ServiceError("invalid_request", parsed.message);
        fake.keysSent.push(parsed.tokens);
      },
      async type(text) {
        fake.typed.push(text);
      },
      state: () => null,
      explain: () => null,
      history: () => null,
      notePrompt: () => null,
      waitFor: async () => null,
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    setConnectivity(change) {
      connectivity = { ...connectivity, ...change };
      changed();
    },
    setReadiness(answer, policy) {
      for (const one of policy
        ? [policy]
        : (["turn_boundary", "composer", "if_no_pending", "always"] as const)) {
        readiness.set(one, answer);
      }
      changed();
    },
    onSubmit: () => ({ outcome: "submitted" }),
    onInterrupt: () => ({ outcome: "interrupted", detail: "stopped" }),
  };
  return fake;
}
