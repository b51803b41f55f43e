import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NotifierAuditRow } from "../../src/protocol/notifier.ts";
import type { DemoLogEntry } from "../../src/services/demo/log.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { until } from "../support/until.ts";

const rounds = 4;
const address = (name: string) => `${name}@svc.localhost`;

interface Talker {
  mgr: (...words: string[]) => ReturnType<CliFixture["mgr"]>;
  log: () => DemoLogEntry[];
}

/** An agent that works its mail by itself, with a gateway that wakes it. */
async function launchTalker(fixture: CliFixture, name: string, ...settings: string[]): Promise<Talker> {
  const log = join(fixture.folder, `${name}.log`);
  const script = join(fixture.folder, `${name}.json`);
  const root = join(fixture.folder, "mail");
  writeFileSync(script, JSON.stringify({ schema_version: 1, mail_rounds: true }));
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", name, "--mailbox-root", root];
  const launched = await fixture.mgr(...launch, "--mailbox", "--", "--log", log, "--script", script);
  expect([launched.exitCode, launched.stderr]).toEqual([0, expect.any(String)]);
  const mgr = (...words: string[]) =>
    fixture.mgr("agents", "single", "--agent-name", name, ...words, "--json");
  // The doorbell alone drives the conversation: a sweep comes too late to help.
  const enabled = await mgr("gateway", "mail-notifier", "enable", "--interval-seconds", "3600", ...settings);
  expect(enabled.exitCode).toBe(0);
  return { mgr, log: () => parseDemoLog(readFileSync(log, "utf8")) };
}

const kinds = (log: readonly DemoLogEntry[], kind: DemoLogEntry["kind"]) =>
  log.filter((entry) => entry.kind === kind);

test(`two agents talk by mail for ${rounds} rounds with no person and no model between them`, async () => {
  await using fixture = createCliFixture();
  const alice = await launchTalker(fixture, "alice");
  const bob = await launchTalker(fixture, "bob");
  const body = `TALK ${address("bob")} ${rounds}`;
  const asked = await alice.mgr("mail", "post", "--subject", "Talk to bob", "--body-content", body);
  expect([asked.exitCode, asked.json()["status"]]).toEqual([0, "verified"]);

  const worked = () => [alice, bob].map(({ log }) => kinds(log(), "mail_round_ended").length);
  // Alice: the post and bob's ten replies; bob: alice's ten messages.
  await until(
    "every message is archived",
    () => worked().join() === `${rounds / 2 + 1},${rounds / 2}`,
    400_000,
  );

  for (const talker of [alice, bob]) {
    const log = talker.log();
    const refs = (kind: DemoLogEntry["kind"]) =>
      kinds(log, kind).map((entry) => ("message_ref" in entry ? entry.message_ref : ""));
    // Each once, in the order in which it came.
    expect(refs("mail_read")).toEqual(refs("mail_archived"));
    expect(new Set(refs("mail_archived")).size).toBe(refs("mail_archived").length);
    expect(kinds(log, "mail_round_ended").map((entry) => "problem" in entry && entry.problem)).toEqual(
      refs("mail_archived").map(() => null),
    );
    // Nothing was ever typed into a busy surface, nor lost in a dialog.
    const submitted = log.flatMap((entry) => (entry.kind === "submitted" ? [entry.while] : []));
    expect(submitted).toEqual(refs("mail_archived").map(() => "idle"));
    expect(kinds(log, "lost_input")).toEqual([]);

    const list = await talker.mgr("mail", "list");
    expect([list.json()["message_count"], list.json()["execution_path"]]).toEqual([0, "gateway_backed"]);
    const kept = (await talker.mgr("mail", "list", "--box", "archive")).json();
    const messages = kept["messages"] as { message_ref: string; read: boolean; archived: boolean }[];
    expect(messages.map((message) => message.message_ref).sort()).toEqual(refs("mail_archived").sort());
    expect(messages.every((message) => message.read && message.archived)).toBe(true);

    const audit = (await talker.mgr("gateway", "mail-notifier", "audit", "--limit", "1000")).json();
    const rows = audit["rows"] as NotifierAuditRow[];
    expect(rows.filter((row) => row.outcome === "enqueued").length).toBe(refs("mail_archived").length);
    expect(rows.filter((row) => row.outcome === "poll_error")).toEqual([]);
  }
  const said = [...kinds(alice.log(), "mail_sent"), ...kinds(alice.log(), "mail_replied")];
  expect(said.length + kinds(bob.log(), "mail_replied").length).toBe(rounds);
}, 400_000);

test("two agents that answer each other for ever stop at the limit of replies, say so, and go on when it is raised", async () => {
  await using fixture = createCliFixture();
  const limits = ["--max-hops", "4", "--max-wakes-per-hour", "0"];
  const alice = await launchTalker(fixture, "alice", ...limits);
  const bob = await launchTalker(fixture, "bob", ...limits);
  const body = `TALK ${address("bob")} 1000`;
  await alice.mgr("mail", "post", "--subject", "Talk to bob", "--body-content", body);
  const held = async () => (await bob.mgr("gateway", "status")).json()["wakes_held"];
  await until("bob to be woken no more", async () => (await held()) !== undefined, 120_000);
  expect(await held()).toMatchObject({ reason: "max_hops", detail: expect.stringContaining("max_hops=4") });
  // The message is there, and its hops with it.
  const parked = (await bob.mgr("mail", "list")).json()["messages"];
  expect(parked).toMatchObject([{ hops: 4, archived: false }]);
  const replies = () => [...kinds(alice.log(), "mail_replied"), ...kinds(bob.log(), "mail_replied")].length;
  expect(replies()).toBe(4);
  const waiting = (await fixture.mgr("attention", "list", "--json")).json()["items"];
  expect(waiting).toMatchObject([{ kind: "held_wakes", agent_name: "bob" }]);

  for (const talker of [alice, bob]) {
    const raised = await talker.mgr("gateway", "mail-notifier", "enable", "--max-hops", "7");
    expect(raised.json()).toMatchObject({ max_hops: 7 });
  }
  await until("the next limit", () => replies() > 4, 120_000);
}, 300_000);
