import { type Static, Type } from "@sinclair/typebox";

/**
 * What a person can do about a problem, as a code with its parameters. Each program words the codes in its
 * own terms; nothing below the programs knows a command line.
 */

/** By its name, or by its id where the name may be another agent's. */
type AgentRef = { agent_name: string } | { agent_id: string };

interface RemedyParameters {
  relaunch_agent: AgentRef;
  /** Or begin under its name without what it has. */
  restart_stopped: AgentRef;
  rejoin_agent: { agent_name: string };
  stop_agent: AgentRef;
  cleanup_agent: AgentRef;
  attach_gateway: AgentRef;
  attach_and_reconcile: AgentRef;
  /** End the process that does not answer, then start another one. */
  replace_gateway: AgentRef;
  reconcile_queue: AgentRef;
  explain_screen: AgentRef;
  show_screen: AgentRef;
  answer_question: AgentRef;
  /** Give it to the queue in place of the terminal. */
  queue_prompt: AgentRef;
  await_turn: AgentRef;
  list_running: object;
  launch_demo: object;
  show_request: AgentRef & { request_id: string };
  prompt_agent: AgentRef;
  interrupt_turn: AgentRef;
  /** What it was asked and what it answered, as it comes. */
  follow_log: AgentRef;
  show_last_turn: AgentRef;
  /** As it is, not what was read from it. */
  view_terminal: AgentRef;
  choose_option: AgentRef;
  /** Its terminal, to type there. */
  attach_terminal: AgentRef;
  list_waiting: AgentRef;
  /** As new requests, after a person has seen them. */
  resubmit_failed: AgentRef;
  release_wakes: AgentRef & { held_by: "max_hops" | "max_wakes_per_hour" | "require_attestation" };
  end_agent: AgentRef;
  detach_gateway: AgentRef;
  show_state: AgentRef;
  /** On the host of the agent. */
  show_remote_state: AgentRef;
  register_mailbox: AgentRef;
  /** No agent was named. */
  name_agent: object;
  list_agents: object;
  run_doctor: object;
  install_tmux: object;
  adopt_orphan: { agent_name: string };
  join_session: { session: string; agent_name: string };
  end_session: { session: string; end_line: string };
  record_screen: AgentRef;
  list_attention: object;
  register_address: { address: string };
  register_folder: object;
  list_mailboxes: object;
  repair_mailboxes: object;
  init_mailboxes: object;
  join_fleet: object;
  make_fleet_server: object;
  /** So that the server forgets a host that was revoked. */
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

/** That of a refusal, which is in the data of the error. Pure. */
export function remedyOf(error: unknown): Remedy | null {
  const { data } = (error ?? {}) as { data?: { remedy?: Remedy } | null };
  return data?.remedy ?? null;
}

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

/** A sentence behind a text that may end with a question. Pure. */
export function addSentence(text: string, sentence: string): string {
  return `${text}${/[.?!]$/.test(text) ? "" : "."} ${sentence}`;
}
