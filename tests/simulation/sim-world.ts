import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGatewayClient, type GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import { initMailRoot } from "../../src/services/mail/filesystem/root.ts";
import { createRegistry, type Registry } from "../../src/services/sessions/registry.ts";
import type { System } from "../../src/system/system.ts";
import { createDice, type Dice } from "./dice.ts";
import { createSimClock, type SimClock } from "./sim-clock.ts";
import { createSimNetwork } from "./sim-network.ts";
import {
  createSimProcess,
  createWatchHub,
  type Faults,
  ProcessGone,
  type SimProcess,
} from "./sim-process.ts";
import type { SimTmux } from "./sim-tmux.ts";
import { createTrace, type Trace } from "./trace.ts";

/** A machine with its time, disk and network; nothing in it depends on anything but the seed. */
export interface SimWorld {
  readonly clock: SimClock;
  readonly trace: Trace;
  readonly dice: Dice;
  readonly folder: string;
  readonly mailRoot: string;
  readonly registryRoot: string;
  /**
   * Of each process. The locks of the tmux server lie in this world: beside those of another one they would
   * wait for it.
   */
  readonly env: Readonly<Record<string, string>>;
  /** The interfaces of what prepares the machine; nothing goes wrong there. */
  readonly outside: System;
  readonly weather: Weather;
  readonly counts: Record<string, number>;
  fail(who: string, what: string): void;
  failure(): string | null;
  /** For how long the disk has been well. */
  quietMs(): number;
  spawn(
    name: string,
    options: { tmux: Pick<SimTmux, "processesOf">; afterStep: (label: string) => void },
  ): SimProcess;
  registryFor(process: SimProcess): Registry;
  clientOf(baseUrl: string): GatewayClient;
  count(what: string): void;
  close(): void;
}

/** What may be wrong with the machine at this moment. */
interface Weather {
  crashes: boolean;
  diskFull: boolean;
  slowDisk: boolean;
  /** When the disk was last otherwise. */
  sinceMs: number;
}

/** Where there is one, a disk that costs nothing to sync. */
const memory = "/dev/shm";

export function createSimWorld(options: { seed: number; echo?: (line: string) => void }): SimWorld {
  const dice = createDice(options.seed);
  const clock = createSimClock(stray);
  const trace = createTrace({ nowMs: clock.nowMs, ...(options.echo ? { echo: options.echo } : {}) });
  const folder = mkdtempSync(join(existsSync(memory) ? memory : tmpdir(), "svc-simulation-"));
  const tmuxFolder = join(folder, "tmux");
  mkdirSync(join(tmuxFolder, `tmux-${process.getuid?.() ?? 0}`), { recursive: true, mode: 0o700 });
  const network = createSimNetwork(clock, dice.fork("network"));
  const watching = createWatchHub(clock);
  const weather: Weather = { crashes: false, diskFull: false, slowDisk: false, sinceMs: 0 };
  const counts: Record<string, number> = {};
  const diskDice = dice.fork("disk");
  let failure: string | null = null;
  let nextPid = 100_000;

  /** An error that nobody catches ends a process; of one that is gone already it is the last twitch. */
  function stray(error: unknown): void {
    if (!(error instanceof ProcessGone))
      fail("nobody", `caught ${error instanceof Error ? error.stack : String(error)}`);
  }

  function fail(who: string, what: string): void {
    if (failure !== null) return;
    failure = `${who}: ${what}`;
    trace.note(who, `WRONG ${what}`);
  }

  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1;
  };
  const faults: Faults = {
    get crashFirst() {
      return weather.crashes ? 0.004 : 0;
    },
    get crashLater() {
      return weather.crashes ? 0.0003 : 0;
    },
    diskFull: () => weather.diskFull,
    writeMs: () => (weather.slowDisk ? diskDice.skewed(1, 300) : 0),
  };
  const noProcesses: Parameters<typeof createSimProcess>[0]["processes"] = () => {
    throw new Error("no tmux here");
  };

  function start(
    name: string,
    given: Pick<Parameters<typeof createSimProcess>[0], "processes" | "afterStep"> & { faults: Faults },
  ): SimProcess {
    const pid = nextPid++;
    count("processes");
    return createSimProcess({
      name,
      pid,
      clock,
      trace,
      watching,
      ...given,
      dice: dice.fork(`process ${pid}`),
      network: network.viewOf,
    });
  }

  const quiet: Faults = { crashFirst: 0, crashLater: 0, diskFull: () => false, writeMs: () => 0 };
  const outside = start("outside", {
    faults: quiet,
    afterStep: () => {},
    processes: () => ({}) as ReturnType<typeof noProcesses>,
  }).system;
  const mailRoot = join(folder, "mailbox");
  initMailRoot(outside, mailRoot);

  return {
    clock,
    trace,
    dice,
    folder,
    mailRoot,
    registryRoot: join(folder, "registry"),
    env: { TMUX_TMPDIR: tmuxFolder },
    outside,
    weather,
    counts,
    fail,
    failure: () => failure,
    quietMs: () => (weather.diskFull || weather.slowDisk ? 0 : clock.nowMs() - weather.sinceMs),
    spawn(name, { tmux, afterStep }) {
      const process = start(name, { faults, afterStep, processes: tmux.processesOf });
      process.onEnd(() => count("process_ends"));
      return process;
    },
    registryFor: ({ system }) =>
      createRegistry({ ...system, root: join(folder, "registry"), sessionAlive: async () => true }),
    clientOf: (baseUrl) =>
      createGatewayClient({
        clock: outside.clock,
        baseUrl,
        token: null,
        respectProxyEnvironment: false,
        fetch: outside.network.fetch,
      }),
    count,
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
