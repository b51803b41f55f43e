import { existsSync, readdirSync } from "node:fs";
import { installPackages } from "./debian-packages.ts";
import { until } from "./until.ts";

/**
 * Machines of their own to the network: namespaces of the kernel, joined by a bridge. Nothing of it is in
 * that of the test.
 */
export interface NetworkFixture extends AsyncDisposable {
  /** Another machine; its loopback is its own. */
  host(): NetworkHost;
}

export interface NetworkHost {
  address: string;
  /** In front of a command it runs the command there, as the same process. */
  prefix: readonly string[];
  /** Takes it off the bridge: what it sends and what is sent to it gets lost without a sign. */
  cut(): void;
  heal(): void;
  /** Loses so many of its packets in each direction, and lets so much through in a second; null: neither. */
  impair(fault: Impairment | null): void;
  /** Connections to a socket file reach the port of this host's loopback. */
  relay(socket: string, port: number): Promise<void>;
}

interface Impairment {
  lossPercent: number;
  /** Of what leaves it; the rest waits, so that everything is late. */
  kbitPerSecond: number;
}

const runtimeFolder = "/run/netns";
/** The process that made a namespace is in its name, so that what a killed test left is found. */
const prefixOf = (pid: number) => `svct${pid}x`;
let made = 0;

/** Needs root on Linux. `impairments`: whether a host is going to lose packets, which needs nftables. */
export async function createNetworkFixture(options: { impairments?: boolean } = {}): Promise<NetworkFixture> {
  if (process.getuid?.() !== 0) throw new Error("tests with hosts of their own need root");
  const isThere = () =>
    Bun.which("ip") !== null &&
    (!options.impairments || (Bun.which("nft") !== null && Bun.which("tc") !== null));
  await installPackages({
    purpose: "tests with hosts of their own need network namespaces",
    packages: ["iproute2", ...(options.impairments ? ["nftables"] : [])],
    isThere,
  });
  endLeftovers();
  made += 1;
  const prefix = `${prefixOf(process.pid)}${made}-`;
  const bridge = `${prefix}0`;
  const names = [bridge];
  ip("netns", "add", bridge);
  ip("-n", bridge, "link", "add", "br0", "type", "bridge", "forward_delay", "0");
  ip("-n", bridge, "link", "set", "br0", "up");
  const relays: Bun.Subprocess[] = [];

  return {
    host() {
      const number = names.length;
      const name = `${prefix}${number}`;
      const port = `port${number}`;
      const address = `10.66.0.${number}`;
      names.push(name);
      ip("netns", "add", name);
      ip("-n", name, "link", "set", "lo", "up");
      ip("-n", bridge, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name);
      ip("-n", name, "addr", "add", `${address}/24`, "dev", "eth0");
      ip("-n", name, "link", "set", "eth0", "up");
      ip("-n", bridge, "link", "set", port, "master", "br0", "up");
      const inside = ["nsenter", `--net=${runtimeFolder}/${name}`, "--"];
      return {
        address,
        prefix: inside,
        cut: () => ip("-n", bridge, "link", "set", port, "nomaster"),
        heal: () => ip("-n", bridge, "link", "set", port, "master", "br0"),
        impair(fault) {
          run([...inside, "nft", "flush", "ruleset"]);
          Bun.spawnSync([...inside, "tc", "qdisc", "del", "dev", "eth0", "root"]);
          if (fault === null) return;
          const lose = `meta iifname != "lo" numgen random mod 100 < ${fault.lossPercent} drop`;
          const leave = `meta oifname != "lo" numgen random mod 100 < ${fault.lossPercent} drop`;
          run([
            ...inside,
            "nft",
            `add table inet faults; add chain inet faults in { type filter hook input priority 0; }; add chain inet faults out { type filter hook output priority 0; }; add rule inet faults in ${lose}; add rule inet faults out ${leave}`,
          ]);
          const rate = `${fault.kbitPerSecond}kbit`;
          const shape = ["root", "tbf", "rate", rate, "burst", "16kb", "latency", "2s"];
          run([...inside, "tc", "qdisc", "add", "dev", "eth0", ...shape]);
        },
        async relay(socket, port) {
          const command = [process.execPath, import.meta.path, socket, String(port)];
          relays.push(Bun.spawn([...inside, ...command], { stdin: "ignore", stdout: "ignore" }));
          await until("the relay to listen", () => existsSync(socket));
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const relay of relays) relay.kill("SIGKILL");
      await until("the hosts' processes to be gone", () => names.every((name) => !endProcesses(name)));
      for (const name of names) run(["ip", "netns", "del", name]);
    },
  };
}

function ip(...words: string[]): void {
  run(["ip", ...words]);
}

function run(command: readonly string[]): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString().trim()}`);
  return stdout.toString();
}

/** Whether there was a process still. */
function endProcesses(name: string): boolean {
  const pids = run(["ip", "netns", "pids", name]).split("\n").filter(Boolean).map(Number);
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has just gone.
    }
  }
  return pids.length > 0;
}

/** Of tests that were killed. */
function endLeftovers(): void {
  if (!existsSync(runtimeFolder)) return;
  for (const name of readdirSync(runtimeFolder)) {
    const pid = /^svct(\d+)x/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      endProcesses(name);
      run(["ip", "netns", "del", name]);
    } catch {
      // Another test removed it at the same time.
    }
  }
}

/** Run in a namespace: carries connections of a socket file to a port of loopback. */
function serveRelay(socket: string, port: number): void {
  type Side = Bun.Socket<{ other: Promise<Side> | Side; unsent: Uint8Array[] }>;
  const flush = (side: Side) => {
    for (let part = side.data.unsent.shift(); part; part = side.data.unsent.shift()) {
      const sent = side.write(part);
      if (sent < part.length) {
        side.data.unsent.unshift(part.subarray(Math.max(0, sent)));
        return;
      }
    }
  };
  const handlers: Bun.SocketHandler<Side["data"]> = {
    async data(side, bytes) {
      const copy = new Uint8Array(bytes);
      const other = await side.data.other;
      other.data.unsent.push(copy);
      flush(other);
    },
    drain: (side) => flush(side),
    async close(side) {
      (await side.data.other).end();
    },
    error: (side) => void side.end(),
  };
  Bun.listen<Side["data"]>({
    unix: socket,
    socket: {
      ...handlers,
      open(side) {
        side.data = {
          unsent: [],
          other: Bun.connect<Side["data"]>({
            hostname: "127.0.0.1",
            port,
            data: { other: side, unsent: [] },
            socket: handlers,
          }),
        };
      },
    },
  });
}

if (import.meta.main) serveRelay(process.argv[2] ?? "", Number(process.argv[3]));
