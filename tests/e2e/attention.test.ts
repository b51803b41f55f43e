import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttentionItem } from "../../src/protocol/attention.ts";
import { createBuiltFixture } from "../support/built-agent.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { type CoordServer, startCoordinator } from "../support/coord-server.ts";
import { parseDemoLog } from "../support/demo-log.ts";
import { until } from "../support/until.ts";

const dist = join(import.meta.dir, "../../dist");
const one = (name: string) => ["agents", "single", "--agent-name", name];

/** Runs `svc-mgr` and expects it to succeed. */
async function run(fixture: CliFixture, ...words: string[]) {
  const done = await fixture.mgr(...words);
  if (done.exitCode !== 0) throw new Error(`${words.join(" ")}: ${done.stderr}${done.stdout}`);
  return done;
}

async function launch(
  fixture: CliFixture,
  name: string,
  ...flags: string[]
): Promise<Record<string, string>> {
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", name, ...flags, "--json"];
  const log = join(fixture.folder, `${name}.log`);
  return (await run(fixture, ...words, "--", "--log", log)).json() as Record<string, string>;
}

/** What the agent says that it was given at its menus. */
const pressed = (fixture: CliFixture, name: string) =>
  parseDemoLog(readFileSync(join(fixture.folder, `${name}.log`), "utf8")).flatMap((record) =>
    record.kind === "menu_answered" ? [record.label] : record.kind === "lost_input" ? ["lost"] : [],
  );

const listed = async (at: CoordServer, query = "") =>
  (await at.ask(`/svc/attention${query}`)).body["items"] as AttentionItem[];

/** The question of `name` once it is listed; `before`: the id of an earlier one. */
const questionOf = (at: CoordServer, name: string, before?: string) =>
  until(`a question of ${name}`, async () =>
    (await listed(at, `?agent=${name}&kind=question`)).find(({ id }) => id !== before),
  );

const ask = (fixture: CliFixture, name: string) =>
  run(fixture, ...one(name), "prompt", "--prompt", "MENU Delete it all?");

describe("what waits for a person", () => {
  test("a question is listed, answered once, and a late answer presses nothing", async () => {
    await using fixture = createBuiltFixture(dist);
    await launch(fixture, "asker");
    await using at = await startCoordinator(fixture);
    expect(await listed(at)).toEqual([]);
    expect((await run(fixture, "attention", "list")).stdout).toBe("nothing waits for you\n");

    await ask(fixture, "asker");
    const first = await questionOf(at, "asker");
    expect(first).toMatchObject({
      kind: "question",
      agent_name: "asker",
      reason: '"asker" asks: Delete it all?',
      answers: ["Yes", "No", "Always"].map((label, index) => ({ answer: `${index + 1}`, label })),
      epoch: 1,
    });
    // The same id from another reader, another server and another gateway.
    const read = (await run(fixture, "attention", "list", "--json")).json()["items"] as AttentionItem[];
    expect(read.map(({ id }) => id)).toEqual([first.id]);
    await run(fixture, ...one("asker"), "gateway", "detach");
    await run(fixture, ...one("asker"), "gateway", "attach");
    await using later = await startCoordinator(fixture);
    expect((await questionOf(later, "asker")).id).toBe(first.id);
    const [count, line] = (await run(fixture, "agents", "list")).stdout.split("\n");
    expect(count).toBe("1 thing waits for you; all of it: svc-mgr attention list");
    expect(line).toContain('"asker" asks: Delete it all?: 1. Yes, 2. No, 3. Always');

    // The first server may still be about to see the gateway that was attached.
    expect((await questionOf(at, "asker")).id).toBe(first.id);
    const answers = `/svc/attention/${first.id}/answers`;
    expect((await at.ask(answers, { answer: "2", epoch: 7 })).status).toBe(409);
    expect((await at.ask(answers, { answer: "Perhaps" })).status).toBe(422);
    expect(pressed(fixture, "asker")).toEqual([]);
    expect(await at.ask(answers, { answer: "2", epoch: 1 })).toEqual({
      status: 200,
      body: { status: "ok", id: first.id, answer: { answer: "2", label: "No" } },
    });
    await until("the question to be gone", async () => (await listed(at)).length === 0);
    expect((await at.ask(answers, { answer: "1" })).status).toBe(409);

    // The same words again are another question: the answer to the first one is late.
    await ask(fixture, "asker");
    const second = await questionOf(at, "asker", first.id);
    expect((await at.ask(answers, { answer: "1" })).status).toBe(409);
    expect((await fixture.mgr("attention", "answer", first.id, "1")).exitCode).toBe(1);
    expect(pressed(fixture, "asker")).toEqual(["No"]);
    const answered = await run(fixture, "attention", "answer", second.id, "always");
    expect(answered.stdout).toBe("answered 3. Always\n");
    expect(pressed(fixture, "asker")).toEqual(["No", "Always"]);
  }, 120_000);

  test("a dead agent, a dead gateway and a closed queue are listed with the command that ends each", async () => {
    await using fixture = createBuiltFixture(dist);
    const dead = await launch(fixture, "dead", "--gateway-background");
    const left = await launch(fixture, "left", "--gateway-background");
    await launch(fixture, "closed");
    await using at = await startCoordinator(fixture);
    const instance = join(left["session_root"] ?? "", "gateway/run/current-instance.json");
    const { pid } = JSON.parse(readFileSync(instance, "utf8")) as { pid: number };
    fixture.kill(pid);
    await fixture.tmux("kill-session", "-t", `=${dead["tmux_session_name"]}`);
    await run(fixture, ...one("closed"), "prompt", "--prompt", "SLOW 600000");
    // A prompt that is between Enter and its turn has an unknown outcome, which waits for a person too.
    await until("its turn", async () => {
      const { turn } = (await run(fixture, ...one("closed"), "state", "--json")).json() as {
        turn: { phase: string };
      };
      return turn.phase === "active";
    });
    await run(fixture, ...one("closed"), "prompt", "--prompt", "later");
    await run(fixture, ...one("closed"), "relaunch");

    const summary = (items: AttentionItem[]) =>
      items.map(({ kind, agent_name, command }) => [kind, agent_name, command]).sort();
    const prefix = "svc-mgr agents single --agent-name";
    const want = [
      ["closed_queue", "closed", `${prefix} closed gateway reconcile`],
      ["dead_agent", "dead", `${prefix} dead relaunch`],
      ["dead_gateway", "left", `${prefix} left gateway attach`],
    ];
    // A gateway that has not seen its agent end yet, or is slow to answer, shows otherwise for a moment.
    const same = (items: AttentionItem[]) => JSON.stringify(summary(items)) === JSON.stringify(want);
    const found = await until("all three", async () => {
      const items = await listed(at);
      return same(items) && items;
    });
    const read = await until("the same from the command line", async () => {
      const items = (await run(fixture, "attention", "list", "--json")).json()["items"] as AttentionItem[];
      return same(items) && items;
    });
    expect(read.map(({ id }) => id).sort()).toEqual(found.map(({ id }) => id).sort());

    // Each command does what it is listed for.
    for (const { command } of found) await run(fixture, ...(command ?? "").split(" ").slice(1));
    await run(fixture, ...one("dead"), "gateway", "reconcile");
    await until("nothing to wait", async () => (await listed(at)).length === 0);
  }, 120_000);
});

test("mail to a person of svc.yaml waits for the person, is delivered once, and is over when it is read", async () => {
  await using fixture = createBuiltFixture(dist);
  const config = join(fixture.env["HOME"] ?? "", ".config/svc");
  mkdirSync(config, { recursive: true, mode: 0o700 });
  const got = join(fixture.folder, "got.ndjson");
  const rules = `version: 1\nrules:\n  desk:\n    reasons: [mail]\n    command: { argv: [sh, -c, 'cat >> "$0"', ${got}] }\n`;
  writeFileSync(join(config, "deliveries.yaml"), rules, { mode: 0o600 });
  const team = "version: 1\nagents:\n  builder: { tool: demo, mailbox: true }\npeople:\n  ann: {}\n";
  writeFileSync(join(fixture.workdir, "svc.yaml"), team);
  const svc = (...words: string[]) => fixture.run("svc", words, { cwd: fixture.workdir });
  expect((await svc("up", "--yes")).exitCode).toBe(0);
  await using at = await startCoordinator(fixture);
  expect(await listed(at)).toEqual([]);

  const content = ["--subject", "The build is red", "--body-content", "the private part"];
  await run(fixture, ...one("builder"), "mail", "send", "--to", "ann@svc.localhost", ...content);
  const item = await until("the mail of ann", async () => (await listed(at, "?kind=mail"))[0]);
  expect(item).toMatchObject({
    agent_name: "builder",
    address: "ann@svc.localhost",
    epoch: null,
    answers: [],
    reason: 'ann@svc.localhost has mail from "builder": The build is red',
    evidence: ["from builder@svc.localhost", expect.stringMatching(/^filesystem:msg-/)],
  });
  expect(item.age_seconds).toBeLessThan(60);
  // The same id from the command line in another folder, and from the short program above the agents.
  const read = (await run(fixture, "attention", "list", "--json")).json()["items"] as AttentionItem[];
  expect(read.map(({ id }) => id)).toEqual([item.id]);
  const short = await svc();
  expect(short.stdout).toContain('ann@svc.localhost has mail from "builder": The build is red');
  expect([short.stdout, JSON.stringify(read)].join()).not.toContain("the private part");
  const answered = await fixture.mgr("attention", "answer", item.id, "1");
  expect([answered.exitCode, answered.stderr]).toEqual([2, expect.stringContaining("Read it: svc-mgr mail")]);

  const delivered = await until("the delivery", () =>
    // It is there before it is written.
    existsSync(got) && readFileSync(got, "utf8") ? readFileSync(got, "utf8") : undefined,
  );
  expect(JSON.parse(delivered)["data"]["items"]).toMatchObject([
    { id: item.id, agent: "builder", reason: "mail", summary: '"builder" sent mail that nobody has read' },
  ]);
  expect(delivered).not.toMatch(/red|private|ann/);

  // A look leaves it unread; the command of the item reads it.
  const command = (item.command ?? "").split(" ").slice(1);
  await run(fixture, ...command.map((word) => (word === "read" ? "peek" : word)));
  expect((await listed(at)).map(({ id }) => id)).toEqual([item.id]);
  expect((await run(fixture, ...command)).stdout).toContain("the private part");
  await until("nothing to wait", async () => (await listed(at)).length === 0);
  expect((await run(fixture, "attention", "list")).stdout).toBe("nothing waits for you\n");

  // What the agent replies to a note of the operator waits for a person too.
  await run(fixture, ...one("builder"), "mail", "post", "--subject", "look", "--body-content", "at this");
  const inbox = (await run(fixture, ...one("builder"), "mail", "list", "--json")).json()["messages"] as {
    message_ref: string;
  }[];
  const ref = inbox[0]?.message_ref ?? "";
  await run(fixture, ...one("builder"), "mail", "reply", "--message-ref", ref, "--body-content", "seen");
  const reply = await until("the reply", async () => (await listed(at))[0]);
  expect(reply.reason).toBe('SVC-operator@svc.localhost has mail from "builder": Re: look');
  await until("its delivery", () => readFileSync(got, "utf8").includes(reply.id));
  expect(readFileSync(got, "utf8").match(new RegExp(item.id, "g"))).toHaveLength(1);
}, 120_000);
