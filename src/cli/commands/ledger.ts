import {
  FleetLedger,
  type FleetLedgerQuery,
  type FleetLedgerRow,
  type LedgerKey,
  ledgerKeys,
} from "../../protocol/fleet-ledger.ts";
import { findRecord } from "../../services/sessions/find.ts";
import { parseTimestamp, toTimestamp } from "../../system/clock.ts";
import { toWholeName } from "../agent/team-scope.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { command, UsageError } from "../command-line/command.ts";
import { renderTable } from "../command-line/format.ts";
import { agentName } from "../command-line/shared-flags.ts";
import { askCoordinator } from "../coordinator/ask-coordinator.ts";
import { pricesFile, sumFleetLedger } from "../extensions/observe/fleet-ledger.ts";
import { namesADay } from "../extensions/observe/moment.ts";

export const ledger = command({
  name: "ledger",
  description:
    "show what the turns of the agents used and cost; asks the coordination server that runs, else reads the ledgers here",
  examples: [
    "svc-mgr ledger",
    "svc-mgr ledger --by day,model --since 7d",
    "svc-mgr ledger --by wake_reason --agent first --json",
  ],
  args: {
    by: {
      type: "string",
      default: "agent",
      valueHint: "KEYS",
      description:
        "a row for each agent, team, host, day, model or wake_reason, or for several, as in day,model",
    },
    agent: {
      type: "string",
      description: "only this agent, by name or id",
      valueHint: "NAME_OR_ID",
      offers: "agent-names",
    },
    since: {
      type: "string",
      valueHint: "TIME",
      description: "only turns that began since then: 24h, 7d, today (UTC) or RFC 3339",
    },
    until: { type: "string", valueHint: "TIME", description: "only turns that began before then" },
  },
  async run({ args, inherited, io, path }) {
    const context = openCliContext(io, inherited);
    const keys = toKeys(args.by);
    if (keys === null)
      throw new UsageError(`--by ${args.by}: agent, team, host, day, model, wake_reason`, path);
    const nowMs = context.clock.nowMs();
    const time = (name: "since" | "until") => {
      const given = args[name];
      const atMs = given === undefined ? undefined : ledgerTime(given, nowMs);
      if (atMs === null) throw new UsageError(`--${name} ${given}: 24h, 7d, today or an RFC 3339 time`, path);
      return atMs === undefined ? {} : { [name]: toTimestamp(atMs) };
    };
    const query: FleetLedgerQuery = {
      by: keys.join(","),
      ...(args.agent === undefined ? {} : { agent: await toWholeName(context, io, args.agent) }),
      ...time("since"),
      ...time("until"),
    };
    const asked = `/svc/ledger?${new URLSearchParams(query as Record<string, string>)}`;
    const served = await askCoordinator(context, io, { path: asked, schema: FleetLedger });
    if (served === null && args.agent !== undefined) refuseUnknown(context, args.agent);
    const ledger = served ?? (await sumFleetLedger(context, io, { query, remote: null }));
    return { json: ledger, text: toText(ledger, keys, pricesFile(io), args.agent) };
  },
});

/** The same in `svc`. */
export const cost = command({
  name: "cost",
  description: "show what the agents used and cost",
  examples: ["svc cost", "svc cost worker --since 24h --by model"],
  args: {
    name: { ...agentName, required: false },
    by: {
      ...ledger.flags.by,
      description: "a row for each agent, team, host, day, model or wake_reason, or for several",
    },
    since: { ...ledger.flags.since, description: "24h, 7d, today or an RFC 3339 time" },
  },
  run: (invocation) => {
    const { name: agent, by, since } = invocation.args;
    return ledger.call(invocation, { agent, by, since });
  },
});

const titles: Readonly<Record<LedgerKey, string>> = {
  agent: "AGENT",
  team: "TEAM",
  host: "HOST",
  day: "DAY",
  model: "MODEL",
  wake_reason: "WOKEN BY",
};

const countTitles = ["TURNS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "REASONING", "COST"];

/** Only a server knows the agents of other hosts. Throws `not_found` with the name that is nearest. */
function refuseUnknown(context: CliContext, agent: string): void {
  const { records } = context.registry.list();
  if (records.some(({ agent_id, agent_name }) => agent === agent_id || agent === agent_name)) return;
  findRecord(context, { agentName: agent });
}

function toText(
  ledger: FleetLedger,
  keys: readonly LedgerKey[],
  prices: string,
  agent: string | undefined,
): string {
  const { rows, total, not_read } = ledger;
  const lost = not_read.map(({ agent, why }) => `The ledger of "${agent}" is not read: ${why}`);
  if (rows.length === 0)
    return [`no turn ${agent === undefined ? "" : `of "${agent}" `}was counted`, ...lost].join("\n");
  const cells = rows.map((row) => [...keys.map((key) => String(row[key] ?? "-")), ...countsOf(row)]);
  const last = keys.map((_, at) => (at === 0 ? "total" : ""));
  return [
    renderTable(
      [...keys.map((key) => titles[key]), ...countTitles],
      [...cells, [...last, ...countsOf(total)]],
    ),
    "",
    ...toNotes(ledger, prices),
    ...lost,
  ].join("\n");
}

function countsOf(row: Omit<FleetLedgerRow, LedgerKey>): string[] {
  const { turns, turns_not_covered: missing, unpriced_tokens: unpriced } = row;
  return [
    missing === 0 ? String(turns) : `${turns} (${missing} not covered)`,
    ...[row.input_tokens, row.cached_input_tokens, row.cache_write_tokens].map(String),
    ...[row.output_tokens, row.reasoning_tokens].map(String),
    unpriced === 0
      ? dollars(row.cost_micro_usd)
      : `${dollars(row.cost_micro_usd)} + ${unpriced} tokens without a price`,
  ];
}

/** Four decimals: a turn may cost less than a cent. */
function dollars(microUsd: number): string {
  return `$${(microUsd / 1_000_000).toFixed(4)}`;
}

function toNotes(ledger: FleetLedger, prices: string): string[] {
  const { unpriced_models: unpriced, not_covered: beside, total } = ledger;
  return [
    `Prices of ${ledger.prices_dated}; your prices go into ${prices}.`,
    ...(unpriced.length === 0 ? [] : [`Without a price: ${unpriced.join(", ")}.`]),
    ...(total.turns_not_covered === 0 ? [] : ["Not covered: turns of which the tool reports no tokens."]),
    ...beside.map((what) => `${what}.`),
  ];
}

const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `24h`, `7d`, `30m` before now, `today` in UTC, or a time; null for anything else. Pure. */
function ledgerTime(given: string, nowMs: number): number | null {
  const span = /^(\d{1,6})([mhd])$/.exec(given);
  if (span) return nowMs - Number(span[1]) * units[span[2] as keyof typeof units];
  if (given === "today") return parseTimestamp(`${toTimestamp(nowMs).slice(0, 10)}T00:00:00Z`);
  return namesADay(given) ? parseTimestamp(given) : null;
}

/** The keys of `--by`, each once; null when one is unknown. Pure. */
function toKeys(given: string): LedgerKey[] | null {
  const words = [...new Set(given.split(",").map((word) => word.trim()))];
  const known = words.filter((word): word is LedgerKey => (ledgerKeys as readonly string[]).includes(word));
  return known.length === words.length ? known : null;
}
