import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FleetLedger } from "../../src/protocol/fleet-ledger.ts";
import type { GatewayStatus, RequestRecord } from "../../src/protocol/gateway.ts";
import type { LedgerEntry, LedgerPage, LedgerSummary } from "../../src/protocol/ledger.ts";
import { launched } from "../support/cli-agent.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { launchHeadless } from "../support/headless-fixture.ts";
import { json } from "../support/http-surface.ts";
import { samplePrices } from "../support/ledger-fixture.ts";
import { isWholeMatrix } from "../support/matrix.ts";
import { until } from "../support/until.ts";

/**
 * The sum of a ledger beside what the scripted agents themselves counted, over turns with retries and
 * interrupts.
 */

const turnsEach = isWholeMatrix ? 30 : 10;

/** A gateway over HTTP; `url` is asked for each call, since a new gateway has another one. */
function gatewayAt(url: () => string) {
  const call = async <T>(path: string, init: RequestInit = {}): Promise<T> => {
    const response = await fetch(`${url()}${path}`, { ...init, proxy: false } as RequestInit);
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const post = <T>(path: string, body: object, headers: Record<string, string> = {}) => {
    const init = json(body);
    return call<T>(path, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } });
  };
  const record = (id: string) => call<RequestRecord>(`/v1/requests/${id}`);
  return {
    call,
    /** Twice with the same key where it is a retry: it is accepted once. */
    async submit(turn: number, prompt: string): Promise<string> {
      const headers = { "idempotency-key": `turn-${turn}` };
      const body = { kind: "submit_prompt", payload: { prompt } };
      const { request_id } = await post<{ request_id: string }>("/v1/requests", body, headers);
      if (turn % 5 === 0) {
        const again = await post<{ request_id: string }>("/v1/requests", body, headers);
        expect(again.request_id).toBe(request_id);
      }
      return request_id;
    },
    interrupt: () => post("/v1/requests", { kind: "interrupt", payload: {} }),
    begun: (id: string) =>
      until(`the turn of ${id}`, async () =>
        (await record(id)).evidence.some(({ step }) => step === "turn_started"),
      ),
    settled: (id: string) =>
      until(`the end of ${id}`, async () => {
        const { state } = await record(id);
        return state === "accepted" || state === "running" ? null : state;
      }),
  };
}

type Gateway = ReturnType<typeof gatewayAt>;

/**
 * Turns one after the other; each tenth is interrupted. `revive`: kills the gateway and starts another one
 * half-way.
 */
async function runTurns(
  gateway: Gateway,
  options: { prompt: (turn: number) => string; interrupted: string; revive: () => Promise<void> },
): Promise<void> {
  for (let turn = 1; turn <= turnsEach; turn++) {
    if (turn === turnsEach / 2) await options.revive();
    if (turn % 10 !== 0) {
      await gateway.settled(await gateway.submit(turn, options.prompt(turn)));
      continue;
    }
    const id = await gateway.submit(turn, options.interrupted);
    await gateway.begun(id);
    await gateway.interrupt();
    await gateway.settled(id);
  }
}

/** All entries once they are `count`. */
async function entriesOf(gateway: Gateway, count: number): Promise<LedgerEntry[]> {
  return await until(`${count} turns in the ledger`, async () => {
    const { entries } = await gateway.call<LedgerPage>("/v1/ledger?limit=1000");
    return entries.length >= count && entries;
  });
}

interface Counted {
  input_tokens: number;
  output_tokens: number;
}

function inAndOut(list: readonly Counted[]): [number, number] {
  const sum = (key: keyof Counted) => list.reduce((all, one) => all + one[key], 0);
  return [sum("input_tokens"), sum("output_tokens")];
}

async function sumsOf(gateway: Gateway): Promise<Record<string, number[]>> {
  const { entries } = await gateway.call<LedgerPage>("/v1/ledger?limit=1000");
  const { groups } = await gateway.call<LedgerSummary>("/v1/ledger/summary");
  const { tokens } = await gateway.call<{ tokens: { input_tokens: number; output_tokens: number } }>(
    "/v1/status",
  );
  return {
    entries: inAndOut(entries.flatMap(({ usage }) => usage)),
    groups: inAndOut(groups),
    status: inAndOut([tokens]),
  };
}

describe.each(["demo", "demo-acp"] as const)("the ledger of a headless agent: %s", (tool) => {
  test(`its sum is the scripted model's over ${turnsEach} turns with retries, interrupts and a new gateway`, async () => {
    await using agent = await launchHeadless({ tool });
    const gateway = gatewayAt(agent.baseUrl);
    let [input, output] = [0, 0];
    await runTurns(gateway, {
      prompt(turn) {
        input += turn * 3;
        output += turn;
        return `turn ${turn}\nUSAGE ${turn * 3} ${turn}`;
      },
      interrupted: "wait\nSILENT 600000",
      async revive() {
        agent.fixture.kill(agent.gatewayPid());
        await agent.revive();
      },
    });
    const entries = await entriesOf(gateway, turnsEach);
    expect(await sumsOf(gateway)).toEqual({
      entries: [input, output],
      groups: [input, output],
      status: [input, output],
    });
    expect(entries).toHaveLength(turnsEach);
    const source = tool === "demo" ? "headless" : "acp";
    expect(
      entries.every((one) => one.source === source && one.wake_reason === "prompt" && one.request_id),
    ).toBe(true);
    const uncovered = entries.filter(({ covered }) => !covered);
    expect(uncovered.map(({ status }) => status)).toEqual(Array(turnsEach / 10).fill("interrupted"));
  }, 180_000);
});

test(`the ledger of a terminal agent: its sum is that of the record, over ${turnsEach} turns with retries and interrupts`, async () => {
  await using agent = await launched("--", "--signals");
  const instance = () => agent.file("gateway", "run", "current-instance.json")["port"];
  const gateway = gatewayAt(() => `http://127.0.0.1:${instance()}`);
  await runTurns(gateway, {
    prompt: (turn) => `turn ${turn}: say what you find\nFAST`,
    interrupted: "Work for long.\nSILENT 600000",
    async revive() {
      agent.fixture.kill(agent.gatewayPid());
      const attach = await agent.type("agents single --agent-name worker gateway attach --background");
      expect(attach.exitCode).toBe(0);
    },
  });
  const records = join(agent.fixture.env["HOME"] ?? "", ".local/state/svc/demo-agent");
  const counted = (): Counted[] =>
    readdirSync(records)
      .filter((name) => name.endsWith(".jsonl"))
      .flatMap((name) => readFileSync(join(records, name), "utf8").trimEnd().split("\n"))
      .flatMap((line) => {
        const { usage } =
          (JSON.parse(line) as { message?: { usage?: Record<string, number> } }).message ?? {};
        if (usage === undefined) return [];
        const { input_tokens = 0, cache_read_input_tokens: cached = 0, output_tokens = 0 } = usage;
        return [{ input_tokens: input_tokens + cached, output_tokens }];
      });
  const entries = await entriesOf(gateway, turnsEach);
  const want = inAndOut(counted());
  expect(want[1]).toBeGreaterThan(turnsEach);
  expect(await sumsOf(gateway)).toEqual({ entries: want, groups: want, status: want });
  expect(entries).toHaveLength(turnsEach);
  expect(entries.every((one) => one.wake_reason === "prompt" && one.request_id !== null)).toBe(true);
  // An interrupted turn may have used tokens of which its record has nothing.
  const uncovered = entries.filter(({ covered }) => !covered);
  expect(uncovered.map(({ status }) => status)).toEqual(Array(turnsEach / 10).fill("interrupted"));
  expect(new Set(entries.map(({ request_id }) => request_id)).size).toBe(turnsEach);
}, 180_000);

test("svc-mgr ledger and svc cost sum the agents, with a coordination server and without, also of a stopped agent", async () => {
  await using agent = await launchHeadless({ name: "batch", flags: ["--model", "m-1"] });
  const { fixture } = agent;
  const config = join(fixture.env["HOME"] ?? "", ".config/svc");
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, "prices.json"), JSON.stringify(samplePrices), { mode: 0o600 });
  const gateway = gatewayAt(agent.baseUrl);
  for (let turn = 1; turn <= 3; turn++)
    await gateway.settled(await gateway.submit(turn, "hello\nUSAGE 100 10"));
  await entriesOf(gateway, 3);
  const sum = async (...words: string[]) =>
    (await fixture.mgr("ledger", ...words, "--json")).json() as unknown as FleetLedger;
  const alone = await sum("--by", "agent,model,wake_reason", "--since", "1h");
  expect(alone.rows).toMatchObject([
    { agent: "batch", model: "m-1", wake_reason: "prompt", turns: 3, input_tokens: 300, cost_micro_usd: 360 },
  ]);
  {
    await using server = await startCoordinator(fixture);
    const { body } = await server.ask("/svc/ledger?by=agent,model,wake_reason");
    expect(body["rows"]).toEqual(alone.rows);
    expect((await sum("--by", "agent,model,wake_reason", "--since", "1h")).rows).toEqual(alone.rows);
  }
  const text = (await fixture.run("svc", ["cost", "batch"])).stdout;
  expect(text).toContain("AGENT  TURNS  INPUT");
  expect(text).toContain("$0.0004");
  expect(text).toContain(`Prices of ${samplePrices.dated}`);
  expect((await agent.mgr("stop")).exitCode).toBe(0);
  expect((await sum()).total).toMatchObject({ turns: 3, input_tokens: 300, output_tokens: 30 });
  const unknown = await fixture.mgr("ledger", "--agent", "bacth");
  expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('did you mean "batch"?')]);
  const later = await fixture.mgr("ledger", "--agent", "batch", "--since", "2199-01-01T00:00:00Z");
  expect([later.exitCode, later.stdout]).toEqual([0, 'no turn of "batch" was counted\n']);
  for (const time of ["2026-02-30", "2026-02-29T00:00:00Z", "2026-13-01"]) {
    const noDay = await fixture.mgr("ledger", "--since", time);
    expect([noDay.exitCode, noDay.stderr]).toEqual([2, expect.stringContaining(`--since ${time}: 24h, 7d`)]);
  }
  const wrong = await fixture.mgr("ledger", "--by", "colour");
  expect([wrong.exitCode, wrong.stderr.includes("wake_reason")]).toEqual([2, true]);
}, 60_000);

test("a budget holds the queue at the end of the turn that reached it, is reported to a person, and raising it lets work go on", async () => {
  await using agent = await launchHeadless();
  const { fixture } = agent;
  const gateway = gatewayAt(agent.baseUrl);
  const set = await fixture.mgr("budget", "set", "--agent", "batch", "--warn", "150", "--hold", "250");
  expect([set.exitCode, set.stdout.includes("150 tokens")]).toEqual([0, true]);
  // Queued at once: each turn uses 110 tokens, so the third one reaches the budget.
  const ids: string[] = [];
  for (let turn = 1; turn <= 6; turn++) ids.push(await gateway.submit(turn, "hello\nUSAGE 100 10"));
  const status = () => gateway.call<GatewayStatus>("/v1/status");
  await until(
    "the budget to hold",
    async () => (await status()).waiting?.reason === "budget" && (await status()).budget?.level === "hold",
  );
  expect(await entriesOf(gateway, 3)).toHaveLength(3);
  expect(await status()).toMatchObject({
    queue_depth: 3,
    waiting: { detail: expect.stringContaining("330 tokens of 250 tokens") },
  });
  const { items } = (await fixture.mgr("attention", "list", "--json")).json() as {
    items: Record<string, unknown>[];
  };
  expect(items).toMatchObject([
    {
      kind: "budget",
      agent_name: "batch",
      command: "svc-mgr budget set --agent batch --per day --hold MORE",
    },
  ]);
  expect((await fixture.mgr("budget", "show", "--json")).json()).toMatchObject({
    budgets: [{ of: "agent", name: "batch", used: 330, hold: 250 }],
  });
  expect(
    (await fixture.mgr("budget", "set", "--agent", "batch", "--hold", "2K", "--warn", "1k")).exitCode,
  ).toBe(0);
  for (const id of ids) expect(await gateway.settled(id)).toBe("completed");
  expect(await fixture.mgr("budget", "set", "--agent", "batch", "--hold", "0.5k")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("it would hold at 500 tokens, before it warns at 1000 tokens"),
  });
  expect((await fixture.mgr("budget", "clear", "--agent", "batch")).stdout).toContain("no budget is set");
  expect((await fixture.mgr("budget", "set", "--agent", "batch", "--hold", "much")).exitCode).toBe(2);
  const large = await fixture.mgr("budget", "set", "--agent", "batch", "--hold", "999999999999M");
  expect([large.exitCode, large.stderr]).toEqual([2, expect.stringContaining("--hold 999999999999M:")]);
  writeFileSync(join(agent.sessionRoot, "budget.json"), "{", { mode: 0o600 });
  const damaged = await fixture.mgr("budget", "show");
  expect([damaged.exitCode, damaged.stdout]).toEqual([
    0,
    expect.stringContaining('the budget of agent "batch" holds nothing: '),
  ]);
  const again = await fixture.mgr("budget", "set", "--agent", "batch", "--hold", "1k");
  expect([again.exitCode, again.stderr]).toEqual([0, ""]);
  expect((await fixture.mgr("budget", "clear", "--agent", "batch")).exitCode).toBe(0);
  expect((await fixture.mgr("budget", "set", "--team", "nobody", "--hold", "5usd")).exitCode).toBe(1);
}, 60_000);
