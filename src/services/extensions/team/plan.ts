import type { TeamOwner } from "../../../protocol/files.ts";
import type { TeamAgent, TeamFile, TeamLaunch, TeamRecord } from "../../../protocol/team-file.ts";
import { defaultNotifierConfig, firstNotifierSettings } from "../../notifier/config.ts";
import type { LaunchDetails } from "./launch-details.ts";
import { prefixedName } from "./team-store.ts";

type TeamState = TeamRecord["agents"];

export interface RunningAgent {
  agent_name: string;
  agent_id: string;
  lifecycle_state: string;
  session_gone: boolean;
  turn_phase: string;
  /** Without a gateway, as its file says. */
  queue_depth: number | null;
  /** Null without a gateway that answers. */
  gateway_base_url: string | null;
  /** Null for an agent of no team: a person launched it. */
  team: TeamOwner | null;
  /** Where it works; null where that cannot be read. */
  folder: string | null;
  session_root: string | null;
}

export interface TeamFacts {
  team: TeamFile;
  /** Path of the file, as its agents' records have it. */
  file: string;
  /** Before the names of its agents; empty without one. */
  prefix: string;
  launches: Record<string, TeamLaunch>;
  /** By agent, as `launches`. */
  details: Record<string, LaunchDetails>;
  state: TeamState;
  running: readonly RunningAgent[];
  /** Worktrees that are there, by agent. */
  worktrees: ReadonlySet<string>;
  /** Addresses that have the mailbox of a person. */
  addresses: ReadonlySet<string>;
  /** Ends and starts again an agent that works and differs. */
  restart: boolean;
  /** The reminders and schedules of the file, by agent and name; `sha256`: of all of one. */
  reminders: Record<string, Record<string, { sha256: string; prompt: string; when: string }>>;
  /** Settings of the notifiers that agents have, by agent; null where they cannot be read. */
  liveNotifiers: Record<string, Readonly<Record<string, unknown>> | null>;
  /** Ids of the reminders that agents have, by agent; null where they cannot be read. */
  liveReminders: Record<string, ReadonlySet<string> | null>;
  /** Stops agents that `up` launched and the file has no more. */
  prune: boolean;
}

export type TeamStep =
  | { step: "register"; person: string; address: string }
  | { step: "worktree"; agent: string }
  | { step: "launch"; agent: string; launch: LaunchDetails }
  /** An agent of this file that was stopped, or whose session has gone: it goes on where it was. */
  | { step: "resume"; agent: string; agentId: string; waiting: number; launch: LaunchDetails }
  | { step: "replace"; agent: string; differs: string[]; launch: LaunchDetails }
  | { step: "stop"; agent: string; agentId: string }
  | { step: "remind"; agent: string; name: string; prompt: string; when: string }
  /** Sends the settings of the file that differ; others keep their values. */
  | { step: "notifier"; agent: string; enabled: boolean; changes: NotifierChange[] }
  /** `reminderId`: of one that takes its place or is gone from the file. */
  | { step: "forget"; agent: string; name: string; reminderId: string }
  | { step: "keep"; agent: string }
  /**
   * An agent of another owner has the name. `owner`: its team file, null where a person launched it in
   * `folder`.
   */
  | { step: "clash"; agent: string; agentId: string; owner: string | null; folder: string | null }
  | { step: "leave"; agent: string; why: string };

/**
 * What makes the machine as the file says, in the order in which it is done: people, then each agent of the
 * file, then agents that left it. An agent that is as the file says is kept; one that differs is replaced
 * unless it works. An agent of the same name that this file did not launch is a clash, and never touched.
 * Pure. Source: ruling 40.
 */
export function planTeam(facts: TeamFacts): TeamStep[] {
  const people = Object.entries(facts.team.people ?? {}).flatMap(([person, { address }]): TeamStep[] => {
    const wanted = address ?? `${person}@svc.localhost`;
    return facts.addresses.has(wanted) ? [] : [{ step: "register", person, address: wanted }];
  });
  const agents = Object.keys(facts.team.agents).flatMap((name) => planAgent(facts, name));
  const left = ownAgents(facts)
    .filter(({ member }) => !Object.hasOwn(facts.team.agents, member))
    .map((one) => planLeft(facts, one));
  return [...people, ...agents, ...left];
}

/**
 * What is kept of an agent that runs, and whose mailbox or gateway its launch did not get to: `up` replaces
 * it. Pure.
 */
export function unfinished(launch: TeamLaunch): TeamLaunch {
  return { ...launch, env_sha256: "" };
}

function planAgent(facts: TeamFacts, name: string): TeamStep[] {
  const { launches, state } = facts;
  const [wanted, launch] = [launches[name], facts.details[name]];
  if (!wanted || !launch) return [];
  const worktree: TeamStep[] =
    wanted.worktree && !facts.worktrees.has(name) ? [{ step: "worktree", agent: name }] : [];
  const running = runs(facts, name);
  const known = state[name];
  const all = [
    ...planNotifier(facts, name, {}),
    ...Object.keys(facts.reminders[name] ?? {}).map((one) => toRemind(facts, name, one)),
  ];
  if (!running) {
    const stopped = planStopped(facts, name, launch);
    if (stopped?.step === "leave") return [stopped];
    if (stopped === null) return [...worktree, { step: "launch", agent: name, launch }, ...all];
    const live = facts.liveNotifiers[name] ?? {};
    return [...worktree, stopped, ...planNotifier(facts, name, live), ...planReminders(facts, name)];
  }
  if (running.team?.file !== facts.file) {
    const { agent_id: agentId, team, folder } = running;
    return [{ step: "clash", agent: name, agentId, owner: team?.file ?? null, folder }];
  }
  // An `up` that was killed may have launched it and not written that down.
  const before = known?.agent_id === running.agent_id ? known.launch : unfinished(wanted);
  const differs = differences(before, wanted);
  const kept = planKept(facts, name);
  if (differs.length === 0) return kept.length > 0 ? kept : [{ step: "keep", agent: name }];
  const isServed = running.gateway_base_url !== null || running.queue_depth !== 0;
  const isHalf = isUnfinished(before) && !isServed;
  if (isBusy(running) && !isHalf && !facts.restart) {
    const why = `it works, and differs in ${differs.join(", ")}; --restart ends its turn and starts it again`;
    return [{ step: "leave", agent: name, why }, ...kept];
  }
  return [...worktree, { step: "replace", agent: name, differs, launch }, ...all];
}

/**
 * Of an agent of this file that does not run. One that is as the file says goes on where it was; one that
 * differs is launched as another, unless prompts wait for it. Null where it is to be launched.
 */
function planStopped(
  facts: TeamFacts,
  name: string,
  launch: LaunchDetails,
): Extract<TeamStep, { step: "resume" | "leave" }> | null {
  const wanted = facts.launches[name];
  const known = facts.state[name];
  const stopped = facts.running.find(
    (one) => one.team?.file === facts.file && one.agent_id === known?.agent_id && !isAlive(one),
  );
  // Without its folder nobody knows how it was started.
  if (!wanted || !known || !stopped || stopped.folder === null) return null;
  const waiting = stopped.queue_depth ?? 0;
  const differs = differences(known.launch, wanted);
  if (differs.length === 0) {
    return { step: "resume", agent: name, agentId: stopped.agent_id, waiting, launch };
  }
  if (waiting === 0 || facts.restart) return null;
  const prompts = waiting === 1 ? "1 prompt waits" : `${waiting} prompts wait`;
  const why = `it is stopped, ${prompts} for it, and it differs in ${differs.join(", ")}; --restart launches it as the file says, without them`;
  return { step: "leave", agent: name, why };
}

/** What an agent that runs on lacks of the file. */
function planKept(facts: TeamFacts, agent: string): TeamStep[] {
  const live = facts.liveNotifiers[agent];
  if (live === null || facts.liveReminders[agent] === null) {
    const what = live === null ? "notifier is" : "reminders are";
    return [{ step: "leave", agent, why: `its gateway does not answer, so its ${what} not known` }];
  }
  return [...planNotifier(facts, agent, live ?? {}), ...planReminders(facts, agent)];
}

/**
 * `to`: the value of the file; `from`: the present one, null where none is known. `widens`: more than before
 * can wake or steer.
 */
interface NotifierChange {
  setting: string;
  from: unknown;
  to: unknown;
  widens: boolean;
}

/** `live`: its present settings. */
function planNotifier(
  { team }: TeamFacts,
  agent: string,
  live: Readonly<Record<string, unknown>>,
): TeamStep[] {
  const wanted = team.agents[agent]?.notifier;
  if (!wanted) return [];
  // A disabled one keeps its settings.
  const settings = wanted.enabled === false ? { enabled: false } : { enabled: true, ...wanted };
  // Without an interval nobody has set it yet: its first `enable` sets other values than it has now.
  const present = live["interval_seconds"] === null ? { enabled: live["enabled"] } : live;
  const changes = Object.entries(settings).flatMap(([setting, to]): NotifierChange[] => {
    const from = (present as Readonly<Record<string, unknown>>)[setting] ?? null;
    if (from === to) return [];
    return [{ setting, from, to, widens: widensTrust(setting as NotifierSetting, from, to) }];
  });
  return changes.length === 0 ? [] : [{ step: "notifier", agent, enabled: settings.enabled, changes }];
}

type NotifierSetting = keyof NonNullable<TeamAgent["notifier"]>;

/** 0 is no limit. */
const isHigher = (from: unknown, to: unknown) => Number(to || Infinity) > Number(from || Infinity);

/** Whether a change of the setting lets more wake or steer the agent. */
const wideningChanges: Readonly<Record<NotifierSetting, (from: unknown, to: unknown) => boolean>> = {
  enabled: (_, to) => to !== false,
  mode: (_, to) => to !== "unread_only",
  wake_policy: (_, to) => to !== "on_change",
  interval_seconds: (from, to) => from !== null && Number(to) < Number(from),
  max_wakes_per_hour: isHigher,
  max_hops: isHigher,
  require_attestation: (_, to) => to !== "verified",
  appendix_text: (_, to) => to !== "",
};

/** A setting that nobody has set counts as what the first `enable` makes of it. */
function widensTrust(setting: NotifierSetting, from: unknown, to: unknown): boolean {
  const usual = { ...defaultNotifierConfig, ...firstNotifierSettings };
  const before = from ?? usual[setting];
  return before !== to && wideningChanges[setting](before, to);
}

/**
 * Of an agent that runs. One that somebody removed is made again; one that `up` did not make is not touched.
 */
function planReminders(facts: TeamFacts, agent: string): TeamStep[] {
  const wanted = facts.reminders[agent] ?? {};
  const made = facts.state[agent]?.reminders ?? {};
  const live = facts.liveReminders[agent];
  const isLive = (name: string) => live?.has(made[name]?.reminder_id ?? "") ?? false;
  const isAsWanted = (name: string) => isLive(name) && made[name]?.sha256 === wanted[name]?.sha256;
  const forgotten = Object.entries(made).flatMap(([name, { reminder_id: reminderId }]): TeamStep[] =>
    isLive(name) && !isAsWanted(name) ? [{ step: "forget", agent, name, reminderId }] : [],
  );
  const added = Object.keys(wanted).flatMap((name): TeamStep[] =>
    isAsWanted(name) ? [] : [toRemind(facts, agent, name)],
  );
  return [...forgotten, ...added];
}

function toRemind({ reminders }: TeamFacts, agent: string, name: string): TeamStep {
  const { prompt = "", when = "" } = reminders[agent]?.[name] ?? {};
  return { step: "remind", agent, name, prompt, when };
}

function planLeft({ prune }: TeamFacts, { member, agentId }: OwnAgent): TeamStep {
  if (prune) return { step: "stop", agent: member, agentId };
  return { step: "leave", agent: member, why: "the file does not have it any more; --prune stops it" };
}

interface OwnAgent {
  member: string;
  agentId: string;
  name: string;
}

/** The agents of this file that run or whose session has gone, also those that the file has no more. Pure. */
export function ownAgents({ file, running }: Pick<TeamFacts, "file" | "running">): OwnAgent[] {
  return running.flatMap(({ team, agent_id: agentId, agent_name: name, lifecycle_state: state }) =>
    team?.file === file && state === "active" ? [{ member: team.member, agentId, name }] : [],
  );
}

/** The agents to stop: those of this file that still run. Pure. */
export function planDown(facts: Pick<TeamFacts, "file" | "running">): TeamStep[] {
  return ownAgents(facts).map(({ member, agentId }) => ({ step: "stop", agent: member, agentId }));
}

function runs({ running, prefix }: TeamFacts, member: string): RunningAgent | undefined {
  const name = prefixedName(prefix, member);
  return running.find((one) => one.agent_name === name && isAlive(one));
}

/** Whether it runs, as far as anybody can see. Pure. */
export const isAlive = ({ lifecycle_state, session_gone }: RunningAgent): boolean =>
  lifecycle_state === "active" && !session_gone;

/** An agent of which nobody knows whether it works counts as one that does. */
function isBusy({ turn_phase, queue_depth }: RunningAgent): boolean {
  return turn_phase !== "ready" || queue_depth !== 0;
}

const fieldNames: Readonly<Record<keyof TeamLaunch, string>> = {
  tool: "tool",
  workdir: "workdir",
  worktree: "worktree",
  args: "args",
  headless: "headless",
  unattended: "unattended",
  mailbox: "mailbox",
  model: "model",
  role_sha256: "role_file",
  env_sha256: "env",
};

const isUnfinished = ({ env_sha256 }: TeamLaunch): boolean => env_sha256 === "";

function differences(before: TeamLaunch, wanted: TeamLaunch): string[] {
  if (isUnfinished(before)) return ["how far its launch got"];
  const keys = Object.keys(fieldNames) as (keyof TeamLaunch)[];
  return keys
    .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(wanted[key]))
    .map((key) => fieldNames[key]);
}
