import { agentQuestion, type Parked } from "../../protocol/terminal.ts";
import type { Answerer } from "../../services/attention/answerer.ts";
import type { AgentSnapshot } from "../../services/fleet/fleet-list.ts";
import type { GatewayCalls } from "../../services/fleet/gateway-client.ts";
import { type Clock, sleep } from "../../system/clock.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Caller } from "../command-line/command.ts";
import { renderOption } from "./terminal-text.ts";

/** What an agent asks a person. */
interface Question {
  agent_name: string;
  kind: string;
  question: string;
  header?: string;
  options: { index: number; text: string; checked?: boolean; description?: string }[];
}

/**
 * What agents that run ask a person; of the agent of this name alone where one is given, which must be there.
 */
export async function findQuestions({ io, inherited }: Caller, name?: string): Promise<Question[]> {
  const { openCliContext } = await import("../command-line/cli-context.ts");
  const { findNamed } = await import("./team-scope.ts");
  const { lookAtAgents } = await import("./look-at-agents.ts");
  const context = openCliContext(io, inherited);
  const active = () =>
    context.registry.list().records.filter(({ lifecycle }) => lifecycle.state === "active");
  const records = name === undefined ? active() : [await findNamed(context, io, name)];
  return (await lookAtAgents({ context, onWarning: () => {} }, records)).flatMap(toQuestion);
}

function toQuestion({ record, state }: AgentSnapshot): Question[] {
  const decision = agentQuestion(state?.awaiting_decision);
  if (!decision) return [];
  const { kind, question, header, options } = decision;
  return [
    {
      agent_name: record.agent_name,
      kind,
      question,
      ...(header === undefined ? {} : { header }),
      options: options.map(({ selected: _, ...option }) => option),
    },
  ];
}

const several = (options: Question["options"]) => options.some(({ checked }) => checked !== undefined);

/** Pure. */
export function renderQuestions(questions: readonly Question[]): string {
  return questions
    .map(({ agent_name: name, question, header, options }) =>
      [
        `${name} asks: ${question || "its question could not be read"}`,
        ...(header === undefined ? [] : [`  ${header}`]),
        ...options.flatMap(({ description, ...option }) => [
          `  ${option.index}. ${renderOption(option)}`,
          ...(description === undefined ? [] : [`     ${description}`]),
        ]),
        `  Answer: svc ok ${name} ${options.length > 0 ? "NUMBER" : "ANSWER"}`,
        ...(several(options) ? ["  An option with [ ] is checked or unchecked and the question stays"] : []),
      ].join("\n"),
    )
    .join("\n");
}

/**
 * Who answers from here: the agent whose session this process runs in, a person, also in another pane of the
 * session that an agent joined, or, with traces of an agent alone, nobody known.
 */
async function findAnswerer({ io, inherited }: Caller): Promise<Answerer> {
  const { openCliContext } = await import("../command-line/cli-context.ts");
  const { findSelf, isBesideAgent } = await import("../../services/sessions/find.ts");
  const { files, registry, paneTmux: tmux, clock, processes, tools } = openCliContext(io, inherited);
  const { toAnswerer } = await import("../../services/attention/answerer.ts");
  const { env } = io;
  const self = await findSelf({ files, registry, tmux, env, nowMs: clock.nowMs() }).catch(() => null);
  if (self === null)
    return env["SVC_MANIFEST_PATH"] || env["SVC_AGENT_ID"] ? { is: "unknown" } : { is: "person" };
  // Where tmux cannot be asked, it is not known to be a person.
  const isBeside = await isBesideAgent({ tmux, processes, tools, env }, self.manifest).catch(() => false);
  return isBeside ? { is: "person" } : toAnswerer(self, registry.list().records);
}

/**
 * Throws `precondition_failed` for an agent that answers itself or grants a permission, and for a tool of an
 * unknown agent.
 */
export async function requireAnswerer(
  caller: Caller,
  asked: { agentId: string | null; isPermission: () => boolean | Promise<boolean> },
  { asTool = false } = {},
): Promise<void> {
  const found = await findAnswerer(caller);
  const by: Answerer = asTool && found.is === "person" ? { is: "unknown" } : found;
  if (by.is === "person") return;
  const { readGranters, refuseAnswerer } = await import("../../services/attention/answerer.ts");
  const { configRootOf } = await import("../../services/sessions/roots.ts");
  const { openCliContext } = await import("../command-line/cli-context.ts");
  const { files } = openCliContext(caller.io, caller.inherited);
  const path = `${configRootOf(caller.io.env, caller.io.home)}/answers.json`;
  const question = { agentId: asked.agentId, isPermission: await asked.isPermission() };
  const why = refuseAnswerer(by, question, readGranters(files, path));
  if (why === null) return;
  const isOwn = !asTool && by.is === "agent" && by.id === asked.agentId;
  const elsewhere =
    ". This shell is in the agent's tmux session: answer from a terminal outside of it, or in the console";
  throw new ServiceError("precondition_failed", isOwn ? `${why}${elsewhere}` : why);
}

/** What the agent's screen shows to a caller that waits for it. */
export interface SeenState {
  parked: Parked | null;
  isAsking: boolean;
}

const questionPollIntervalMs = 1000;

/**
 * Reports each question that the agent asks while something is waited for that has no end without an answer.
 * `look`: hears each look at the agent, once a second.
 */
export async function reportQuestions(
  clock: Clock,
  client: GatewayCalls,
  signal: AbortSignal,
  report: {
    question: (text: string) => Promise<void>;
    look?: (seen: SeenState) => Promise<void>;
  },
): Promise<void> {
  for (let reported: string | null = null; ; ) {
    await sleep(clock, questionPollIntervalMs, signal);
    if (signal.aborted) return;
    const terminal = await client.call("terminalState", {});
    // An agent without a terminal asks through its status.
    const response = terminal.kind === "refused" ? await client.call("status", {}) : terminal;
    const decision = response.kind === "ok" ? agentQuestion(response.body.awaiting_decision) : null;
    const key = decision ? (decision.id ?? decision.question) : null;
    if (decision && key !== reported && !signal.aborted) {
      const choices = decision.options.map(({ index, text }) => `${index}. ${text}`).join(", ");
      await report.question(`asks: ${decision.question} ${choices && `(${choices}) `}Answer it elsewhere`);
    }
    reported = key;
    const parked = terminal.kind === "ok" ? (terminal.body.parked ?? null) : null;
    if (!signal.aborted) await report.look?.({ parked, isAsking: decision !== null });
  }
}
