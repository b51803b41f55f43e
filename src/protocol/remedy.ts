import { type Static, Type } from "@sinclair/typebox";
import type { BudgetState } from "./budget.ts";

/**
 * What a person can do about a problem, as a code with its parameters. Each program words the codes in its
 * own terms; nothing below the programs knows a command line.
 */

/** By its name, or by its id where the name may be another agent's. */
type AgentRef = { agent_name: string } | { agent_id: string };

interface RemedyParameters {
  relaunch_agent: AgentRef;
  rejoin_agent: { agent_name: string };
  stop_agent: AgentRef;
  cleanup_agent: AgentRef;
  attach_gateway: AgentRef;
  attach_and_reconcile: AgentRef;
  /** End the process that does not answer, then start another one. */
  replace_gateway: AgentRef;
  reconcile_queue: AgentRef;
  explain_screen: AgentRef;
  show_request: AgentRef & { request_id: string };
  release_wakes: AgentRef & { held_by: "max_hops" | "max_wakes_per_hour" | "require_attestation" };
  run_doctor: object;
  answer_item: { item_id: string };
  answer_in_terminal: { attach_line: string | null };
  wait_for_limit: { until: string | null };
  read_mail: { root: string; address: string; message_ref: string };
  raise_budget: { of: "agent" | "team"; name: string; per: "day" | "total"; level: "warn" | "hold" };
}

export type RemedyCode = keyof RemedyParameters;

export type RemedyOf<Code extends RemedyCode> = { code: Code } & RemedyParameters[Code];

export type Remedy = { [Code in RemedyCode]: RemedyOf<Code> }[RemedyCode];

/** A remedy in the terms of one program. */
export interface Advice {
  /** Verb and object, such as "Start it again". */
  step: string;
  /** The command line that does it; null where there is none. */
  command: string | null;
}

export type Advise = (remedy: Remedy) => Advice;

/** A remedy on the wire. A reader passes over a code that it does not know. */
export const RemedyRecord = Type.Unsafe<{ code: string; [parameter: string]: string }>(
  Type.Object(
    { code: Type.String({ description: "what to do, such as `relaunch_agent`" }) },
    {
      additionalProperties: Type.String(),
      description: "what can be done about it, with the parameters of the code, such as `agent_name`",
    },
  ),
);
export type RemedyRecord = Static<typeof RemedyRecord>;

/** Without the parameters that are not known. Pure. */
export function toRemedyRecord(remedy: Remedy): RemedyRecord {
  const parameters = Object.entries(remedy).filter(([, value]) => value !== null);
  return Object.fromEntries(parameters) as RemedyRecord;
}

/** What a person does about a reached budget. A gateway of an earlier version does not name it. Pure. */
export function budgetRemedy(reached: Omit<BudgetState, "since_utc" | "command">): RemedyOf<"raise_budget"> {
  const { of, name = "NAME", per = "total", level } = reached;
  return { code: "raise_budget", of, name, per, level };
}
