import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { MailList } from "../../../../src/protocol/mail.ts";
import type { NotifierAuditRow } from "../../../../src/protocol/notifier.ts";
import { parseMailRound } from "../../../../src/services/demo/script.ts";
import { until } from "../../../support/until.ts";
import type { MailAgent, MailSession } from "../mail-session.ts";
import type { StageStep } from "../staged-steps.ts";

export type MailStep = StageStep<MailSession, null>;

/** Messages between the two; the tool is woken for every second one. */
const rounds = 8;

/**
 * A conversation by mail, set off by one note of the operator: the notifiers wake the idle agents, the tool
 * works its mail with nothing but its shell, and every message is read, answered and archived once.
 */
export async function conversation(session: MailSession): Promise<void> {
  const { worker, partner, model, partnerLog } = session;
  const body = `TALK ${worker.address} ${rounds}`;
  const post = await partner.mgr("mail", "post", "--subject", "Talk", "--body-content", body);
  expect([post.exitCode, post.json()["status"]]).toEqual([0, "verified"]);
  const count = (kind: string) => partnerLog().filter((entry) => entry.kind === kind).length;
  await until(
    "the partner's last message is archived",
    () => count("mail_archived") === rounds / 2 + 1,
    150_000,
  );
  const turns = () => model.received().filter((one) => one.purpose === "turn");
  const wakes = () => turns().filter((one) => !one.tool_answered);
  await until(
    "the tool's last word",
    () =>
      turns().filter((one) => one.tool_results.length === 3 && one.outcome === "finished").length ===
      rounds / 2,
    45_000,
  );

  // Each wake-up named one message that none had named before, and came to a tool that had said its last
  // word.
  const named = wakes().map((one) => parseMailRound(one.newest_user_text));
  expect(named.map((round) => [round?.baseUrl, round?.refs.length])).toEqual(
    named.map(() => [worker.baseUrl, 1]),
  );
  const refs = named.flatMap((round) => round?.refs ?? []);
  expect([refs.length, new Set(refs).size]).toEqual([rounds / 2, rounds / 2]);
  expect(turns().map((one) => one.tool_results.length)).toEqual(refs.flatMap(() => [0, 1, 2, 3]));
  const inTurn = turns().filter((one, at, all) => one.at_ms < (all[at - 1]?.ended_at_ms ?? 0));
  expect(inTurn).toEqual([]);
  for (const phases of typedInto(worker)) expect(["ready", "ready, unknown"]).toContain(phases);
  expect(typedInto(worker)).toHaveLength(refs.length);

  expect(await boxOf(worker, "inbox")).toEqual([]);
  const kept = await boxOf(worker, "archive");
  expect(kept.map((message) => message.message_ref).sort()).toEqual([...refs].sort());
  expect(kept.map(({ read, answered, archived }) => ({ read, answered, archived }))).toEqual(
    refs.map(() => ({ read: true, answered: true, archived: true })),
  );
  const sent = (await boxOf(worker, "sent")).map((message) => message.body_preview).sort();
  expect(sent).toEqual(refs.map((_, at) => `round ${2 * at + 2} of ${rounds}`));

  const audit = await worker.mgr("gateway", "mail-notifier", "audit", "--limit", "1000");
  const outcomes = (audit.json()["rows"] as NotifierAuditRow[]).map((row) => row.outcome);
  expect([outcomes.filter((one) => one === "enqueued").length, outcomes.includes("poll_error")]).toEqual([
    refs.length,
    false,
  ]);
  const log = partnerLog();
  const read = log.flatMap((entry) => (entry.kind === "mail_read" ? entry.message_ref : []));
  const archived = log.flatMap((entry) => (entry.kind === "mail_archived" ? entry.message_ref : []));
  expect([read, new Set(read).size, count("lost_input")]).toEqual([archived, rounds / 2 + 1, 0]);
  const submitted = log.flatMap((entry) => (entry.kind === "submitted" ? entry.while : []));
  expect(submitted).toEqual(read.map(() => "idle"));
}

async function boxOf(agent: MailAgent, box: string) {
  return (await agent.mgr("mail", "list", "--box", box, "--limit", "100")).json<MailList>().messages;
}

/**
 * What the agent's turn was, as the gateway told in the order of its events, from the moment when a prompt
 * was taken up to where it had been typed. Typing shows as a draft: the turn of an agent with one is unknown.
 */
function typedInto({ sessionRoot }: MailAgent): string[] {
  const lines = readFileSync(join(sessionRoot, "gateway/events.jsonl"), "utf8").trimEnd().split("\n");
  let phases: unknown[] = [];
  const typed: string[] = [];
  for (const line of lines) {
    const event = JSON.parse(line) as Record<string, unknown>;
    if (event["kind"] === "terminal_state") phases.push(event["turn_phase"]);
    if (event["kind"] === "executing") phases = phases.slice(-1);
    if (event["kind"] === "request_evidence" && event["step"] === "typed") typed.push(phases.join(", "));
  }
  return typed;
}
