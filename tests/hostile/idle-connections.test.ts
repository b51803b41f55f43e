import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { faultTest } from "../support/fault-table.ts";
import { until } from "../support/until.ts";

const connections = 10_000;
/** A shell that raises the limit of descriptors and becomes the command. */
const withDescriptors = ["sh", "-c", 'ulimit -n 12000 && exec "$0" "$@"'];

function residentMiB(pid: number): number {
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

const descriptors = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;

faultTest(
  "10,000 connections that ask nothing keep nobody else from being served",
  {
    area: "callers",
    fault: "Clients hold 10,000 connections open and ask nothing",
    outcome:
      "others are served; memory grows by less than 64 MiB; descriptors are given back when they leave or after 12 s",
    seen: "nothing",
    recovery: "by itself",
  },
  async () => {
    await using fixture = createCliFixture();
    const raised = {
      ...fixture,
      command: (program: Parameters<typeof fixture.command>[0]) => [
        ...withDescriptors,
        ...fixture.command(program),
      ],
    };
    await using coordinator = await startCoordinator(raised);
    expect((await coordinator.ask("/svc/agents")).status).toBe(200);
    const before = residentMiB(coordinator.pid);
    const holder = Bun.spawn(
      [
        ...withDescriptors,
        process.execPath,
        join(import.meta.dirname, "../support/connection-holder.ts"),
        new URL(coordinator.baseUrl).port,
        String(connections),
      ],
      { env: fixture.env, stdin: "pipe", stdout: "pipe", stderr: "inherit" },
    );
    try {
      const { value } = await holder.stdout.getReader().read();
      expect(new TextDecoder().decode(value)).toBe(`held ${connections}\n`);
      await until("the server holds them all", () => descriptors(coordinator.pid) > connections);
      expect((await coordinator.ask("/svc/agents")).status).toBe(200);
      const grown = residentMiB(coordinator.pid) - before;
      expect(grown).toBeLessThan(64);
      console.log(`${connections} idle connections: ${grown.toFixed(0)} MiB`);
    } finally {
      holder.stdin.end();
      await holder.exited;
    }
    await until("the server lets them go", () => descriptors(coordinator.pid) < 200);
    expect((await coordinator.ask("/svc/agents")).status).toBe(200);
  },
  120_000,
);
