import { expect, test } from "bun:test";
import { type RemoteAgents, sumFleetLedger } from "../../../src/cli/fleet-ledger.ts";
import type { AgentIdentity } from "../../../src/protocol/agents.ts";
import { createScratch } from "../../support/scratch.ts";

const far = (name: string, host: string) =>
  ({ agent_name: name, agent_id: `${name}-id`, tracked_agent_id: `${name}-id`, host }) as AgentIdentity;

test.each<{ wanted: string; asked: string[] | string }>([
  {
    wanted: "worker",
    asked: 'agents on 2 hosts are known as "worker": name one as worker@build-1 or worker@desk',
  },
  {
    wanted: "both",
    asked: 'agents on 2 hosts are known as "both": name one as both@build-1 or both@build-2',
  },
  { wanted: "worker@build-1", asked: ["worker-id@build-1"] },
  { wanted: "worker@desk", asked: [] },
  { wanted: "only-far", asked: ["only-far-id@build-2"] },
  { wanted: "only-here", asked: [] },
])("whose ledger `$wanted` is on a host named desk: $asked", async ({ wanted, asked }) => {
  using scratch = createScratch();
  const requests: string[] = [];
  const remote: RemoteAgents = {
    localHost: "desk",
    list: async () => [
      far("worker", "build-1"),
      far("both", "build-1"),
      far("both", "build-2"),
      far("only-far", "build-2"),
    ],
    async ask(request) {
      requests.push(decodeURIComponent(new URL(request.url).pathname.split("/")[3] ?? ""));
      return undefined;
    },
  };
  const here = ["worker", "only-here"].map((name) => ({
    agent_name: name,
    agent_id: `${name}-id`,
    runtime: {},
  }));
  const sum = sumFleetLedger(
    { files: scratch.files, registry: { list: () => ({ records: here, ignored: [] }) } as never },
    { env: {}, home: scratch.folder },
    { query: { by: "agent", agent: wanted }, remote },
  );
  if (typeof asked === "string") await expect(sum).rejects.toThrow(asked);
  else await sum;
  expect(requests).toEqual(typeof asked === "string" ? [] : asked);
});
