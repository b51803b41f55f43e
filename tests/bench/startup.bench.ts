import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { reminderEndpoints } from "../../src/protocol/reminders.ts";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { bareServer, compileBare } from "./bare.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";
import { createBenchFixture, freePort, gatewayKind } from "./fixture.ts";
import { answers } from "./probe.ts";

const executable = join(import.meta.dir, "..", "..", "dist", "svc-gateway");

/**
 * From the start of the gateway to its first 200 on /health, on an empty queue: its queue made, tmux
 * connected; and to its first answer from a route that it loads after that. Beside it a compiled Bun.serve;
 * and the command line's `--version` beside a compiled program that does nothing.
 */
const bench: Bench = {
  name: "startup",
  async run() {
    await using fixture = await createBenchFixture();
    const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
    try {
      const server = compileBare(folder, "server", bareServer);
      const nothing = compileBare(folder, "nothing", 'console.log("0.0.0");\n');
      const agent = await fixture.launch("starting");
      const { queue } = sessionPaths(agent.sessionRoot);
      const durations = { gateway: [] as number[], loaded: [] as number[], bare: [] as number[] };
      for (let round = -2; round < effort(15, 3); round++) {
        for (const file of [queue, `${queue}-wal`, `${queue}-shm`]) rmSync(file, { force: true });
        const port = await freePort();
        const startedMs = performance.now();
        const gateway = agent.start(port);
        await answers(port);
        const healthyMs = performance.now() - startedMs;
        await answers(port, reminderEndpoints.listReminders.path);
        const loadedMs = performance.now() - startedMs;
        await gateway.stop();
        const bareMs = await timeBare(server);
        if (round < 0) continue;
        durations.gateway.push(healthyMs);
        durations.loaded.push(loadedMs);
        durations.bare.push(bareMs);
      }
      const rows = [
        ...durationRows(
          (percent) => (percent === "p50" ? "healthy_ms" : "healthy_p99_ms"),
          durations.gateway,
          durations.bare,
        ),
        ...durationRows(
          (percent) => (percent === "p50" ? "all_routes_ms" : "all_routes_p99_ms"),
          durations.loaded,
        ),
      ];
      if (gatewayKind === "from source") return rows;
      const version = await takeTurns(
        [
          { name: "ours", run: () => runToEnd([executable, "--version"]) },
          { name: "bare", run: () => runToEnd([nothing]) },
        ],
        { rounds: effort(20, 4), warmUp: 2 },
      );
      return [...rows, ...durationRows("version", version["ours"] ?? [], version["bare"])];
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

export default bench;

async function timeBare(program: string): Promise<number> {
  const port = await freePort();
  const startedMs = performance.now();
  const child = Bun.spawn([program, String(port)], { stdio: ["ignore", "ignore", "inherit"] });
  await answers(port);
  const durationMs = performance.now() - startedMs;
  child.kill();
  await child.exited;
  return durationMs;
}

async function runToEnd(command: string[]): Promise<void> {
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")} exited with ${child.exitCode}`);
}
