import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { FleetLedger, type LedgerKey } from "../../../../../src/protocol/fleet-ledger.ts";
import type { LedgerGroup } from "../../../../../src/protocol/ledger.ts";
import {
  type AgentLedger,
  readFleetLedger,
  readTeams,
  sumLedgers,
} from "../../../../../src/services/extensions/observe/ledger/fleet-ledger.ts";
import {
  exactCost,
  priceOf,
  readPrices,
  toMicroUsd,
} from "../../../../../src/services/extensions/observe/ledger/prices.ts";
import {
  createLedgerFixture,
  sampleLaunch,
  samplePrices,
  tokensOf,
} from "../../../../support/ledger-fixture.ts";
import { createScratch } from "../../../../support/scratch.ts";

function group(
  model: string | null,
  input: number,
  output: number,
  more: Partial<LedgerGroup> = {},
): LedgerGroup {
  return {
    day: "2026-11-25",
    wake_reason: "prompt",
    tool: "demo",
    source: "tool",
    turns: 1,
    turns_not_covered: 0,
    ...tokensOf(input, output),
    model,
    ...more,
  };
}

const ledgers: AgentLedger[] = [
  {
    agent: "one",
    team: "builders",
    host: null,
    groups: [
      group("m-large", 1_000_000, 500_000),
      group("unknown", 7, 3, { day: "2026-11-24", wake_reason: "mail" }),
    ],
  },
  {
    agent: "two",
    team: null,
    host: "far",
    groups: [group("m-small", 3, 1), group("free", 9, 9), group(null, 1, 0)],
  },
];
const sum = (by: LedgerKey[]) => sumLedgers(ledgers, { by, prices: samplePrices });

test("money is summed before it is rounded, and tokens without a price have none", () => {
  const { rows, total, unpriced_models: unpriced } = sum(["agent"]);
  expect(rows.map((row) => [row.agent, row.turns, row.cost_micro_usd, row.unpriced_tokens])).toEqual([
    ["one", 2, 2_000_000, 10],
    ["two", 3, 5, 1],
  ]);
  expect([total.turns, total.cost_micro_usd, total.unpriced_tokens]).toEqual([5, 2_000_005, 11]);
  expect(unpriced).toEqual(["a model that its tool does not name", "unknown"]);
});

test.each([
  { by: ["team"], want: ["builders 1000007", "null 13"] },
  { by: ["host"], want: ["null 1000007", "far 13"] },
  { by: ["day"], want: ["2026-11-25 1000013", "2026-11-24 7"] },
  { by: ["wake_reason"], want: ["prompt 1000013", "mail 7"] },
  {
    by: ["day", "model"],
    want: [
      "2026-11-25 m-large 1000000",
      "2026-11-25 free 9",
      "2026-11-25 m-small 3",
      "2026-11-25 null 1",
      "2026-11-24 unknown 7",
    ],
  },
] as { by: LedgerKey[]; want: string[] }[])("summed by $by", ({ by, want }) => {
  const ledger = sum(by);
  expect([...Value.Errors(FleetLedger, ledger)]).toEqual([]);
  expect(
    ledger.rows.map((row) => [...by.map((key) => String(row[key])), row.input_tokens].join(" ")),
  ).toEqual(want);
});

test("what a tool keeps out of its counts is said for the tools that were used", () => {
  const of = (tool: string, source: LedgerGroup["source"]) => ({ ...group("m", 1, 1), tool, source });
  const said = (groups: LedgerGroup[]) =>
    sumLedgers([{ agent: "one", team: null, host: null, groups }], { by: ["agent"], prices: samplePrices })
      .not_covered;
  expect(said([of("demo", "tool")])).toEqual([]);
  expect(said([of("claude", "tool")])).toEqual(["claude: titles of conversations are not counted"]);
  expect(said([of("gemini", "headless")])).toEqual([]);
  expect(said([of("gemini-acp", "acp")])).toHaveLength(2);
});

test("cached and written tokens have prices of their kind, and large sums are exact", () => {
  const [price] = samplePrices.prices;
  if (!price) throw new Error("no price");
  const tokens = tokensOf(10_000_000, 1, { cached_input_tokens: 6_000_000, cache_write_tokens: 1_000_000 });
  expect(toMicroUsd(exactCost(tokens, price))).toBe(3_000_000 + 600_000 + 1_250_000 + 2);
  const many = tokensOf(Number.MAX_SAFE_INTEGER, 0);
  expect(exactCost(many, price)).toBe(BigInt(Number.MAX_SAFE_INTEGER) * 1_000_000n);
});

test("the longest name of a price that fits counts", () => {
  const prices = {
    ...samplePrices,
    prices: ["m*", "m-large*", "m-large-2"].map((model) => ({
      model,
      input: 1,
      cached_input: 1,
      cache_write: 1,
      output: 1,
    })),
  };
  const found = (model: string | null) => priceOf(model, prices)?.model ?? null;
  expect(["m", "m-large[1m]", "m-large-2", "n", null].map(found)).toEqual([
    "m*",
    "m-large*",
    "m-large-2",
    null,
    null,
  ]);
});

test("the shipped prices are a list with a date, and the user's file replaces it", () => {
  using scratch = createScratch();
  const path = scratch.path("prices.json");
  const shipped = readPrices(scratch.files, path);
  expect(shipped.dated).toMatch(/^20\d\d-/);
  expect(shipped.prices.every(({ source }) => source?.startsWith("https://"))).toBe(true);
  expect(priceOf("claude-opus-4-8[1m]", shipped)?.output).toBe(25_000_000);
  expect(priceOf("claude-opus-5-5", shipped)).toBeNull();
  writeFileSync(path, JSON.stringify(samplePrices), { mode: 0o600 });
  expect(readPrices(scratch.files, path)).toEqual(samplePrices);
  writeFileSync(path, JSON.stringify({ ...samplePrices, prices: [{ model: "m", input: 0.5 }] }));
  expect(() => readPrices(scratch.files, path)).toThrow("is no price list");
});

test("the ledgers of this machine are read beside their gateways, with their teams; a damaged one is named", async () => {
  using scratch = createScratch();
  const records = ["one", "two", "lost"].map((name) => {
    mkdirSync(scratch.path(`${name}/gateway`), { recursive: true, mode: 0o700 });
    return {
      agent_name: name,
      agent_id: `id-${name}`,
      runtime: { session_root: scratch.path(name) },
      team: { file: "/src/builders/svc.yaml", member: name },
    };
  });
  const folder = scratch.path("teams/builders-1");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const team = {
    schema_version: 1,
    team_file: "/src/builders/svc.yaml",
    agents: { one: { agent_id: "id-one", launch: sampleLaunch } },
  };
  writeFileSync(join(folder, "agents.json"), JSON.stringify(team), { mode: 0o600 });
  const deps = { files: scratch.files, records: () => records as never, teamsFolder: scratch.path("teams") };
  expect([...readTeams(deps)]).toEqual([["id-one", "builders"]]);
  await using one = createLedgerFixture({ path: scratch.path("one/gateway/queue.sqlite") });
  one.turns.push(one.turn("a", 10, 5, 1), one.turn("b", 20, 6, 1));
  await one.look();
  writeFileSync(scratch.path("lost/gateway/queue.sqlite"), "no database".repeat(100));
  const remote = [
    {
      agent: "far",
      host: "h",
      summary: { schema_version: 1 as const, since_utc: null, groups: [group("m", 1, 1)] },
    },
    { agent: "away", host: "h", summary: "its host is away" },
  ];
  const ledger = readFleetLedger(deps, { by: "team,host" }, { prices: samplePrices, remote });
  expect(ledger.rows.map(({ team, host, turns }) => [team, host, turns])).toEqual([
    ["builders", null, 2],
    [null, "h", 1],
  ]);
  expect(ledger.not_read.map(({ agent }) => agent)).toEqual(["lost", "away"]);
  const alone = readFleetLedger(
    deps,
    { agent: "id-one", since: "2001-01-01T00:00:00Z" },
    { prices: samplePrices },
  );
  expect([alone.rows.map(({ agent }) => agent), alone.not_read]).toEqual([["one"], []]);
});

test("two teams in folders of one name are two teams, and an agent is of the one that owns it", () => {
  using scratch = createScratch();
  const files = ["/src/first/shop/svc.yaml", "/src/second/shop/svc.yaml"];
  for (const [index, file] of files.entries()) {
    const folder = scratch.path(`teams/shop-${index}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // The id of an agent is made of its name: both teams had the agent.
    const agents = { one: { agent_id: "id-one", launch: sampleLaunch, owned: true } };
    const record = { schema_version: 1, team_file: file, agents };
    writeFileSync(join(folder, "agents.json"), JSON.stringify(record), { mode: 0o600 });
  }
  const teamsOf = (owner: string | null) => {
    const team = owner === null ? {} : { team: { file: owner, member: "one" } };
    const records = () => [{ agent_name: "one", agent_id: "id-one", ...team }] as never;
    return [...readTeams({ files: scratch.files, records, teamsFolder: scratch.path("teams") })];
  };
  expect(files.map(teamsOf)).toEqual([[["id-one", "/src/first/shop"]], [["id-one", "/src/second/shop"]]]);
  expect(teamsOf(null)).toEqual([]);
});
