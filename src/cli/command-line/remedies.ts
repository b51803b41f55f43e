import {
  type Advice,
  type Advise,
  addSentence,
  type Remedy,
  type RemedyCode,
  type RemedyOf,
  type RemedyRecord,
} from "../../protocol/remedy.ts";
import { shellWord } from "../../system/shell-word.ts";

interface Terms {
  /** The command line up to the agent. */
  agent: string;
  /** `svc` too runs the commands that name no agent. */
  program: string;
}

/** The remedies in the terms of `svc-mgr`: the one place where their commands are worded. */
export const managerRemedies: {
  [Code in RemedyCode]: (remedy: RemedyOf<Code>, terms: Terms) => Advice;
} = {
  relaunch_agent: (_, { agent }) => ({ step: "Start it again", command: `${agent} relaunch` }),
  restart_stopped: (_, { agent }) => ({
    step: "Begin without that with --fresh, or bring it back",
    command: `${agent} relaunch --keep-requests`,
  }),
  resume_agents: (_, { program }) => ({ step: "Bring them back", command: `${program} resume` }),
  rejoin_agent: ({ agent_name: name }) => ({
    step: "Its launch command is not recorded. Start it in a tmux session, and join it there",
    command: `svc-mgr agents self join --agent-name ${name}`,
  }),
  stop_agent: (_, { agent }) => ({ step: "All that can be done is to end it", command: `${agent} stop` }),
  cleanup_agent: (_, { agent }) => ({ step: "Remove what it left", command: `${agent} cleanup` }),
  attach_gateway: (_, { agent }) => ({ step: "Start one", command: `${agent} gateway attach` }),
  attach_and_reconcile: (_, { agent }) => ({
    step: "Open it",
    command: `${agent} gateway attach --reconcile`,
  }),
  replace_gateway: (_, { agent }) => ({
    step: `End it with: ${agent} gateway detach, then start one`,
    command: `${agent} gateway attach`,
  }),
  reconcile_queue: (_, { agent }) => ({ step: "Open it", command: `${agent} gateway reconcile` }),
  explain_screen: (_, { agent }) => ({ step: "See why", command: `${agent} gateway tui explain` }),
  show_screen: (_, { agent }) => ({
    step: "See what its terminal shows",
    command: `${agent} gateway tui state`,
  }),
  answer_question: (_, { agent }) => ({
    step: "Answer the question",
    command: `${agent} gateway tui decide`,
  }),
  queue_prompt: (_, { agent }) => ({ step: "Put it into the queue", command: `${agent} prompt` }),
  list_running: () => ({ step: "See your agents", command: `svc-mgr agents list` }),
  launch_demo: () => ({
    step: "Launch one",
    command: `svc-mgr agents launch --tool demo --agent-name first`,
  }),
  await_turn: (_, { agent }) => ({
    step: `Let it wait its turn with: ${agent} prompt. See what waits`,
    command: `${agent} requests list`,
  }),
  show_request: ({ request_id: id }, { agent }) => ({
    step: "See how far it got, then give it again or give other work",
    command: `${agent} requests show ${id}`,
  }),
  prompt_agent: (_, { agent }) => ({ step: "Prompt it", command: `${agent} prompt --prompt "..."` }),
  interrupt_turn: (_, { agent }) => ({ step: "End its turn", command: `${agent} interrupt` }),
  follow_log: (_, { agent }) => ({ step: "Follow it", command: `${agent} log --follow` }),
  show_last_turn: (_, { agent }) => ({ step: "See it", command: `${agent} log --turn 1` }),
  view_terminal: (_, { agent }) => ({ step: "See its terminal", command: `${agent} screen` }),
  choose_option: (_, { agent }) => ({
    step: "Answer it",
    command: `${agent} gateway tui decide --option ANSWER`,
  }),
  attach_terminal: (_, { agent }) => ({ step: "Send it or clear it there", command: `${agent} attach` }),
  list_waiting: (_, { agent }) => ({ step: "See what waits", command: `${agent} requests list --waiting` }),
  resubmit_failed: (_, { agent }) => ({
    step: "See them and submit them again",
    command: `${agent} requests resubmit`,
  }),
  release_wakes: ({ held_by: setting }, { agent }) => {
    const { step, words } = Object.hasOwn(wakeSteps, setting) ? wakeSteps[setting] : otherHold;
    return { step, command: `${agent} gateway mail-notifier ${words}` };
  },
  end_agent: (_, { agent }) => ({ step: "End it", command: `${agent} stop` }),
  detach_gateway: (_, { agent }) => ({ step: "End it there", command: `${agent} gateway detach` }),
  show_state: (_, { agent }) => ({ step: "Look", command: `${agent} state` }),
  show_remote_state: (_, { agent }) => ({ step: "Find out on that host", command: `${agent} state` }),
  register_mailbox: (_, { agent }) => ({ step: "Give it one", command: `${agent} mailbox register` }),
  name_agent: () => ({
    step: "Name one",
    command: `svc-mgr agents single --agent-name NAME state`,
  }),
  list_agents: () => ({ step: "See all", command: `svc-mgr agents list --state all` }),
  run_doctor: (_, { program }) => ({ step: "See why", command: `${program} doctor` }),
  install_tmux: (_, { program }) => ({ step: "See how to get it", command: `${program} doctor` }),
  adopt_orphan: ({ agent_name: name }, { program }) => ({
    step: `Find "${name}" again`,
    command: `${program} doctor --fix`,
  }),
  join_session: ({ session, agent_name: name }) => ({
    step: `Take "${name}" up again, if it still runs,`,
    command: `svc-gateway join --tmux-session ${shellWord(session)} --agent-name ${name}`,
  }),
  end_session: ({ session, end_line: command }) => ({ step: `End ${session}`, command }),
  record_screen: (_, { agent }) => ({ step: "Record it from now on", command: `${agent} record on` }),
  list_attention: (_, { program }) => ({ step: "See what waits", command: `${program} attention list` }),
  register_address: ({ address, principal_id: principal }, { program }) => ({
    step: "Make a mailbox",
    command: `${program} mailbox register --address ${shellWord(address)} --principal-id ${shellWord(principal)} --role person`,
  }),
  register_folder: (_, { program }) => ({
    step: "Register it",
    command: `${program} mailbox register --mailbox-path FOLDER`,
  }),
  list_mailboxes: (_, { program }) => ({ step: "See all", command: `${program} mailbox accounts list` }),
  repair_mailboxes: (_, { program }) => ({
    step: "See and mend what is lost",
    command: `${program} mailbox repair`,
  }),
  init_mailboxes: (_, { program }) => ({ step: "Make one", command: `${program} mailbox init` }),
  join_fleet: () => ({ step: "Join both hosts", command: "svc-coord join" }),
  make_fleet_server: () => ({ step: "Make one", command: "svc-coord nats" }),
  start_fleet_server: ({ fleet, host }) => ({
    step: "Start the server first",
    command: `svc-coord nats${fleet === "svc" ? "" : ` --fleet ${fleet}`} --host ${host}`,
  }),
  revoke_host: ({ host }) => ({ step: "Revoke it first", command: `svc-coord nats revoke ${host}` }),
  find_outcome: ({ key, agent_name: name }) => ({
    step: "Find out",
    command: `svc-coord outcome ${shellWord(key)} --agent-name ${shellWord(name)}`,
  }),
  start_coordinator: () => ({ step: "Start one", command: "svc-coord serve" }),
  open_console: () => ({ step: "Make another", command: "svc console" }),
  create_backup: (_, { program }) => ({ step: "Make one", command: `${program} backup create` }),
  set_budget: (_, { program }) => ({ step: "Set it again", command: `${program} budget set` }),
  answer_item: ({ item_id: id }, { program }) => ({
    step: "Choose one of its answers",
    command: `${program} attention answer ${id} ANSWER`,
  }),
  answer_in_terminal: ({ attach_line: command }) => ({ step: "Answer it in its terminal", command }),
  wait_for_limit: ({ until }) => ({
    step: until === null ? "Go on with it when the limit is over" : "It takes work again by itself then",
    command: null,
  }),
  read_mail: ({ root, address, message_ref: ref }) => ({
    step: "Read it",
    command: `svc-mgr mail --mailbox-root ${shellWord(root)} --address ${address} read --message-ref ${ref}`,
  }),
  raise_budget: ({ of, name, per, level }, { program }) => ({
    step:
      level === "hold"
        ? "It begins no turn until the budget is raised or its day is over"
        : "See what it works at, or raise it",
    // A team is named by its folder, which may come from elsewhere.
    command: `${program} budget set --${of} ${shellWord(name)} --per ${per} --${level} MORE`,
  }),
};

const wakeSteps: Record<RemedyOf<"release_wakes">["held_by"], { step: string; words: string }> = {
  max_hops: { step: "See who answers whom; a higher limit lets it go on", words: "enable --max-hops N" },
  max_wakes_per_hour: {
    step: "See why it is woken so often; a higher limit lets it go on",
    words: "audit",
  },
  require_attestation: { step: "See who sent it; read it yourself, and archive it", words: "audit" },
};

/** By a setting of a later version. */
const otherHold = { step: "See what holds its wake-ups back", words: "audit" };

/** How an agent is named on a command line: `self` is the one in whose session the program runs. */
export type NamedAgent = "self" | { agentName: string } | { agentId: string };

/** The command line of `svc-mgr` up to the agent. Pure. */
export function agentCommand(agent: NamedAgent): string {
  if (agent === "self") return "svc-mgr agents self";
  const flag = "agentId" in agent ? `--agent-id ${agent.agentId}` : `--agent-name ${agent.agentName}`;
  return `svc-mgr agents single ${flag}`;
}

/** `agent`: as the caller named it. Pure. */
export function adviseInManager(remedy: Remedy, agent?: NamedAgent, program = "svc-mgr"): Advice {
  const word = managerRemedies[remedy.code] as (remedy: Remedy, terms: Terms) => Advice;
  return word(remedy, { agent: agentCommand(agent ?? agentOf(remedy)), program });
}

/** The agent that the remedy names. Pure. */
export function agentOf(remedy: Remedy): NamedAgent {
  if ("agent_id" in remedy) return { agentId: remedy.agent_id };
  return { agentName: "agent_name" in remedy ? remedy.agent_name : "NAME" };
}

/** As a server adds it to the text of a refusal. Pure. */
export const managerSentence = (remedy: Remedy): string => toSentence(adviseInManager(remedy));

/**
 * The text of a refusal, whose remedy a server worded for all callers, in the terms of this program. `body`:
 * the refusal as it came. Pure.
 */
export function rewordRefusal(detail: string, body: unknown, advise: Advise): string {
  const known = toKnownRemedy(((body ?? {}) as { remedy?: RemedyRecord }).remedy);
  if (known === null) return detail;
  return detail.replace(managerSentence(known), () => toSentence(advise(known)));
}

/** A remedy that came from a server; null for a code that this version does not know. Pure. */
export function toKnownRemedy(record: RemedyRecord | undefined): Remedy | null {
  return record && Object.hasOwn(managerRemedies, record.code) ? (record as Remedy) : null;
}

/** What failed, and what can be done about it. Pure. */
export function withRemedy(message: string, remedy: Remedy | null, advise: Advise): string {
  return remedy === null ? message : addSentence(message, toSentence(advise(remedy)));
}

/** What keeps an agent, and the command that ends it alone: for the one line that a person reads first. Pure. */
export function sentenceWithCommand(
  { sentence, remedy }: { sentence: string; remedy: Remedy | null },
  advise: Advise,
): string {
  const command = remedy && advise(remedy).command;
  return command === null ? sentence : `${sentence}: ${command}`;
}

/** In the middle of a sentence. Pure. */
export function toClause(advice: Advice): string {
  const sentence = toSentence(advice);
  return `${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`;
}

/** A whole sentence without its stop. Pure. */
export function toSentence({ step, command }: Advice): string {
  return command === null ? step : `${step} with: ${command}`;
}
