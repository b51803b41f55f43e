import type { Advice, Remedy, RemedyCode, RemedyOf } from "../../protocol/remedy.ts";
import { shellWord } from "../../system/shell-word.ts";

/**
 * The remedies in the terms of `svc-mgr`: the one place where their commands are worded. `agent`: the command
 * line up to the agent.
 */
const managerRemedies: {
  [Code in RemedyCode]: (remedy: RemedyOf<Code>, agent: string) => Advice;
} = {
  relaunch_agent: (_, agent) => ({ step: "Start it again", command: `${agent} relaunch` }),
  rejoin_agent: ({ agent_name: name }) => ({
    step: "Its launch command is not recorded. Start it in a tmux session, and join it there",
    command: `svc-mgr agents self join --agent-name ${name}`,
  }),
  stop_agent: (_, agent) => ({ step: "All that can be done is to end it", command: `${agent} stop` }),
  cleanup_agent: (_, agent) => ({ step: "Remove what it left", command: `${agent} cleanup` }),
  attach_gateway: (_, agent) => ({ step: "Start one", command: `${agent} gateway attach` }),
  attach_and_reconcile: (_, agent) => ({
    step: "Open it",
    command: `${agent} gateway attach --reconcile`,
  }),
  replace_gateway: (_, agent) => ({
    step: `End it with: ${agent} gateway detach, then start one`,
    command: `${agent} gateway attach`,
  }),
  reconcile_queue: (_, agent) => ({ step: "Open it", command: `${agent} gateway reconcile` }),
  explain_screen: (_, agent) => ({ step: "See why", command: `${agent} gateway tui explain` }),
  show_request: ({ request_id: id }, agent) => ({
    step: "See how far it got, then give it again or give other work",
    command: `${agent} requests show ${id}`,
  }),
  release_wakes: ({ held_by: setting }, agent) => {
    const { step, words } = wakeSteps[setting];
    return { step, command: `${agent} gateway mail-notifier ${words}` };
  },
  run_doctor: () => ({ step: "See why", command: "svc-mgr doctor" }),
  answer_item: ({ item_id: id }) => ({
    step: "Choose one of its answers",
    command: `svc-mgr attention answer ${id} ANSWER`,
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
  raise_budget: ({ of, name, per, level }) => ({
    step:
      level === "hold"
        ? "It begins no turn until the budget is raised or its day is over"
        : "See what it works at, or raise it",
    // A team is named by its folder, which may come from elsewhere.
    command: `svc-mgr budget set --${of} ${shellWord(name)} --per ${per} --${level} MORE`,
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

/** `agent`: the command line up to the agent, where the caller's own one named it. Pure. */
export function adviseInManager(remedy: Remedy, agent = agentWords(remedy)): Advice {
  return (managerRemedies[remedy.code] as (remedy: Remedy, agent: string) => Advice)(remedy, agent);
}

function agentWords(remedy: Remedy): string {
  const which =
    "agent_id" in remedy
      ? `--agent-id ${remedy.agent_id}`
      : `--agent-name ${"agent_name" in remedy ? remedy.agent_name : "NAME"}`;
  return `svc-mgr agents single ${which}`;
}

/** A whole sentence without its stop. Pure. */
export function toSentence({ step, command }: Advice): string {
  return command === null ? step : `${step} with: ${command}`;
}
