import { expect, test } from "bun:test";
import { type RemoteAgents, sumFleetLedger } from "../../../src/cli/extensions/observe/fleet-ledger.ts";
import type { AgentIdentity } from "../../../src/protocol/agents.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
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
    {
      clock: createFakeClock(),
      files: scratch.files,
      registry: { list: () => ({ records: here, ignored: [] }) } as never,
    },
    { env: {}, home: scratch.folder },
    { query: { by: "agent", agent: wanted }, remote },
  );
  if (typeof asked === "string") await expect(sum).rejects.toThrow(asked);
  else await sum;
  expect(requests).toEqual(typeof asked === "string" ? [] : asked);
});

test("asks 32 agents at once, gives each 10 s and all together 20 s, and ends what it does not wait for", async () => {
  using scratch = createScratch();
  const clock = createFakeClock();
  const summary = { schema_version: 1, since_utc: null, groups: [] };
  const asked: { name: string; signal: AbortSignal }[] = [];
  const remote: RemoteAgents = {
    localHost: "desk",
    list: async () => Array.from({ length: 100 }, (_, at) => far(`w${at}`, "build-1")),
    async ask({ url, signal }) {
      const name = new URL(url).pathname.split("-id%40")[0]?.split("/")[3] ?? "";
      asked.push({ name, signal });
      if (name === "w0") return Response.json(summary);
      return new Promise<never>(() => {});
    },
  };
  const sum = sumFleetLedger(
    { clock, files: scratch.files, registry: { list: () => ({ records: [], ignored: [] }) } as never },
    { env: {}, home: scratch.folder },
    { query: { by: "agent" }, remote },
  );
  await clock.advance(0);
  // The first has answered.
  expect(asked).toHaveLength(33);
  await clock.advance(9999);
  expect(asked.filter(({ signal }) => signal.aborted)).toEqual([]);
  await clock.advance(1);
  expect(asked).toHaveLength(65);
  expect(asked.slice(1, 33).every(({ signal }) => signal.aborted)).toBe(true);
  await clock.advance(10_000);
  const { not_read: notRead } = await sum;
  expect(asked).toHaveLength(65);
  expect(notRead).toHaveLength(99);
  expect(notRead[0]).toEqual({ agent: "w1@build-1", why: "its host did not answer in time" });
});
