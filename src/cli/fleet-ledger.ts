import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import type { AgentIdentity } from "../protocol/agents.ts";
import type { FleetLedger, FleetLedgerQuery } from "../protocol/fleet-ledger.ts";
import { LedgerSummary } from "../protocol/ledger.ts";
import { maxWholeBytes, readAtMost } from "../services/hosts/host-link.ts";
import { type RemoteLedger, readFleetLedger } from "../services/ledger/fleet-ledger.ts";
import { readPrices } from "../services/ledger/prices.ts";
import { configRootOf, stateRootOf } from "../services/sessions/roots.ts";
import { messageOf } from "../system/errors.ts";
import type { CliContext } from "./cli-context.ts";
import type { CliIo } from "./command.ts";

/** The price list of a user. */
export const pricesFile = (io: Pick<CliIo, "env" | "home">) =>
  join(configRootOf(io.env, io.home), "prices.json");

/** The agents of other hosts, as a coordination server knows and asks them. */
export interface RemoteAgents {
  list(): Promise<readonly AgentIdentity[]>;
  ask(request: Request): Promise<Response | undefined>;
}

/** What the agents used and cost. `remote`: null asks no other host. Throws `invalid_request`, `precondition_failed`. */
export async function sumFleetLedger(
  { files, registry }: Pick<CliContext, "files" | "registry">,
  io: Pick<CliIo, "env" | "home">,
  { query, remote }: { query: FleetLedgerQuery; remote: RemoteAgents | null },
): Promise<FleetLedger> {
  const deps = {
    files,
    records: () => registry.list().records,
    teamsFolder: join(stateRootOf(io.env, io.home), "teams"),
  };
  const prices = readPrices(files, pricesFile(io));
  return readFleetLedger(deps, query, { prices, remote: remote ? await askHosts(remote, query) : [] });
}

function askHosts(remote: RemoteAgents, query: FleetLedgerQuery): Promise<RemoteLedger[]> {
  const period = new URLSearchParams(
    Object.entries({ since: query.since, until: query.until }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const isWanted = ({ agent_name: name, agent_id: id, host }: AgentIdentity) =>
    query.agent === undefined || [name, id, `${name}@${host}`, `${id}@${host}`].includes(query.agent);
  return remote.list().then((agents) =>
    Promise.all(
      agents.filter(isWanted).flatMap((agent) => {
        const { host } = agent;
        if (host === undefined) return [];
        const id = (agent.agent_id ?? agent.tracked_agent_id).replace(/@[^@]*$/, "");
        const path = `/svc/agents/${encodeURIComponent(`${id}@${host}`)}/gateway/ledger/summary?${period}`;
        return [
          askHost(remote, path).then((summary) => ({ agent: `${agent.agent_name}@${host}`, host, summary })),
        ];
      }),
    ),
  );
}

/** Why there is none, as a clause, where there is none. */
async function askHost(remote: RemoteAgents, path: string): Promise<LedgerSummary | string> {
  try {
    const response = await remote.ask(new Request(`http://127.0.0.1${path}`));
    const text = response && new TextDecoder().decode(await readAtMost(response, maxWholeBytes));
    const body: unknown = text == null ? null : JSON.parse(text);
    if (response?.ok && Value.Check(LedgerSummary, body)) return body;
    const { detail } = (body ?? {}) as { detail?: unknown };
    return typeof detail === "string" ? detail : "its host answers in a form of another version";
  } catch (error) {
    return messageOf(error);
  }
}
