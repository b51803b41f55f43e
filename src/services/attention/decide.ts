import type { AttentionItem, AttentionKind, AttentionQuery } from "../../protocol/attention.ts";
import type { WakesHeld } from "../../protocol/gateway.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { shellWord } from "../../system/shell-word.ts";
import type { AttentionFacts, FailedRequest } from "../fleet/attention-facts.ts";
import type { PersonMail } from "./people-mail.ts";

/** What one condition adds to what every item has. */
interface Finding {
  kind: AttentionKind;
  /** What makes it this condition and no other one of its kind and agent. */
  key: readonly (string | number | null)[];
  sinceUtc: string | null;
  reason: string;
  evidence: readonly string[];
  next: string;
  command: string | null;
  question?: string;
  subject?: AttentionItem["subject"];
  answers?: AttentionItem["answers"];
}

const idLength = 12;
const maxSentence = 300;

/**
 * Everything that waits for a person, oldest first; what nobody knows the age of is first. Mail is last,
 * since no agent stops because of it. A cause hides what follows from it: of a dead agent neither its gateway
 * nor its queue is listed. Pure.
 */
export function decideAttention(
  agents: readonly AttentionFacts[],
  nowMs: number,
  mail: readonly PersonMail[] = [],
): AttentionItem[] {
  const items = agents.flatMap((facts) => findingsOf(facts).map((finding) => toItem(facts, finding, nowMs)));
  return [...items.sort(byAge), ...mail.map((one) => toMailItem(one, nowMs)).sort(byAge)];
}

/** Without the body: it is shown where it is read. */
function toMailItem(mail: PersonMail, nowMs: number): AttentionItem {
  const { root, address, agent, from, messageRef, sinceUtc } = mail;
  return {
    id: `mail-${sha256(JSON.stringify([root, address, messageRef])).slice(0, idLength)}`,
    kind: "mail",
    address,
    epoch: null,
    question: null,
    subject: null,
    answers: [],
    agent_id: agent?.id ?? null,
    agent_name: agent?.name ?? null,
    tracked_agent_id: null,
    since_utc: sinceUtc,
    age_seconds: ageOf(sinceUtc, nowMs),
    reason: sentence(`${address} has mail from ${agent ? `"${agent.name}"` : from}: ${mail.subject}`),
    evidence: [`from ${from}`, messageRef],
    next: "Read it",
    command: `svc-mgr mail --mailbox-root ${shellWord(root)} --address ${address} read --message-ref ${messageRef}`,
  };
}

const ageOf = (sinceUtc: string, nowMs: number): number | null => {
  const sinceMs = parseTimestamp(sinceUtc);
  return sinceMs === null ? null : Math.max(0, Math.round((nowMs - sinceMs) / 1000));
};

/** The items that a query asks for; `agentIds`: of the agent it names, null for all. Pure. */
export function filterAttention(
  items: readonly AttentionItem[],
  { kind }: Pick<AttentionQuery, "kind">,
  agentIds: ReadonlySet<string> | null,
): AttentionItem[] {
  return items.filter(
    (item) =>
      (kind === undefined || item.kind === kind) && (agentIds === null || agentIds.has(item.agent_id ?? "")),
  );
}

function findingsOf(facts: AttentionFacts): Finding[] {
  const failures = facts.failed.map((request) => failedRequest(facts, request));
  const dead = deadAgent(facts);
  if (dead) return [dead, ...failures];
  const unseen = unseenAgent(facts);
  if (unseen) return [unseen, ...failures];
  const gateway = deadGateway(facts);
  const queue = gateway && facts.gateway.state !== "dead" ? null : closedQueue(facts);
  const surface = facts.decision ? decision(facts) : (usageLimit(facts) ?? stuckAgent(facts));
  return [gateway, queue, surface, heldWakes(facts), reachedBudget(facts), ...failures].filter(
    (finding) => finding !== null,
  );
}

const commandPrefix = ({ agent }: AttentionFacts) => `svc-mgr agents single --agent-name ${agent.name}`;

function deadAgent(facts: AttentionFacts): Finding | null {
  const { agent, session, programEnded, gateway } = facts;
  const prefix = commandPrefix(facts);
  const found = (reason: string, next: string, command: string, sinceUtc: string | null = null): Finding => ({
    kind: "dead_agent",
    key: [agent.generation],
    sinceUtc,
    reason,
    evidence: [],
    next,
    command,
  });
  if (facts.unusable !== null) {
    const reason = `"${agent.name}" cannot be opened: ${facts.unusable}`;
    return found(reason, "All that can be done is to end it", `${prefix} stop`);
  }
  // A gateway sees the pane itself.
  const seen = gateway.state === "live" && !programEnded;
  const why = session === "gone" ? "its tmux session is gone" : programEnded ? "its program has ended" : null;
  if (seen || why === null) return null;
  const reason = `"${agent.name}" is dead: ${why}`;
  const since = programEnded?.sinceUtc ?? null;
  return facts.relaunchable
    ? found(reason, "Start it again", `${prefix} relaunch`, since)
    : found(reason, "Remove what it left", `${prefix} cleanup`, since);
}

/**
 * A tmux server that does not answer, as on a busy machine, proves no end: nothing is ended or removed on
 * this word.
 */
function unseenAgent({ agent, session, gateway }: AttentionFacts): Finding | null {
  if (session !== "unknown" || gateway.state === "live") return null;
  return {
    kind: "stuck_agent",
    key: [agent.generation, "unseen"],
    sinceUtc: null,
    evidence: [],
    reason: `whether "${agent.name}" runs is not known: its tmux server does not answer`,
    next: "See why",
    command: "svc-mgr doctor",
  };
}

function deadGateway(facts: AttentionFacts): Finding | null {
  const { agent, gateway, queueDepth } = facts;
  const prefix = commandPrefix(facts);
  const found = (reason: string, next: string, command: string): Finding => ({
    kind: "dead_gateway",
    key: [agent.generation, gateway.state],
    sinceUtc: null,
    reason,
    evidence: gateway.state === "none" ? [] : [gateway.why],
    next,
    command,
  });
  const waiting = queueDepth === 1 ? "1 request waits" : `${queueDepth} requests wait`;
  switch (gateway.state) {
    case "live":
      return null;
    case "silent":
      // A busy machine looks the same for a while, so nothing is ended on this word alone.
      return found(`the gateway of "${agent.name}" does not answer`, "See why", "svc-mgr doctor");
    case "dead":
      return found(`the gateway of "${agent.name}" has died`, "Start one", `${prefix} gateway attach`);
    case "none":
      if (queueDepth === 0) return null;
      return found(
        `${waiting} for "${agent.name}" and no gateway runs`,
        "Start one",
        `${prefix} gateway attach`,
      );
  }
}

function closedQueue(facts: AttentionFacts): Finding | null {
  const { agent, block, epoch, gateway, unreconciled } = facts;
  const found = (detail: string, reason: string, next: string, command: string | null): Finding => ({
    kind: "closed_queue",
    key: [agent.generation, epoch, reason],
    sinceUtc: null,
    reason: `the queue of "${agent.name}" is closed: ${detail}`,
    evidence: [reason],
    next,
    command,
  });
  if (block && block.reason !== "reconciliation_required") {
    if (block.reason === "agent_unavailable" || block.reason === "gateway_unreachable") return null;
    return found(block.detail, block.reason, "See what is wrong", "svc-mgr doctor");
  }
  if (!unreconciled) return null;
  const verb = gateway.state === "live" ? "gateway reconcile" : "gateway attach --reconcile";
  const detail = "the agent is a new instance, and work for the one before may wait";
  return found(detail, "reconciliation_required", "Open it", `${commandPrefix(facts)} ${verb}`);
}

/** Dialogs of a terminal, and requests over ACP. */
const permissionKinds: ReadonlySet<string> = new Set([
  "approval_dialog",
  "permission_request",
  "trust_prompt",
  "startup_modal",
]);

/** Whether an answer may allow something: also one to a question that no rule could read. Pure. */
export function isPermission({ kind, unread }: { kind: string; unread?: string }): boolean {
  return permissionKinds.has(kind) || unread !== undefined;
}

function decision(facts: AttentionFacts): Finding | null {
  const { agent, decision: asked, screenRows } = facts;
  if (!asked) return null;
  const subject = asked.reported ? { action: asked.reported.action, text: asked.reported.message } : null;
  const kind: AttentionKind = permissionKinds.has(asked.kind) ? "permission" : "question";
  const about = [subject?.action, subject?.text].filter((part) => part != null && part !== "").join(": ");
  const words = `${asked.question || "a question that could not be read"}${about && ` (${about})`}`;
  const answers = asked.unread === undefined ? asked.options : [];
  const given = {
    kind,
    sinceUtc: asked.since_utc ?? null,
    question: asked.question,
    subject,
    key: [
      agent.generation,
      asked.id ?? JSON.stringify([asked.question, ...asked.options.map(({ text }) => text)]),
    ],
    reason: sentence(`"${agent.name}" asks${kind === "permission" ? " for permission" : ""}: ${words}`),
    evidence: [
      ...(asked.header === undefined ? [] : [asked.header]),
      ...(asked.unread === undefined ? [] : [asked.unread]),
      ...screenRows,
    ],
    answers: answers.map(({ index, text, checked, description }) => ({
      answer: String(index),
      label: checked === undefined ? text : `${checked ? "[x]" : "[ ]"} ${text}`,
      ...(description === undefined ? {} : { description }),
    })),
  };
  if (answers.length > 0 && facts.gateway.state === "live") {
    return {
      ...given,
      next: "Choose one of its answers",
      command: answerCommand(facts, given.kind, given.key),
    };
  }
  return { ...given, answers: [], next: "Answer it in its terminal", command: facts.attachLine };
}

const answerCommand = (facts: AttentionFacts, kind: AttentionKind, key: Finding["key"]) =>
  `svc-mgr attention answer ${idOf(facts, kind, key)} ANSWER`;

function usageLimit(facts: AttentionFacts): Finding | null {
  const { agent, parked } = facts;
  if (!parked) return null;
  const { notice, until, sinceUtc } = parked;
  const end = until === null ? "it shows no end" : `until ${until}`;
  return {
    kind: "usage_limit",
    key: [agent.generation, notice, until],
    sinceUtc,
    reason: sentence(`"${agent.name}" is held by a usage limit, ${end}`),
    evidence: [notice],
    next: until === null ? "Go on with it when the limit is over" : "It takes work again by itself then",
    command: null,
  };
}

function stuckAgent(facts: AttentionFacts): Finding | null {
  const { agent, stuck } = facts;
  if (!stuck) return null;
  return {
    kind: "stuck_agent",
    key: [agent.generation, ...stuck.facts],
    sinceUtc: stuck.since,
    reason: `"${agent.name}" is stuck: it takes no prompt and nothing moves`,
    evidence: stuck.facts,
    next: "See why",
    command: `${commandPrefix(facts)} gateway tui explain`,
  };
}

function heldWakes(facts: AttentionFacts): Finding | null {
  const { agent, wakesHeld: held } = facts;
  if (!held) return null;
  const notifier = `${commandPrefix(facts)} gateway mail-notifier`;
  const { next, command } = heldAdvice[held.reason];
  return {
    kind: "held_wakes",
    key: [agent.generation, held.reason],
    sinceUtc: held.since_utc,
    reason: sentence(`mail does not wake "${agent.name}": ${held.detail}`),
    evidence: [held.reason],
    next,
    command: `${notifier} ${command}`,
  };
}

const heldAdvice: Record<WakesHeld["reason"], { next: string; command: string }> = {
  max_hops: {
    next: "See who answers whom; a higher limit lets it go on",
    command: "enable --max-hops N",
  },
  max_wakes_per_hour: {
    next: "See why it is woken so often; a higher limit lets it go on",
    command: "audit",
  },
  require_attestation: {
    next: "See who sent it; read it yourself, and archive it",
    command: "audit",
  },
};

function reachedBudget(facts: AttentionFacts): Finding | null {
  const { agent, budget } = facts;
  if (!budget) return null;
  const { level, of, detail, command, since_utc: sinceUtc } = budget;
  const held = level === "hold";
  return {
    kind: "budget",
    key: [agent.generation, level, of],
    sinceUtc,
    reason: sentence(
      held ? `a budget holds "${agent.name}": ${detail}` : `"${agent.name}" nears a budget: ${detail}`,
    ),
    evidence: [level, of],
    next: held
      ? "It begins no turn until the budget is raised or its day is over"
      : "See what it works at, or raise it",
    command,
  };
}

function failedRequest(facts: AttentionFacts, request: FailedRequest): Finding {
  const { agent } = facts;
  const what = request.kind === "mail_notifier_prompt" ? "a wake for mail" : "a prompt";
  return {
    kind: request.unknown ? "unknown_request" : "failed_request",
    key: [request.requestId],
    sinceUtc: request.finishedAtUtc,
    reason: sentence(
      request.unknown
        ? `whether "${agent.name}" took ${what} is unknown: ${request.detail}`
        : `${what} for "${agent.name}" failed: ${request.detail}`,
    ),
    evidence: [request.requestId, ...request.evidence],
    next: "See how far it got, then give it again or give other work",
    command: `${commandPrefix(facts)} requests show ${request.requestId}`,
  };
}

function idOf({ agent }: AttentionFacts, kind: AttentionKind, key: Finding["key"]): string {
  return `${kind}-${sha256(JSON.stringify([agent.id, kind, ...key])).slice(0, idLength)}`;
}

function toItem(facts: AttentionFacts, finding: Finding, nowMs: number): AttentionItem {
  const { agent, epoch } = facts;
  return {
    id: idOf(facts, finding.kind, finding.key),
    kind: finding.kind,
    agent_id: agent.id,
    agent_name: agent.name,
    tracked_agent_id: agent.trackedId,
    address: null,
    since_utc: finding.sinceUtc,
    age_seconds: finding.sinceUtc === null ? null : ageOf(finding.sinceUtc, nowMs),
    epoch,
    reason: finding.reason,
    question: finding.question ?? null,
    subject: finding.subject ?? null,
    evidence: [...finding.evidence],
    answers: finding.answers ?? [],
    next: finding.next,
    command: finding.command,
  };
}

/** One line; what an agent writes may be long and hold anything. */
function sentence(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return line.length <= maxSentence ? line : `${line.slice(0, maxSentence - 1)}…`;
}

function byAge(one: AttentionItem, other: AttentionItem): number {
  const order = (item: AttentionItem) => `${item.since_utc ?? ""}\0${item.agent_name ?? ""}\0${item.id}`;
  return order(one) < order(other) ? -1 : 1;
}
