import { readLedgerGroups } from "../../../../db/gateway/ledger-store.ts";
import type { RegistryRecord } from "../../../../protocol/files.ts";
import type {
  FleetLedger,
  FleetLedgerQuery,
  FleetLedgerRow,
  LedgerKey,
  PriceList,
} from "../../../../protocol/fleet-ledger.ts";
import type { LedgerGroup, LedgerSummary } from "../../../../protocol/ledger.ts";
import type { Tokens } from "../../../../protocol/usage.ts";
import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { addTokens, noTokens } from "../../../headless/turn-usage.ts";
import { sessionPaths } from "../../../sessions/roots.ts";
import { listTeams } from "./budget.ts";
import { toPeriod } from "./ledger.ts";
import { exactCost, priceOf, toMicroUsd } from "./prices.ts";

/** What one agent used. */
export interface AgentLedger {
  agent: string;
  team: string | null;
  host: string | null;
  groups: readonly LedgerGroup[];
}

type NotRead = FleetLedger["not_read"][number];

interface Sum {
  key: Pick<FleetLedgerRow, LedgerKey>;
  turns: number;
  notCovered: number;
  tokens: Tokens;
  cost: bigint;
  unpriced: number;
}

/** A row for each value of `by`, and the total. Pure. */
export function sumLedgers(
  ledgers: readonly AgentLedger[],
  { by, prices, notRead = [] }: { by: readonly LedgerKey[]; prices: PriceList; notRead?: readonly NotRead[] },
): FleetLedger {
  const sums = new Map<string, Sum>();
  const total = emptySum({});
  const unpriced = new Set<string>();
  for (const ledger of ledgers) {
    for (const group of ledger.groups) {
      const key = keyOf(ledger, group, by);
      const name = JSON.stringify(key);
      const sum = sums.get(name) ?? emptySum(key);
      sums.set(name, sum);
      const price = priceOf(group.model, prices);
      const size = group.input_tokens + group.output_tokens;
      if (price === null && size > 0) unpriced.add(group.model ?? "a model that its tool does not name");
      for (const one of [sum, total]) {
        one.turns += group.turns;
        one.notCovered += group.turns_not_covered;
        one.tokens = addTokens(one.tokens, group);
        if (price === null) one.unpriced += size;
        else one.cost += exactCost(group, price);
      }
    }
  }
  const { agent: _, ...whole } = toRow(total);
  return {
    schema_version: 1,
    rows: [...sums.values()].map(toRow).sort(byDayAndSize),
    total: whole,
    prices_dated: prices.dated,
    unpriced_models: [...unpriced].sort(),
    not_covered: notCoveredBy(ledgers),
    not_read: [...notRead],
  };
}

const emptySum = (key: Sum["key"]): Sum => ({
  key,
  turns: 0,
  notCovered: 0,
  tokens: noTokens,
  cost: 0n,
  unpriced: 0,
});

function keyOf(ledger: AgentLedger, group: LedgerGroup, by: readonly LedgerKey[]): Sum["key"] {
  const { agent, team, host } = ledger;
  const { day, model, wake_reason } = group;
  const all = { agent, team, host, day, model, wake_reason };
  return Object.fromEntries(by.map((key) => [key, all[key]]));
}

function toRow({ key, turns, notCovered, tokens, cost, unpriced }: Sum): FleetLedgerRow {
  return {
    ...key,
    turns,
    turns_not_covered: notCovered,
    ...tokens,
    cost_micro_usd: toMicroUsd(cost),
    unpriced_tokens: unpriced,
  };
}

function byDayAndSize(one: FleetLedgerRow, other: FleetLedgerRow): number {
  const size = (row: FleetLedgerRow) => row.input_tokens + row.output_tokens;
  const [day = "", otherDay = ""] = [one.day, other.day];
  return day === otherDay ? size(other) - size(one) : day > otherDay ? -1 : 1;
}

/** What each tool keeps out of its counts, as measured (reference/native-signals.md). */
const besideTurns: readonly { tool: RegExp; sources: readonly string[]; what: string }[] = [
  {
    tool: /^claude/,
    sources: ["tool", "headless", "acp"],
    what: "claude: titles of conversations are not counted",
  },
  { tool: /^codex/, sources: ["tool", "headless", "acp"], what: "codex: titles of tasks are not counted" },
  {
    tool: /^claude/,
    sources: ["acp"],
    what: "claude over ACP: what it asks beside turns is not counted",
  },
  {
    tool: /^codex/,
    sources: ["headless"],
    what: "codex: an interrupted turn counts with the next one of its conversation",
  },
  {
    tool: /^opencode/,
    sources: ["tool", "headless", "acp"],
    what: "opencode: titles of sessions are not counted",
  },
  {
    tool: /^opencode/,
    sources: ["acp"],
    what: "opencode over ACP: of a turn it reports its last call alone",
  },
  { tool: /^gemini/, sources: ["tool", "acp"], what: "gemini: calls of its router are not counted" },
  { tool: /^gemini/, sources: ["acp"], what: "gemini over ACP: thoughts are not counted" },
];

function notCoveredBy(ledgers: readonly AgentLedger[]): string[] {
  const groups = ledgers.flatMap((one) => one.groups);
  return besideTurns
    .filter(({ tool, sources }) => groups.some((one) => tool.test(one.tool) && sources.includes(one.source)))
    .map(({ what }) => what);
}

/** The keys that a query names. Pure. */
export function keysIn(by: string | undefined): LedgerKey[] {
  return [...new Set((by ?? "agent").split(","))] as LedgerKey[];
}

interface FleetLedgerDeps {
  files: Files;
  /** All that the registry knows, also those that were stopped. */
  records: () => readonly RegistryRecord[];
  /** The folder of all teams that `up` knows. */
  teamsFolder: string;
}

/**
 * The ledgers of the agents of this machine, with or without gateways. Throws `invalid_request` for a bad
 * time.
 */
function readLocalLedgers(
  { files, records, teamsFolder }: FleetLedgerDeps,
  query: FleetLedgerQuery,
): { ledgers: AgentLedger[]; notRead: NotRead[] } {
  const period = toPeriod(query);
  const teams = readTeams({ files, records, teamsFolder });
  const ledgers: AgentLedger[] = [];
  const notRead: NotRead[] = [];
  for (const record of records()) {
    const { agent_name: agent, agent_id: id, runtime } = record;
    if (query.agent !== undefined && !isCalled({ agent_name: agent, agent_id: id }, query.agent)) continue;
    const path = runtime.session_root == null ? null : sessionPaths(runtime.session_root).queue;
    if (path === null || !files.exists(path)) continue;
    try {
      const groups = readLedgerGroups(path, period);
      ledgers.push({ agent, team: teams.get(id) ?? null, host: null, groups });
    } catch (error) {
      notRead.push({ agent, why: messageOf(error) });
    }
  }
  return { ledgers, notRead };
}

/** Whether an agent of a host is `wanted`, a name or an id. Pure. */
export function isCalled(
  { agent_name, agent_id }: { agent_name: string | null; agent_id: string | null },
  wanted: string,
): boolean {
  return agent_name === wanted || agent_id === wanted;
}

/** What these agents used, by agent id; those without a ledger used nothing. */
export function readLedgersOf(
  { files, records }: Pick<FleetLedgerDeps, "files" | "records">,
  agentIds: readonly string[],
  period: { since?: string },
): LedgerGroup[] {
  return records()
    .filter(({ agent_id: id }) => agentIds.includes(id))
    .flatMap(({ runtime: { session_root: root } }) => {
      const path = root == null ? null : sessionPaths(root).queue;
      if (path === null || !files.exists(path)) return [];
      return readLedgerGroups(path, period);
    });
}

/** The team of each agent that `up` launched, by agent id. */
export function readTeams({ files, records, teamsFolder }: FleetLedgerDeps): Map<string, string> {
  const owners = new Map(records().map(({ agent_id: id, team }) => [id, team?.file]));
  const teams = listTeams(files, teamsFolder, (id) => owners.get(id));
  return new Map(teams.flatMap(({ name, members }) => members.map((id) => [id, name])));
}

/** What a host answered of one of its agents. */
export interface RemoteLedger {
  agent: string;
  host: string;
  summary: LedgerSummary | string;
}

/** Sums of this machine and of what other hosts answered. Pure but for the files. */
export function readFleetLedger(
  deps: FleetLedgerDeps,
  query: FleetLedgerQuery,
  { prices, remote = [] }: { prices: PriceList; remote?: readonly RemoteLedger[] },
): FleetLedger {
  const { ledgers, notRead } = readLocalLedgers(deps, query);
  for (const { agent, host, summary } of remote) {
    if (typeof summary === "string") notRead.push({ agent, why: summary });
    else ledgers.push({ agent, host, team: null, groups: summary.groups });
  }
  return sumLedgers(ledgers, { by: keysIn(query.by), prices, notRead });
}
