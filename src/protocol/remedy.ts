import { type Static, Type } from "@sinclair/typebox";

/**
 * A remedy is what a person can do about a problem: a code with its parameters. Each program words the codes
 * in its own terms. No module below the programs knows a command line.
 */

/** The name of an agent, or its id when another agent may have the name. */
type AgentRef = { agent_name: string } | { agent_id: string };

interface RemedyParameters {
  relaunch_agent: AgentRef;
  /** Or launch a new agent under its name without its data. */
  restart_stopped: AgentRef;
  /** All that went with their machine. */
  resume_agents: object;
  rejoin_agent: { agent_name: string };
  stop_agent: AgentRef;
  cleanup_agent: AgentRef;
  attach_gateway: AgentRef;
  attach_and_reconcile: AgentRef;
  /** End the unresponsive process, then start another gateway. */
  replace_gateway: AgentRef;
  reconcile_queue: AgentRef;
  explain_screen: AgentRef;
  show_screen: AgentRef;
  answer_question: AgentRef;
  /** Queue the prompt instead of typing it at once. */
  queue_prompt: AgentRef;
  await_turn: AgentRef;
  list_running: object;
  launch_demo: object;
  show_request: AgentRef & { request_id: string };
  prompt_agent: AgentRef;
  interrupt_turn: AgentRef;
  /** Follow prompts and answers as they come. */
  follow_log: AgentRef;
  show_last_turn: AgentRef;
  /** Show the terminal itself, not the state that was read from it. */
  view_terminal: AgentRef;
  choose_option: AgentRef;
  /** Open its terminal to type there. */
  attach_terminal: AgentRef;
  list_waiting: AgentRef;
  /** Submit them as new requests, after a person has checked them. */
  resubmit_failed: AgentRef;
  release_wakes: AgentRef & { held_by: "max_hops" | "max_wakes_per_hour" | "require_attestation" };
  end_agent: AgentRef;
  detach_gateway: AgentRef;
  show_state: AgentRef;
  /** On the host of the agent. */
  show_remote_state: AgentRef;
  register_mailbox: AgentRef;
  /** The command lacks the name of an agent. */
  name_agent: object;
  list_agents: object;
  run_doctor: object;
  install_tmux: object;
  adopt_orphan: { agent_name: string };
  join_session: { session: string; agent_name: string };
  end_session: { session: string; end_line: string };
  record_screen: AgentRef;
  list_attention: object;
  /** For a person. */
  register_address: { address: string; principal_id: string };
  register_folder: object;
  list_mailboxes: object;
  repair_mailboxes: object;
  init_mailboxes: object;
  join_fleet: object;
  make_fleet_server: object;
  /** Restart the server so that it drops a revoked host. */
  start_fleet_server: { fleet: string; host: string };
  revoke_host: { host: string };
  find_outcome: { key: string; agent_name: string };
  start_coordinator: object;
  open_console: object;
  create_backup: object;
  set_budget: object;
  answer_item: { item_id: string };
  answer_in_terminal: { attach_line: string | null };
  wait_for_limit: { until: string | null };
  read_mail: { root: string; address: string; message_ref: string };
  raise_budget: { of: "agent" | "team"; name: string; per: "day" | "total"; level: "warn" | "hold" };
}

export type RemedyCode = keyof RemedyParameters;

export type RemedyOf<Code extends RemedyCode> = { code: Code } & RemedyParameters[Code];

export type Remedy = { [Code in RemedyCode]: RemedyOf<Code> }[RemedyCode];

/** The remedy in the data of an error. Pure. */
export function remedyOf(error: unknown): Remedy | null {
  const { data } = (error ?? {}) as { data?: { remedy?: Remedy } | null };
  return data?.remedy ?? null;
}

/** A remedy in the terms of one program. */
export interface Advice {
  /** A verb and an object, such as "Start it again". */
  step: string;
  /** The command line that does it; null where there is none. */
  command: string | null;
}

export type Advise = (remedy: Remedy) => Advice;

/** A remedy on the wire. Readers ignore unknown codes. */
export const RemedyRecord = Type.Unsafe<{ code: string; [parameter: string]: string }>(
  Type.Object(
    { code: Type.String({ description: "what a person can do, such as `relaunch_agent`" }) },
    {
      additionalProperties: Type.String(),
      description: "a remedy for the problem, with the parameters of its code, such as `agent_name`",
    },
  ),
);
export type RemedyRecord = Static<typeof RemedyRecord>;

/** Leaves out parameters that are null. Pure. */
export function toRemedyRecord(remedy: Remedy): RemedyRecord {
  const parameters = Object.entries(remedy).filter(([, value]) => value !== null);
  return Object.fromEntries(parameters) as RemedyRecord;
}

/** Appends a sentence to a text, with a full stop when the text lacks one. Pure. */
export function addSentence(text: string, sentence: string): string {
  return `${text}${/[.?!]$/.test(text) ? "" : "."} ${sentence}`;
}
