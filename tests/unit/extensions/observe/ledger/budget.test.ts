import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { adviseInManager } from "../../../../../src/cli/command-line/remedies.ts";
import type { Budget, BudgetLimit } from "../../../../../src/protocol/budget.ts";
import { budgetRemedy } from "../../../../../src/protocol/budget.ts";
import {
  type BudgetFacts,
  decideBudget,
  listTeams,
  readBudget,
  usedOf,
  withLimit,
  writeBudget,
} from "../../../../../src/services/extensions/observe/ledger/budget.ts";
import {
  type BudgetFindings,
  createBudgetWatch,
  nextFindings,
  reportOnce,
} from "../../../../../src/services/extensions/observe/ledger/budget-watch.ts";
import { settle } from "../../../../support/fake-clock.ts";
import {
  createLedgerFixture,
  sampleLaunch,
  samplePrices,
  tokensOf,
} from "../../../../support/ledger-fixture.ts";
import { createScratch } from "../../../../support/scratch.ts";

const limit = (warn: number | null, hold: number | null, more: Partial<BudgetLimit> = {}): BudgetLimit => ({
  per: "day",
  unit: "tokens",
  warn,
  hold,
  ...more,
});
const facts = (used: number, of: BudgetLimit, whose: BudgetFacts["of"] = "agent"): BudgetFacts => ({
  of: whose,
  name: "worker",
  limit: of,
  used,
});

test.each([
  { id: "nothing reached", given: [facts(9, limit(10, 20))], want: null },
  { id: "a warning", given: [facts(10, limit(10, 20))], want: "warn agent" },
  { id: "a hold", given: [facts(20, limit(10, 20))], want: "hold agent" },
  { id: "a hold without a warning", given: [facts(20, limit(null, 20))], want: "hold agent" },
  {
    id: "the team's hold before the agent's warning",
    given: [facts(10, limit(10, null)), facts(20, limit(1, 20), "team")],
    want: "hold team",
  },
])("a budget: $id", ({ given, want }) => {
  const state = decideBudget(given);
  expect(state && `${state.level} ${state.of}`).toBe(want);
});

test("a reached budget says what was used and the command that raises it, as one word of a shell each", () => {
  const given = facts(2_500_000, limit(null, 2_000_000, { unit: "micro_usd", per: "total" }));
  const reached = decideBudget([given]);
  expect(reached?.detail).toBe('"worker" used $2.50 of $2.00 in all');
  const ofTeam = decideBudget([{ ...given, of: "team", name: "a; rm -rf $HOME" }]);
  expect([reached, ofTeam].map((one) => one && adviseInManager(budgetRemedy(one)).command)).toEqual([
    "svc-mgr budget set --agent worker --per total --hold MORE",
    "svc-mgr budget set --team 'a; rm -rf $HOME' --per total --hold MORE",
  ]);
});

test("limits of one span and unit replace each other, and an empty budget leaves no file", () => {
  using scratch = createScratch();
  const first = withLimit(readBudget(scratch.files, scratch.folder), limit(1, 2));
  const second = withLimit(withLimit(first, limit(3, null)), limit(null, 5, { per: "total" }));
  writeBudget(scratch.files, scratch.folder, second);
  expect(readBudget(scratch.files, scratch.folder).limits).toEqual([
    limit(3, null),
    limit(null, 5, { per: "total" }),
  ]);
  const none = withLimit(withLimit(second, limit(null, null)), limit(null, null, { per: "total" }));
  writeBudget(scratch.files, scratch.folder, none);
  expect(scratch.files.exists(scratch.path("budget.json"))).toBe(false);
  writeFileSync(scratch.path("budget.json"), "{}", { mode: 0o600 });
  expect(() => readBudget(scratch.files, scratch.folder)).toThrow("is no budget");
});

test("money counts the models that have a price", async () => {
  await using at = createLedgerFixture();
  at.turns.push(
    at.turn("a", 10, 1_000_000, 0),
    at.turn("b", 20, 0, 0, { usage: [tokensOf(5, 5, { model: "other" })] }),
  );
  await at.look();
  const groups = at.store.groups({});
  expect([
    usedOf(groups, limit(1, 1), samplePrices),
    usedOf(groups, limit(1, 1, { unit: "micro_usd" }), samplePrices),
  ]).toEqual([1_000_010, 1_000_000]);
});

/** The budgets of `worker`, whose team has another member. */
function open(scratch: ReturnType<typeof createScratch>, at: ReturnType<typeof createLedgerFixture>) {
  const changes = { count: 0 };
  const problems: string[] = [];
  const team = scratch.path("teams/project-1");
  mkdirSync(team, { recursive: true, mode: 0o700 });
  const agents = {
    worker: { agent_id: "id-1", launch: sampleLaunch, owned: true },
    other: { agent_id: "id-2", launch: sampleLaunch, owned: true },
  };
  const file = "/src/project/svc.yaml";
  const record = { schema_version: 1, team_file: file, agents };
  const owners: Record<string, string | undefined> = { "id-1": file, "id-2": file };
  writeFileSync(`${team}/agents.json`, JSON.stringify(record), { mode: 0o600 });
  const watch = createBudgetWatch({
    files: scratch.files,
    clock: at.clock,
    sessionRoot: scratch.folder,
    teamsFolder: scratch.path("teams"),
    agent: { id: "id-1", name: "worker" },
    prices: () => samplePrices,
    groups: at.store.groups,
    ledgerOf: (id) => (id === "id-2" ? scratch.path("other.sqlite") : null),
    ownerOf: (id) => owners[id],
    counting: at.ledger.counting,
    advise: adviseInManager,
    onChange: () => void changes.count++,
    onError: reportOnce((text) => void problems.push(text)),
  });
  const set = (folder: string, ...limits: BudgetLimit[]) => {
    const budget: Budget = { schema_version: 1, limits };
    writeBudget(scratch.files, folder, budget);
  };
  return { watch, changes, problems, team, set, owners };
}

test.each([
  { id: "an up launched it", owned: true, owner: "/src/project/svc.yaml", want: ["id-1"] },
  { id: "a person launched one of its name since", owned: true, owner: undefined, want: [] },
  { id: "another team owns it", owned: undefined, owner: "/src/other/svc.yaml", want: [] },
  { id: "an up of an earlier version launched it", owned: undefined, owner: undefined, want: ["id-1"] },
] as const)("a team has an agent: $id", ({ owned, owner, want }) => {
  using scratch = createScratch();
  const team = scratch.path("teams/project-1");
  mkdirSync(team, { recursive: true, mode: 0o700 });
  const worker = { agent_id: "id-1", launch: sampleLaunch, ...(owned ? { owned } : {}) };
  const record = { schema_version: 1, team_file: "/src/project/svc.yaml", agents: { worker } };
  writeFileSync(`${team}/agents.json`, JSON.stringify(record), { mode: 0o600 });
  const [known] = listTeams(scratch.files, scratch.path("teams"), () => owner);
  expect(known?.members).toEqual([...want]);
});

test("a hold ends when it is raised, and when its day is over", async () => {
  using scratch = createScratch();
  await using at = createLedgerFixture();
  const { watch, changes, set } = open(scratch, at);
  set(scratch.folder, limit(50, 100));
  watch.start();
  await settle();
  expect([watch.state(), watch.holds()]).toEqual([null, null]);
  at.turns.push(at.turn("a", 10, 90, 20));
  await at.look();
  watch.wake();
  await settle();
  expect(watch.state()).toMatchObject({ level: "hold", of: "agent" });
  expect(watch.holds()).toContain("110 tokens of 100 tokens");
  const seen = changes.count;
  set(scratch.folder, limit(50, 200));
  await at.clock.advance(2_000);
  await settle();
  expect([watch.state()?.level, watch.holds(), changes.count]).toEqual(["warn", null, seen + 1]);
  await watch.stop();
  await at.clock.advance(86_400_000);
  expect(watch.state()).toBeNull();
});

test("the budget of a team counts all its members", async () => {
  using scratch = createScratch();
  await using at = createLedgerFixture();
  await using other = createLedgerFixture({ path: scratch.path("other.sqlite"), clock: at.clock });
  const { watch, set, team } = open(scratch, at);
  set(team, limit(null, 100, { per: "total" }));
  at.turns.push(at.turn("a", 10, 40, 20));
  other.turns.push(other.turn("b", 10, 40, 20));
  await at.look();
  expect(watch.holds()).toBeNull();
  await other.look();
  await at.clock.advance(1_000);
  expect(watch.holds()).toContain('team "project" used 120 tokens of 100 tokens in all');
});

test("the budget of a team counts no agent that another folder's file launched under the same id", async () => {
  using scratch = createScratch();
  await using at = createLedgerFixture();
  await using other = createLedgerFixture({ path: scratch.path("other.sqlite"), clock: at.clock });
  const { watch, set, team, owners } = open(scratch, at);
  owners["id-2"] = "/src/second/project/svc.yaml";
  set(team, limit(null, 100, { per: "total" }));
  at.turns.push(at.turn("a", 10, 40, 20));
  other.turns.push(other.turn("b", 10, 40, 20));
  await at.look();
  await other.look();
  await at.clock.advance(1_000);
  expect(watch.holds()).toBeNull();
  // The agent that asks is itself another team's now: this budget is none of its.
  owners["id-2"] = "/src/project/svc.yaml";
  owners["id-1"] = "/src/second/project/svc.yaml";
  await at.clock.advance(6_000);
  await settle();
  expect(watch.holds()).toBeNull();
});

test("with a hold no turn begins before the last one was counted", async () => {
  using scratch = createScratch();
  await using at = createLedgerFixture();
  const { watch, set } = open(scratch, at);
  at.ledger.countSoon();
  expect(watch.holds()).toBeNull();
  set(scratch.folder, limit(null, 100));
  await at.clock.advance(400);
  await settle();
  await at.clock.advance(650);
  at.ledger.countSoon();
  expect(watch.holds()).toBe("the tokens of the last turn are being counted");
  await settle();
  await at.clock.advance(600);
  await settle();
  expect(watch.holds()).toBeNull();
});

test("a budget that was damaged holds no more, and the one of the team still holds", async () => {
  using scratch = createScratch();
  await using at = createLedgerFixture();
  const { watch, set, team, problems } = open(scratch, at);
  set(scratch.folder, limit(null, 50));
  at.turns.push(at.turn("a", 10, 90, 20));
  await at.look();
  expect(watch.holds()).toContain('"worker" used');
  writeFileSync(scratch.path("budget.json"), "{", { mode: 0o600 });
  await at.clock.advance(1_500);
  expect(watch.holds()).toBeNull();
  set(team, limit(null, 100));
  await at.clock.advance(1_500);
  expect(watch.holds()).toContain('team "project" used');
  expect(problems).toHaveLength(1);
});

test("a damaged budget holds nothing and is named once", async () => {
  using scratch = createScratch();
  await using at = createLedgerFixture();
  const { watch, problems } = open(scratch, at);
  writeFileSync(scratch.path("budget.json"), "{", { mode: 0o600 });
  expect(watch.holds()).toBeNull();
  await at.clock.advance(1_500);
  expect(watch.state()).toBeNull();
  expect(problems).toHaveLength(1);
});

describe("what a look at the budgets finds", () => {
  const nowUtc = "2026-06-01T12:00:00.000+00:00";
  const earlierUtc = "2026-06-01T11:00:00.000+00:00";
  const nothing: BudgetFindings = { reached: null, hasHold: false };
  const look = (previous: BudgetFindings, budgets: readonly BudgetFacts[], atUtc = nowUtc) =>
    nextFindings(previous, budgets, { nowUtc: atUtc, advise: adviseInManager });
  const warned = look(nothing, [facts(60, limit(50, 100))], earlierUtc);

  const cases: {
    id: string;
    previous: BudgetFindings;
    budgets: BudgetFacts[];
    level: "warn" | "hold" | null;
    since: string | null;
    hasHold: boolean;
  }[] = [
    { id: "no budget", previous: nothing, budgets: [], level: null, since: null, hasHold: false },
    {
      id: "a budget that is not reached",
      previous: nothing,
      budgets: [facts(10, limit(50, 100))],
      level: null,
      since: null,
      hasHold: true,
    },
    {
      id: "a warning",
      previous: nothing,
      budgets: [facts(60, limit(50, null))],
      level: "warn",
      since: nowUtc,
      hasHold: false,
    },
    {
      id: "a warning with more tokens began when it did",
      previous: warned,
      budgets: [facts(70, limit(50, 100))],
      level: "warn",
      since: earlierUtc,
      hasHold: true,
    },
    {
      id: "a hold begins",
      previous: warned,
      budgets: [facts(100, limit(50, 100))],
      level: "hold",
      since: nowUtc,
      hasHold: true,
    },
    {
      id: "a warning of the team begins",
      previous: warned,
      budgets: [facts(60, limit(50, 100), "team")],
      level: "warn",
      since: nowUtc,
      hasHold: true,
    },
    { id: "the end of a warning", previous: warned, budgets: [], level: null, since: null, hasHold: false },
  ];
  test.each(cases)("$id", ({ previous, budgets, level, since, hasHold }) => {
    const after = look(previous, budgets);
    expect(after.reached?.level ?? null).toBe(level);
    expect(after.reached?.since_utc ?? null).toBe(since);
    expect(after.hasHold).toBe(hasHold);
  });

  test("is the same object while it says the same", () => {
    expect(look(warned, [facts(60, limit(50, 100))]).reached).toBe(warned.reached);
  });
});
