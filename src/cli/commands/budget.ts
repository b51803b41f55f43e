import { basename, dirname, join, resolve } from "node:path";
import type { Budget, BudgetLimit } from "../../protocol/budget.ts";
import {
  listTeams,
  readBudget,
  showAmount,
  usedOf,
  withLimit,
  writeBudget,
} from "../../services/extensions/observe/ledger/budget.ts";
import { readLedgersOf } from "../../services/extensions/observe/ledger/fleet-ledger.ts";
import { readPrices } from "../../services/extensions/observe/ledger/prices.ts";
import { stateRootOf } from "../../services/sessions/roots.ts";
import { timestampNow } from "../../system/clock.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import { findNamed } from "../agent/team-scope.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type CliIo, command, type Flags, UsageError } from "../command-line/command.ts";
import { renderTable } from "../command-line/format.ts";
import { pricesFile } from "../extensions/observe/fleet-ledger.ts";

const whose = {
  agent: { type: "string", valueHint: "NAME", offers: "agent-names", description: "the agent of this name" },
  team: {
    type: "string",
    valueHint: "NAME",
    description: "the team of this name: the folder of its svc.yaml",
  },
} satisfies Flags;

const per = {
  type: "enum",
  options: ["day", "total"],
  default: "day",
  description: "of a day in UTC, or in all",
} as const;

const amountHint = "tokens, as in 500k or 2M, or dollars, as in 5usd";

const set = command({
  name: "set",
  description: "limit what an agent or a team of this machine may use; a gateway heeds it at its next look",
  examples: [
    "svc-mgr budget set --agent first --warn 500k --hold 2M",
    "svc-mgr budget set --team project --hold 20usd --per total",
  ],
  args: {
    ...whose,
    per,
    warn: {
      type: "string",
      valueHint: "AMOUNT",
      description: `from this amount on it waits for a person: ${amountHint}`,
    },
    hold: {
      type: "string",
      valueHint: "AMOUNT",
      description: `from this amount on no turn begins: ${amountHint}`,
    },
  },
  async run({ args, inherited, io, path }) {
    const [warn, hold] = (["warn", "hold"] as const).map((name) => toAmount(name, args[name], path));
    const unit = warn?.unit ?? hold?.unit;
    if (unit === undefined) throw new UsageError("--warn or --hold, or both", path);
    if (warn && hold && warn.unit !== hold.unit)
      throw new UsageError("--warn and --hold: both in tokens, or both in dollars", path);
    const { context, owner } = await open(io, inherited, args, path);
    const limit: BudgetLimit = {
      per: args.per,
      unit,
      warn: warn?.amount ?? null,
      hold: hold?.amount ?? null,
    };
    const before = readable(context, owner).budget ?? { schema_version: 1, limits: [] };
    const former = before.limits.find((one) => one.per === limit.per && one.unit === unit);
    const merged = {
      ...limit,
      warn: limit.warn ?? former?.warn ?? null,
      hold: limit.hold ?? former?.hold ?? null,
    };
    if (merged.warn !== null && merged.hold !== null && merged.warn > merged.hold) {
      const [later, earlier] = [merged.warn, merged.hold].map((amount) => showAmount(amount, unit));
      throw new UsageError(`it would hold at ${earlier}, before it warns at ${later}`, path);
    }
    const budget = withLimit(before, merged);
    writeBudget(context.files, owner.folder, budget);
    return answer(context, io, [{ ...owner, budget }]);
  },
});

const show = command({
  name: "show",
  description: "show the budgets of the agents and teams of this machine, and what was used of them",
  examples: ["svc-mgr budget show", "svc-mgr budget show --agent first --json"],
  args: whose,
  async run({ args, inherited, io, path }) {
    const context = openCliContext(io, inherited);
    const named = args.agent !== undefined || args.team !== undefined;
    if (named) {
      const { owner } = await open(io, inherited, args, path);
      return answer(context, io, [{ ...owner, budget: readBudget(context.files, owner.folder) }]);
    }
    const all = allOwners(context, io).map((owner) => ({ ...owner, ...readable(context, owner) }));
    const read = all.flatMap(({ budget, ...owner }) => (budget ? [{ ...owner, budget }] : []));
    const lost = all.flatMap(({ of, name, why }) => (why === null ? [] : [{ of, name, why }]));
    return answer(context, io, read, lost);
  },
});

const clear = command({
  name: "clear",
  description: "take the budgets of an agent or a team away; what they held begins",
  examples: ["svc-mgr budget clear --agent first"],
  args: whose,
  async run({ args, inherited, io, path }) {
    const { context, owner } = await open(io, inherited, args, path);
    const budget: Budget = { schema_version: 1, limits: [] };
    writeBudget(context.files, owner.folder, budget);
    return answer(context, io, [{ ...owner, budget }]);
  },
});

export const budgetCommands = { set, show, clear };

interface Owner {
  of: "agent" | "team";
  name: string;
  /** Where its budget is. */
  folder: string;
  /** Agent ids. */
  members: readonly string[];
}

const teamsFolder = (io: CliIo) => join(stateRootOf(io.env, io.home), "teams");

async function open(
  io: CliIo,
  inherited: Parameters<typeof openCliContext>[1],
  args: { agent?: string | undefined; team?: string | undefined },
  path: readonly string[],
): Promise<{ context: CliContext; owner: Owner }> {
  const { agent, team } = args;
  if ((agent === undefined) === (team === undefined)) throw new UsageError("either --agent or --team", path);
  const context = openCliContext(io, inherited);
  const owner = agent === undefined ? teamOf(context, io, team ?? "") : await agentOf(context, io, agent);
  return { context, owner };
}

async function agentOf(context: CliContext, io: CliIo, name: string): Promise<Owner> {
  const { agent_id: id, agent_name, runtime } = await findNamed(context, io, name);
  const folder = runtime.session_root;
  if (folder != null && context.files.exists(folder))
    return { of: "agent", name: agent_name, folder, members: [id] };
  throw new ServiceError("precondition_failed", `"${name}" has no session folder`);
}

const knownTeams = ({ files, registry }: CliContext, io: CliIo) =>
  listTeams(files, teamsFolder(io), (id) => registry.read(id)?.team?.file);

/** `name`: of its folder, or the path of that folder or of its `svc.yaml`. */
function teamOf(context: CliContext, io: CliIo, name: string): Owner {
  const path = resolve(io.cwd, name);
  const teams = knownTeams(context, io);
  const team = teams.find((one) => one.name === name || [one.file, dirname(one.file)].includes(path));
  if (team) return { of: "team", ...team };
  const similar = teams.filter(({ file }) => basename(dirname(file)) === name).map((one) => one.name);
  if (similar.length === 0)
    throw new ServiceError("not_found", `${name}: no team of this name was launched by \`svc up\``);
  throw new ServiceError("ambiguous", `${name}: several teams have this name: ${similar.join(", ")}`);
}

function allOwners(context: CliContext, io: CliIo): Owner[] {
  const agents = context.registry
    .list()
    .records.flatMap(({ agent_id: id, agent_name: name, runtime }): Owner[] => {
      const folder = runtime.session_root;
      return folder == null || !context.files.exists(folder)
        ? []
        : [{ of: "agent", name, folder, members: [id] }];
    });
  const teams = knownTeams(context, io).map((team): Owner => ({ of: "team", ...team }));
  return [...teams, ...agents];
}

/** Null and why for one that cannot be read. */
function readable(
  { files }: CliContext,
  { folder }: Owner,
): { budget: Budget; why: null } | { budget: null; why: string } {
  try {
    return { budget: readBudget(files, folder), why: null };
  } catch (error) {
    return { budget: null, why: messageOf(error) };
  }
}

interface LostBudget {
  of: Owner["of"];
  name: string;
  why: string;
}

function answer(
  context: CliContext,
  io: CliIo,
  owners: readonly (Owner & { budget: Budget })[],
  lost: readonly LostBudget[] = [],
) {
  const prices = readPrices(context.files, pricesFile(io));
  const today = `${timestampNow(context.clock).slice(0, 10)}T00:00:00.000+00:00`;
  const deps = { files: context.files, records: () => context.registry.list().records };
  const budgets = owners.flatMap(({ of, name, members, budget }) =>
    budget.limits.map((limit) => {
      const groups = readLedgersOf(deps, members, limit.per === "day" ? { since: today } : {});
      return { of, name, ...limit, used: usedOf(groups, limit, prices) };
    }),
  );
  const rows = budgets.map((one) => {
    const shown = (amount: number | null) => (amount === null ? "-" : showAmount(amount, one.unit));
    return [one.of, one.name, one.per, ...[one.used, one.warn, one.hold].map(shown)];
  });
  const header = ["OF", "NAME", "PER", "USED", "WARN", "HOLD"];
  const notes = lost.map(({ of, name, why }) => `the budget of ${of} "${name}" holds nothing: ${why}`);
  const table = rows.length === 0 ? "no budget is set" : renderTable(header, rows);
  return {
    json: { schema_version: 1, budgets, not_read: lost },
    text: rows.length === 0 && lost.length > 0 ? notes.join("\n") : [table, ...notes].join("\n"),
  };
}

/** `500k`, `2M`, `1234`: tokens; `5usd`, `$0.50`: dollars. */
function toAmount(
  name: string,
  given: string | undefined,
  path: readonly string[],
): { amount: number; unit: BudgetLimit["unit"] } | null {
  if (given === undefined) return null;
  const tokens = /^(\d{1,12}(?:\.\d{1,3})?)(k|m)?$/i.exec(given);
  const dollars = /^(?:\$(\d{1,9}(?:\.\d{1,6})?)|(\d{1,9}(?:\.\d{1,6})?)usd)$/i.exec(given);
  const scale = { k: 1_000, m: 1_000_000 }[tokens?.[2]?.toLowerCase() ?? ""] ?? 1;
  const amount = tokens
    ? Math.round(Number(tokens[1]) * scale)
    : Math.round(Number(dollars?.[1] ?? dollars?.[2] ?? 0) * 1_000_000);
  if (amount > 0 && amount <= Number.MAX_SAFE_INTEGER)
    return { amount, unit: tokens ? "tokens" : "micro_usd" };
  throw new UsageError(`--${name} ${given}: ${amountHint}`, path);
}
