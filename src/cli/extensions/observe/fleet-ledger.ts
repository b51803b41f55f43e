import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import type { AgentIdentity } from "../../../protocol/agents.ts";
import type { RegistryRecord } from "../../../protocol/files.ts";
import type { FleetLedger, FleetLedgerQuery } from "../../../protocol/fleet-ledger.ts";
import { LedgerSummary } from "../../../protocol/ledger.ts";
import { maxWholeBytes, readAtMost } from "../../../services/extensions/hosts/host-link.ts";
import {
  isCalled,
  type RemoteLedger,
  readFleetLedger,
} from "../../../services/extensions/observe/ledger/fleet-ledger.ts";
import { readPrices } from "../../../services/extensions/observe/ledger/prices.ts";
import { askEach } from "../../../services/fleet/ask-each.ts";
import { configRootOf, stateRootOf } from "../../../services/sessions/roots.ts";
import type { Clock } from "../../../system/clock.ts";
import { messageOf, ServiceError } from "../../../system/errors.ts";
import type { CliContext } from "../../command-line/cli-context.ts";
import type { CliIo } from "../../command-line/command.ts";

/** The price list of a user. */
export const pricesFile = (io: Pick<CliIo, "env" | "home">) =>
  join(configRootOf(io.env, io.home), "prices.json");

/** The agents of other hosts, as a coordination server knows and asks them. */
export interface RemoteAgents {
  /** The name of this host. */
  localHost: string;
  list(): Promise<readonly AgentIdentity[]>;
  ask(request: Request): Promise<Response | undefined>;
}

/**
 * What the agents used and cost. `remote`: null asks no other host. Throws `invalid_request`,
 * `precondition_failed`.
 */
export async function sumFleetLedger(
  { clock, files, registry }: Pick<CliContext, "clock" | "files" | "registry">,
  io: Pick<CliIo, "env" | "home">,
  { query, remote }: { query: FleetLedgerQuery; remote: RemoteAgents | null },
): Promise<FleetLedger> {
  const deps = {
    files,
    records: () => registry.list().records,
    teamsFolder: join(stateRootOf(io.env, io.home), "teams"),
  };
  const prices = readPrices(files, pricesFile(io));
  if (remote === null) return readFleetLedger(deps, query, { prices });
  const isHere = query.agent?.endsWith(`@${remote.localHost}`) === true;
  if (isHere) {
    const agent = query.agent?.slice(0, -remote.localHost.length - 1);
    return readFleetLedger(deps, { ...query, ...(agent === undefined ? {} : { agent }) }, { prices });
  }
  const agents = await remote.list();
  refuseSharedName(deps.records(), agents, { wanted: query.agent, localHost: remote.localHost });
  return readFleetLedger(deps, query, { prices, remote: await askHosts(clock, remote, agents, query) });
}

/** Throws `ambiguous` for a name without its host that agents of several hosts have. Source: ruling 40. */
function refuseSharedName(
  records: readonly RegistryRecord[],
  agents: readonly AgentIdentity[],
  { wanted, localHost }: { wanted: string | undefined; localHost: string },
): void {
  if (wanted === undefined) return;
  const far = agents.flatMap((one) => (one.host !== undefined && isCalled(one, wanted) ? [one.host] : []));
  const here = records.some((record) => isCalled(record, wanted)) ? [localHost] : [];
  const hosts = [...new Set([...here, ...far])].sort();
  if (hosts.length < 2) return;
  const names = hosts.map((host) => `${wanted}@${host}`);
  throw new ServiceError(
    "ambiguous",
    `agents on ${hosts.length} hosts are known as "${wanted}": name one as ${names.join(" or ")}`,
    { data: { agent_ids: names } },
  );
}

/** Shorter than the wait of who asks this server. */
const eachMs = 10_000;
const allMs = 20_000;

async function askHosts(
  clock: Clock,
  remote: RemoteAgents,
  all: readonly AgentIdentity[],
  query: FleetLedgerQuery,
): Promise<RemoteLedger[]> {
  const period = new URLSearchParams(
    Object.entries({ since: query.since, until: query.until }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const isWanted = ({ agent_name: name, agent_id: id, host }: AgentIdentity) =>
    query.agent === undefined || [name, id, `${name}@${host}`, `${id}@${host}`].includes(query.agent);
  const wanted = all.filter(isWanted).flatMap(({ host, ...agent }) => {
    if (host === undefined) return [];
    const id = (agent.agent_id ?? agent.tracked_agent_id).replace(/@[^@]*$/, "");
    const path = `/svc/agents/${encodeURIComponent(`${id}@${host}`)}/gateway/ledger/summary?${period}`;
    return [{ agent: `${agent.agent_name}@${host}`, host, path }];
  });
  const summaries = await askEach<{ path: string }, LedgerSummary | string>(wanted, {
    clock,
    eachMs,
    allMs,
    ask: ({ path }, signal) => askHost(remote, path, signal),
    late: () => "its host did not answer in time",
  });
  return wanted.flatMap(({ agent, host }, index) => {
    const summary = summaries[index];
    return summary === undefined ? [] : [{ agent, host, summary }];
  });
}

/** Why there is none, as a clause, where there is none. */
async function askHost(
  remote: RemoteAgents,
  path: string,
  signal: AbortSignal,
): Promise<LedgerSummary | string> {
  try {
    const response = await remote.ask(new Request(`http://127.0.0.1${path}`, { signal }));
    const text = response && new TextDecoder().decode(await readAtMost(response, maxWholeBytes));
    const body: unknown = text == null ? null : JSON.parse(text);
    if (response?.ok && Value.Check(LedgerSummary, body)) return body;
    const { detail } = (body ?? {}) as { detail?: unknown };
    return typeof detail === "string" ? detail : "its host answers in a form of another version";
  } catch (error) {
    return messageOf(error);
  }
}
