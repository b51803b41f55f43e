import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { createCliFixture } from "../support/cli-fixture.ts";
import { followEvents, type GatewayEvents } from "../support/gateway-events.ts";
import { until } from "../support/until.ts";

let at: CliAgent;
let events: GatewayEvents;
beforeAll(async () => {
  at = await launched();
  await at.ready();
  events = await followEvents(at.baseUrl);
}, 120_000);
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await at[Symbol.asyncDispose]();
});

const single = ["agents", "single", "--agent-name", "worker"];
const create = async (...flags: string[]) => {
  const run = await at.type("agents single --agent-name worker gateway reminders create --json", ...flags);
  expect([run.exitCode, run.stderr]).toEqual([0, ""]);
  return String((run.json() as { reminders: { reminder_id: string }[] }).reminders[0]?.reminder_id);
};
const get = async (id: string) =>
  (await at.type("agents single --agent-name worker gateway reminders get --json", id)).json();
const happened = (kind: string, id: string) =>
  events.first(`${kind} of ${id}`, (event) => event.kind === kind && event["reminder_id"] === id);
const timesHeard = (text: string) => at.heard().filter((one) => one === text).length;

describe("a reminder of a real agent", () => {
  test("reaches it once when it is due, and is gone", async () => {
    const id = await create("--title", "once", "--prompt", "FAST", "--start-after-seconds", "0.2");
    await happened("reminder_completed", id);
    expect(timesHeard("FAST")).toBe(1);
    const gone = await at.type("agents single --agent-name worker gateway reminders get", id);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining("no reminder with this id")]);
  }, 120_000);

  test("repeats on its cadence until it is removed", async () => {
    const words = ["--title", "again", "--prompt", "SILENT 20", "--start-after-seconds", "0.1"];
    const id = await create(...words, "--interval-seconds", "1.5");
    await until("the third delivery", () => timesHeard("SILENT 20") >= 3, 60_000);
    const removed = await at.type("agents single --agent-name worker gateway reminders remove", id);
    expect([removed.exitCode, removed.stdout]).toEqual([0, expect.stringContaining(id)]);
    const { next_due_at_utc: first } = await happened("reminder_completed", id);
    const { next_due_at_utc: second } = await events.first("the next delivery", (event) => {
      const { kind, reminder_id, next_due_at_utc: due } = event;
      return kind === "reminder_completed" && reminder_id === id && due !== undefined && due !== first;
    });
    const step = Date.parse(String(second)) - Date.parse(String(first));
    expect([step % 1500, step > 0]).toEqual([0, true]);
  }, 120_000);

  test("is overdue while the agent is busy, says why, then is delivered", async () => {
    await at.ready();
    const queued = await at.type("agents single --agent-name worker prompt --prompt", "SLOW 600000");
    expect(queued.exitCode).toBe(0);
    await at.busy();
    const id = await create("--title", "later", "--prompt", "FAST\nFAST", "--start-after-seconds", "0.05");
    await happened("reminder_deferred", id);
    expect(await get(id)).toMatchObject({ delivery_state: "overdue", waiting: { reason: "not_ready" } });
    const shown = await at.type("agents single --agent-name worker gateway reminders list");
    expect(shown.stdout).toMatch(new RegExp(`${id} .*overdue .*later`));
    expect(timesHeard("FAST\nFAST")).toBe(0);
    await at.type("agents single --agent-name worker gateway interrupt");
    await happened("reminder_completed", id);
    expect(timesHeard("FAST\nFAST")).toBe(1);
  }, 120_000);

  test("presses keys", async () => {
    await at.ready();
    const id = await create(
      "--title",
      "keys",
      "--sequence",
      "FAST <[BSpace]>",
      "--start-after-seconds",
      "0.05",
    );
    await happened("reminder_completed", id);
    await until("the keys to arrive", () => timesHeard("FAST") === 2);
  }, 120_000);
});

describe("a reminder is never typed", () => {
  const press = (sequence: string) =>
    at.fixture.mgr(...single, "gateway", "send-keys", "--sequence", sequence);
  const waits = async (id: string, reason: string) => {
    await happened("reminder_deferred", id);
    expect(await get(id)).toMatchObject({ delivery_state: "overdue", waiting: { reason } });
  };

  test("into a person's draft", async () => {
    await at.ready();
    await press("a person's words");
    await until("the draft", async () => {
      const { stdout } = await at.type("agents single --agent-name worker gateway tui state --json");
      return (JSON.parse(stdout) as { surface: { editing_input: string } }).surface.editing_input === "yes";
    });
    const id = await create("--title", "draft", "--prompt", "FAST\ndraft", "--start-after-seconds", "0.05");
    await waits(id, "not_ready");
    await press("<[C-u]>");
    await happened("reminder_completed", id);
    expect(at.heard().filter((one) => String(one).includes("draft"))).toEqual(["FAST\ndraft"]);
  }, 120_000);

  test("into a question to a person", async () => {
    await at.ready();
    await at.type("agents single --agent-name worker prompt --prompt", "MENU Go on?");
    await events.first("the menu", (event) => typeof event["awaiting_decision"] === "string");
    const id = await create("--title", "menu", "--prompt", "FAST\nmenu", "--start-after-seconds", "0.05");
    await waits(id, "awaiting_decision");
    await press("<[Enter]>");
    await happened("reminder_completed", id);
    expect(timesHeard("FAST\nmenu")).toBe(1);
  }, 120_000);
});

describe("the commands", () => {
  test("rank, pause, resume and list", async () => {
    const later = ["--start-after-seconds", "3600", "--prompt", "x"];
    const one = await create("--title", "one", ...later);
    const two = await create("--title", "two", ...later, "--before-all", "--paused", "yes");
    const listed = await at.type("agents single --agent-name worker gateway reminders list --json");
    expect(listed.json()).toMatchObject({
      effective_reminder_id: two,
      reminders: [
        { reminder_id: two, ranking: -1, paused: true },
        { reminder_id: one, ranking: 0, blocked_by_reminder_id: two },
      ],
    });
    const due = (await get(two))["next_due_at_utc"];
    const changed = await at.type(
      "agents single --agent-name worker gateway reminders set --after-all --paused no --json",
      two,
    );
    expect(changed.json()).toMatchObject({
      title: "two",
      ranking: 1,
      paused: false,
      next_due_at_utc: due,
      selection_state: "blocked",
    });
    const nothing = await at.type("agents single --agent-name worker gateway reminders set", two);
    expect([nothing.exitCode, nothing.stderr]).toEqual([2, expect.stringContaining("nothing")]);
    for (const id of [one, two])
      await at.type("agents single --agent-name worker gateway reminders remove", id);
    const empty = await at.type("agents single --agent-name worker gateway reminders list");
    expect(empty.stdout).toStartWith("no reminders\n");
  }, 120_000);

  test("report what is wrong", async () => {
    const flags = ["--title", "t", "--sequence", "<[Home]>", "--start-after-seconds", "5"];
    const refused = await at.type("agents single --agent-name worker gateway reminders create", ...flags);
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      expect.stringContaining("body.reminders.0.send_keys.sequence: unknown key <[Home]>"),
    ]);
    const unusable = await at.type(
      "agents single --agent-name worker gateway reminders create",
      ...flags.slice(0, 4),
    );
    expect([unusable.exitCode, unusable.stderr]).toEqual([2, expect.stringContaining("--deliver-at-utc")]);
    const long = await at.fixture.mgr(
      ...single,
      "gateway",
      "send-keys",
      "--sequence",
      "<[Up]>".repeat(10_923),
    );
    expect([long.exitCode, long.stderr]).toEqual([2, expect.stringContaining("at most 65536 are taken")]);
  }, 120_000);
});

test("what a gateway takes with it is reported by the next one, and what is durable goes on", async () => {
  await using agent = await launched();
  const make = ["gateway", "reminders", "create", "--title", "lost", "--prompt", "x"];
  const run = (...words: string[]) => agent.fixture.mgr(...single, ...words);
  expect((await run(...make, "--start-after-seconds", "3600")).exitCode).toBe(0);
  const durable = ["gateway", "reminders", "create", "--title", "kept", "--json"];
  const schedule = ["--prompt", "tidy up", "--cron", "30 2 * * *", "--time-zone", "Europe/Berlin"];
  expect((await run(...durable, ...schedule)).exitCode).toBe(0);
  const overdue = [
    "--prompt",
    "FAST",
    "--start-after-seconds",
    "1",
    "--durable",
    "yes",
    "--independent",
    "yes",
  ];
  expect((await run(...durable, ...overdue, "--paused", "yes")).exitCode).toBe(0);
  await run("gateway", "detach");
  const attached = await run("gateway", "attach", "--json");
  expect(attached.json()).toMatchObject({ reminders_lost: { count: 1 } });
  expect((await run("gateway", "status")).stdout).toContain("reminders lost");

  expect((await run(...make, "--start-after-seconds", "3600")).exitCode).toBe(0);
  agent.fixture.kill(agent.gatewayPid());
  await until("the gateway to be gone", () => !agent.fixture.alive(agent.gatewayPid()));
  const again = await run("gateway", "attach", "--json");
  expect([again.exitCode, again.stderr]).toEqual([0, ""]);
  expect(again.json()).toMatchObject({ reminders_lost: { count: 1 } });
  const list = async () =>
    (await run("gateway", "reminders", "list", "--json")).json() as {
      reminders: { reminder_id: string; title: string; cron?: string; last_request_id?: string }[];
      firings?: { reminder_id: string; outcome: string; request_id: string }[];
    };
  const { reminders: kept } = await list();
  expect(kept.map(({ title, cron }) => [title, cron ?? null]).sort()).toEqual([
    ["kept", null],
    ["kept", "30 2 * * *"],
  ]);
  const late = kept.find(({ cron }) => cron === undefined)?.reminder_id ?? "";
  expect((await run("gateway", "reminders", "set", late, "--paused", "no")).exitCode).toBe(0);
  await until("its delivery", async () => ((await list()).firings ?? []).length > 0, 60_000);
  const { reminders: left, firings = [] } = await list();
  expect([left.map(({ cron }) => cron), firings.map((one) => [one.reminder_id, one.outcome])]).toEqual([
    ["30 2 * * *"],
    [[late, "delivered"]],
  ]);
  expect(agent.heard().filter((one) => one === "FAST")).toHaveLength(1);
  const shown = (await run("gateway", "reminders", "list")).stdout;
  expect(shown).toContain(firings[0]?.request_id ?? "no request");
  expect(shown).toContain("30 2 * * * Europe/Berlin");
  const history = await Bun.file(`${agent.sessionRoot}/gateway/events.jsonl`).text();
  expect(history.match(/"kind":"reminder_lost_on_restart"/g)).toHaveLength(2);
}, 120_000);

test("a reminder waits for an agent that has ended, and types nothing into the shell", async () => {
  await using agent = await launched();
  await agent.ready();
  await using told = await followEvents(agent.baseUrl);
  await agent.type("agents single --agent-name worker prompt --prompt", "EXIT");
  await until("the agent's end", async () => {
    const { stdout } = await agent.type("agents single --agent-name worker gateway status --json");
    return (JSON.parse(stdout) as { request_admission: string }).request_admission === "blocked_unavailable";
  });
  const words = "agents single --agent-name worker gateway reminders create --start-after-seconds 0.05";
  for (const what of [
    ["--prompt", "echo typed"],
    ["--sequence", "echo typed"],
  ]) {
    await agent.type(words, "--title", "shell", "--before-all", ...what);
    const deferred = await told.first(
      `the deferral of ${what[0]}`,
      ({ kind, delivery_kind }) =>
        kind === "reminder_deferred" && delivery_kind === (what[0] === "--prompt" ? "prompt" : "send_keys"),
    );
    expect(deferred["detail"]).toBe("request_admission=blocked_unavailable");
  }
  expect(await agent.tmux("capture-pane", "-p", "-t", `=${agent.session}:0.0`)).not.toContain("typed");
}, 120_000);

test("a headless agent runs a reminder's prompt as a turn, on its cadence, and is refused keys", async () => {
  await using fixture = createCliFixture();
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "batch", "--headless", "--json"];
  const { gateway_base_url } = (await fixture.mgr(...launch)).json();
  await using told = await followEvents(String(gateway_base_url));
  const make = (...what: string[]) =>
    fixture.mgr(
      "agents",
      "single",
      "--agent-name",
      "batch",
      "gateway",
      "reminders",
      "create",
      "--title",
      "t",
      "--start-after-seconds",
      "0.2",
      ...what,
    );
  const refused = await make("--sequence", "x");
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("send_keys")]);
  expect((await make("--prompt", "FAST", "--interval-seconds", "1")).exitCode).toBe(0);
  const next = async (after: number) =>
    Number((await told.first("a turn's end", (one) => endsTurn(one) && Number(one["seq"]) > after))["seq"]);
  const endsTurn = ({ kind, step }: { kind: string; step?: unknown }) =>
    kind === "reminder_evidence" && step === "turn_ended";
  expect(await next(await next(0))).toBeGreaterThan(0);
}, 120_000);
