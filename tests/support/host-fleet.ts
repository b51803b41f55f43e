import { join } from "node:path";
import { type Bus, type JoinedHost, joinHost, startBus } from "./bus.ts";
import { type CliFixture, createCliFixture } from "./cli-fixture.ts";
import { type CoordServer, startCoordinator } from "./coord-server.ts";
import { type DelayedLine, openDelayedLine } from "./delayed-line.ts";
import { createNetworkFixture, type NetworkHost } from "./netns.ts";

/** A host of the fleet: a network namespace, with a home and a tmux server of its own. */
export interface FleetHost {
  name: string;
  network: NetworkHost;
  fixture: CliFixture;
  joined: JoinedHost;
  /** Ends the host's part of the fleet at once; its agents live on. */
  kill(): Promise<void>;
  join(): Promise<void>;
  launch(agent: string, ...flags: string[]): Promise<void>;
}

export interface HostFleet extends AsyncDisposable {
  hosts: readonly FleetHost[];
  bus: Bus;
  busNetwork: NetworkHost;
  operatorNetwork: NetworkHost;
  /** Null without `delays`. */
  line: DelayedLine | null;
  operator: CliFixture;
  server: CoordServer;
  /** The agents that the operator lists, by name. */
  listed(): Promise<Map<string, Record<string, unknown>>>;
}

/** The name of the host that the operator's server runs on. */
export const operatorHost = "desk";

/**
 * Real hosts that see each other over TLS through a NATS server on a host of its own, and the operator on
 * another one.
 */
export async function startHostFleet(options: {
  hosts: readonly string[];
  executable?: string;
  impairments?: boolean;
  /** Leads every way to the broker through `line`. */
  delays?: boolean;
  /** More for the programs of a host, of `operatorHost` too. */
  environment?: (host: string) => Record<string, string>;
}): Promise<HostFleet> {
  const { executable } = options;
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await createNetworkFixture({ impairments: options.impairments ?? false }));
  const busNetwork = network.host();
  const operatorNetwork = network.host();
  const labOf = (host: NetworkHost, name: string) => {
    const fixture = createCliFixture({ executable, prefix: host.prefix });
    Object.assign(fixture.env, options.environment?.(name));
    return fixture;
  };
  const operator = stack.use(labOf(operatorNetwork, operatorHost));
  const bus = stack.use(
    await startBus(join(operator.folder, "bus"), options.hosts, {
      listen: `${busNetwork.address}:4222`,
      prefix: busNetwork.prefix,
    }),
  );
  const line = options.delays
    ? stack.use(await openDelayedLine({ network: busNetwork, port: 4222 }, join(operator.folder, "delays")))
    : null;
  const lineUrl = `tls://${busNetwork.address}:${line?.port ?? 4222}`;
  const flags = bus.flags.map((word) => (word === bus.url ? lineUrl : word));
  const way = { flags, keyOf: bus.keyOf };
  // Each host ends its agents one by one; the hosts do so at the same time.
  const ends: (() => Promise<void>)[] = [];
  stack.defer(async () => void (await Promise.all(ends.map((end) => end()))));
  const hosts = await Promise.all(
    options.hosts.map(async (name): Promise<FleetHost> => {
      const own = network.host();
      const fixture = labOf(own, name);
      const host: FleetHost = {
        name,
        network: own,
        fixture,
        joined: await joinHost(fixture, way, name),
        async kill() {
          host.joined.signal("SIGKILL");
          await host.joined.exited;
        },
        async join() {
          host.joined = await joinHost(fixture, way, name);
        },
        async launch(agent, ...flags) {
          const words = ["agents", "launch", "--tool", "demo", "--agent-name", agent, ...flags, "--json"];
          const run = await fixture.mgr(...words);
          if (run.exitCode !== 0) throw new Error(`${agent}@${name}: ${run.stderr}`);
        },
      };
      ends.push(async () => {
        await host.joined[Symbol.asyncDispose]();
        await fixture[Symbol.asyncDispose]();
      });
      return host;
    }),
  );
  const server = stack.use(
    await startCoordinator(operator, {
      flags: [...way.flags, "--creds", bus.operatorKey, "--host-name", operatorHost],
      async relay(port) {
        const socket = join(operator.folder, `relay-${port}`);
        await operatorNetwork.relay(socket, port);
        return socket;
      },
    }),
  );
  const kept = stack.move();
  return {
    hosts,
    bus,
    busNetwork,
    operatorNetwork,
    line,
    operator,
    server,
    async listed() {
      const { body } = await server.ask("/svc/agents");
      const agents = body["agents"] as Record<string, unknown>[];
      return new Map(agents.map((agent) => [String(agent["agent_name"]), agent]));
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
