import type { Advice, Remedy, RemedyCode, RemedyOf } from "../../protocol/remedy.ts";
import type { CliIo } from "./command.ts";
import { adviseInManager, agentOf, type NamedAgent } from "./remedies.ts";

/**
 * The remedies for which `svc` has a command: the one place where it is worded. The others are those of
 * `svc-mgr`. `name`: of the agent.
 */
const shortCommands: { [Code in RemedyCode]?: (name: string, remedy: RemedyOf<Code>) => string } = {
  relaunch_agent: (name) => `svc restart ${name}`,
  restart_stopped: (name) => `svc restart ${name} --keep`,
  stop_agent: (name) => `svc stop ${name}`,
  end_agent: (name) => `svc stop ${name}`,
  attach_gateway: (name) => `svc fix ${name}`,
  attach_and_reconcile: (name) => `svc fix ${name}`,
  replace_gateway: (name) => `svc fix ${name}`,
  reconcile_queue: (name) => `svc fix ${name}`,
  answer_question: (name) => `svc ok ${name}`,
  choose_option: (name) => `svc ok ${name} ANSWER`,
  queue_prompt: (name) => `svc tell ${name}`,
  prompt_agent: (name) => `svc ask ${name} "..."`,
  interrupt_turn: (name) => `svc int ${name}`,
  attach_terminal: (name) => `svc attach ${name}`,
  resubmit_failed: (name) => `svc fix ${name} --again`,
  list_waiting: (name) => `svc queue ${name}`,
  follow_log: (name) => `svc log ${name} -f`,
  show_last_turn: (name) => `svc log ${name} --turn 1`,
  view_terminal: (name) => `svc screen ${name}`,
  record_screen: (name) => `svc record ${name} on`,
  list_running: () => "svc ls",
  list_agents: () => "svc agents list --state all",
  launch_demo: () => "svc new first demo",
};

/** As `adviseInManager`, in the terms of `svc`, whose commands take an agent's name. Pure. */
export function adviseInShort(remedy: Remedy, agent: NamedAgent = agentOf(remedy)): Advice {
  const advice = adviseInManager(remedy, agent, "svc");
  const word = shortCommands[remedy.code] as ((name: string, remedy: Remedy) => string) | undefined;
  if (!word || agent === "self" || "agentId" in agent) return advice;
  return { ...advice, command: word(agent.agentName, remedy) };
}

/** The same process, whose texts name the commands of `svc`. */
export const inShortTerms = (io: CliIo): CliIo =>
  Object.assign(Object.create(io) as CliIo, { program: "svc", advise: adviseInShort });
