import type { AttentionItem, AttentionKind, AttentionQuery } from "../../protocol/attention.ts";
import { budgetRemedy } from "../../protocol/budget.ts";
import { type Advise, type Remedy, toRemedyRecord } from "../../protocol/remedy.ts";
import { parseTimestamp } from "../../system/clock.ts";
import { sha256 } from "../../system/digest.ts";
import { assertNever } from "../../system/errors.ts";
import type { AttentionFacts, FailedRequest } from "../fleet/attention-facts.ts";
import { type Diagnosis, diagnose, type Problem } from "../fleet/diagnose.ts";
import type { PersonMail } from "./people-mail.ts";

/** What one condition adds to what every item has. */
interface Finding {
  kind: AttentionKind;
  /** What makes it this condition and no other one of its kind and agent. */
  key: readonly (string | number | null)[];
  sinceUtc: string | null;
  reason: string;
  evidence: readonly string[];
  remedy: Remedy;
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
  advise: Advise,
  agents: readonly AttentionFacts[],
  nowMs: number,
  mail: readonly PersonMail[] = [],
): AttentionItem[] {
  const items = agents.flatMap((facts) =>
    findingsOf(facts).map((finding) => toItem(advise, facts, finding, nowMs)),
  );
  return [...items.sort(byAge), ...mail.map((one) => toMailItem(advise, one, nowMs)).sort(byAge)];
}

/** Without the body: it is shown where it is read. */
function toMailItem(advise: Advise, mail: PersonMail, nowMs: number): AttentionItem {
  const { root, address, agent, from, messageRef, sinceUtc } = mail;
  const remedy: Remedy = { code: "read_mail", root, address, message_ref: messageRef };
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
    ...toAdvice(advise, remedy),
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

/** Of an agent in this state nothing else is known. */
const hidesTheRest: ReadonlySet<Problem> = new Set([
  "unusable",
  "unreadable",
  "stopped",
  "session_gone",
  "program_ended",
  "session_unknown",
]);

function findingsOf(facts: AttentionFacts): Finding[] {
  const failures = facts.failed.map((request) => failedRequest(facts, request));
  const diagnoses = diagnose(facts).filter(({ severity }) => severity !== "notice");
  const asked = decision(facts) ?? usageLimit(facts) ?? waitingDraft(facts);
  // What asks, waits for a limit or for a person who writes does not move.
  const health = diagnoses
    .filter(({ problem }) => asked === null || problem !== "stuck")
    .map((diagnosis) => healthFinding(facts, diagnosis));
  if (diagnoses.some(({ problem }) => hidesTheRest.has(problem))) return [...health, ...failures];
  return [...health, asked, heldWakes(facts), reachedBudget(facts), ...failures].filter(
    (finding) => finding !== null,
  );
}

/** What a person sees of a diagnosis. */
function healthFinding(facts: AttentionFacts, diagnosis: Diagnosis): Finding {
  const { agent, epoch, block, gateway, programEnded, stuck } = facts;
  const { problem, detail, remedy } = diagnosis;
  const name = `"${agent.name}"`;
  const finding = (
    kind: AttentionKind,
    reason: string,
    rest: Partial<Pick<Finding, "key" | "sinceUtc" | "evidence">> = {},
  ): Finding => ({ kind, key: [agent.generation], sinceUtc: null, evidence: [], reason, remedy, ...rest });
  const gatewayKey = [agent.generation, gateway.state];
  switch (problem) {
    case "unusable":
      return finding("dead_agent", `${name} cannot be opened: ${facts.unusable?.why}`);
    case "stopped":
    case "session_gone":
    case "program_ended":
      return finding("dead_agent", `${name} is dead: ${detail}`, {
        sinceUtc: programEnded?.sinceUtc ?? null,
      });
    case "unreadable":
    case "session_unknown":
      return finding("stuck_agent", `whether ${name} runs is not known: ${detail}`, {
        key: [agent.generation, "unseen"],
      });
    case "gateway_silent":
    case "gateway_dead":
      return finding("dead_gateway", `${name} takes no work: ${detail}`, {
        key: gatewayKey,
        evidence: [gateway.why],
      });
    case "gateway_missing":
      return finding("dead_gateway", `${name} takes no work: ${detail}`, { key: gatewayKey });
    case "queue_unusable":
    case "queue_closed": {
      const why = problem === "queue_closed" ? "reconciliation_required" : (block?.reason ?? "");
      return finding("closed_queue", `the queue of ${name} is closed: ${detail}`, {
        key: [agent.generation, epoch, why],
        evidence: [why],
      });
    }
    case "stuck":
      return finding("stuck_agent", `${name} is stuck: it takes no prompt and nothing moves`, {
        key: [agent.generation, ...(stuck?.facts ?? [])],
        sinceUtc: stuck?.since ?? null,
        evidence: stuck?.facts ?? [],
      });
    default:
      return assertNever(problem);
  }
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
    const item_id = idOf(facts, given.kind, given.key);
    return { ...given, remedy: { code: "answer_item", item_id } };
  }
  return { ...given, answers: [], remedy: { code: "answer_in_terminal", attach_line: facts.attachLine } };
}

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
    remedy: { code: "wait_for_limit", until },
  };
}

function waitingDraft(facts: AttentionFacts): Finding | null {
  const { agent, draft } = facts;
  if (!draft) return null;
  return {
    kind: "draft",
    key: [agent.generation],
    sinceUtc: draft.sinceUtc,
    reason: `a draft in the composer of "${agent.name}" keeps a prompt waiting`,
    evidence: [],
    remedy: { code: "attach_terminal", agent_name: agent.name },
  };
}

function heldWakes(facts: AttentionFacts): Finding | null {
  const { agent, wakesHeld: held } = facts;
  if (!held) return null;
  return {
    kind: "held_wakes",
    key: [agent.generation, held.reason],
    sinceUtc: held.since_utc,
    reason: sentence(`mail does not wake "${agent.name}": ${held.detail}`),
    evidence: [held.reason],
    remedy: { code: "release_wakes", agent_name: agent.name, held_by: held.reason },
  };
}

function reachedBudget(facts: AttentionFacts): Finding | null {
  const { agent, budget } = facts;
  if (!budget) return null;
  const { level, of, detail, since_utc: sinceUtc } = budget;
  const held = level === "hold";
  return {
    kind: "budget",
    key: [agent.generation, level, of],
    sinceUtc,
    reason: sentence(
      held ? `a budget holds "${agent.name}": ${detail}` : `"${agent.name}" nears a budget: ${detail}`,
    ),
    evidence: [level, of],
    remedy: budgetRemedy(budget),
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
    remedy: { code: "show_request", agent_name: agent.name, request_id: request.requestId },
  };
}

function idOf({ agent }: AttentionFacts, kind: AttentionKind, key: Finding["key"]): string {
  return `${kind}-${sha256(JSON.stringify([agent.id, kind, ...key])).slice(0, idLength)}`;
}

function toItem(advise: Advise, facts: AttentionFacts, finding: Finding, nowMs: number): AttentionItem {
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
    ...toAdvice(advise, finding.remedy),
  };
}

function toAdvice(advise: Advise, remedy: Remedy): Pick<AttentionItem, "next" | "command" | "remedy"> {
  const { step, command } = advise(remedy);
  return { next: step, command, remedy: toRemedyRecord(remedy) };
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
