import { setTimeout as pause } from "node:timers/promises";
import type { BuiltAgent } from "../built-agent.ts";
import { type FleetHost, type HostFleet, operatorHost } from "../host-fleet.ts";
import type { NetworkHost } from "../netns.ts";
import type { SteppedClock } from "../stepped-clock.ts";
import type { Fault, Run } from "./engine.ts";

/** An agent of a host of the fleet. */
export interface HostAgent {
  /** NAME@HOST. */
  address: string;
  host: FleetHost;
  built: BuiltAgent;
}

/** Hosts that certainly cannot reach the operator, since then (`performance.now()`). */
interface Outage {
  hosts: readonly string[];
  sinceMs: number;
}

export interface HostFaults {
  /** Present outages: an entry is there while its fault certainly is. */
  outages: ReadonlySet<Outage>;
  next: () => Fault;
}

const maxOutageMs = 12_000;
const maxFreezeMs = 9000;
const maxDeathMs = 5000;
const maxImpairedMs = 20_000;
const maxDelayMs = 400;
/** Less than the two days of the server's certificate, and than the three days that mail waits. */
const maxStepSeconds = 20 * 3600;

/** The dice are drawn in one place and one order: a seed gives the same faults again. */
export function createHostFaults(deps: {
  fleet: HostFleet;
  agents: readonly HostAgent[];
  clocks: ReadonlyMap<string, SteppedClock> | null;
  run: Pick<Run, "faultRandom" | "count">;
}): HostFaults {
  const { fleet, agents, clocks } = deps;
  const { count, faultRandom: random } = deps.run;
  const { bus, hosts } = fleet;
  const outages = new Set<Outage>();
  const all = hosts.map(({ name }) => name);
  const one = <T>(items: readonly T[]): T => {
    const item = items[Math.floor(random() * items.length)];
    if (item === undefined) throw new Error("nothing to choose from");
    return item;
  };

  /** `work` while these hosts are cut off; its fault is there already. */
  async function cutOff(names: readonly string[], work: () => Promise<unknown>): Promise<void> {
    const outage = { hosts: names, sinceMs: performance.now() };
    outages.add(outage);
    try {
      await work();
    } finally {
      outages.delete(outage);
    }
  }

  function brokerFault(): Fault {
    const dice = random();
    const forMs = random() * maxFreezeMs;
    const inject = async () => {
      if (dice < 0.4) return bus.restart();
      if (dice < 0.6) return bus.lose();
      bus.signal("SIGSTOP");
      await cutOff(all, () => pause(forMs));
      bus.signal("SIGCONT");
    };
    const what = dice < 0.4 ? "broker_kills" : dice < 0.6 ? "broker_losses" : "broker_freezes";
    return { target: "broker", inject: counted(what, inject) };
  }

  function hostFault(): Fault {
    const host = one(hosts);
    const kills = random() < 0.5;
    const forMs = random() * (kills ? maxDeathMs : maxFreezeMs);
    const inject = async () => {
      if (kills) {
        await host.kill();
        await cutOff([host.name], () => pause(forMs));
        return joinAgain(host);
      }
      host.joined.signal("SIGSTOP");
      await cutOff([host.name], () => pause(forMs));
      host.joined.signal("SIGCONT");
    };
    return { target: host.name, inject: counted(kills ? "host_kills" : "host_freezes", inject) };
  }

  /** A host that does not reach the server ends with its reason; a supervisor would start it again. */
  async function joinAgain(host: FleetHost): Promise<void> {
    const deadlineMs = performance.now() + 90_000;
    for (;;) {
      try {
        return await host.join();
      } catch (error) {
        if (performance.now() > deadlineMs) throw error;
        count("joins_refused");
        await pause(500);
      }
    }
  }

  function gatewayFault(): Fault {
    const agent = one(agents);
    const kills = random() < 0.6;
    const forMs = random() * maxDeathMs;
    const inject = async () => {
      if (kills) {
        await agent.built.kill();
        await pause(forMs);
        await agent.built.serve();
        return;
      }
      const pid = agent.built.pid();
      if (pid === null) return;
      process.kill(pid, "SIGSTOP");
      await pause(forMs);
      process.kill(pid, "SIGCONT");
    };
    return { target: agent.address, inject: counted(kills ? "gateway_kills" : "gateway_freezes", inject) };
  }

  /** A host, the broker or the operator, with the hosts that its line is the way to. */
  function chooseLine(): { name: string; network: NetworkHost; cutsOff: readonly string[] } {
    const dice = random();
    const host = one(hosts);
    if (dice < 0.15) return { name: "broker", network: fleet.busNetwork, cutsOff: all };
    if (dice < 0.3) return { name: operatorHost, network: fleet.operatorNetwork, cutsOff: all };
    return { name: host.name, network: host.network, cutsOff: [host.name] };
  }

  function partition(): Fault {
    const { name, network, cutsOff } = chooseLine();
    const forMs = random() * maxOutageMs;
    const inject = async () => {
      network.cut();
      await cutOff(cutsOff, () => pause(forMs));
      network.heal();
    };
    return { target: `line of ${name}`, inject: counted("partitions", inject) };
  }

  function impairment(): Fault {
    const { name, network } = chooseLine();
    const fault = {
      lossPercent: 1 + Math.floor(random() * 20),
      kbitPerSecond: 64 + Math.floor(random() * 1000),
    };
    const forMs = random() * maxImpairedMs;
    const inject = async () => {
      network.impair(fault);
      await pause(forMs);
      network.impair(null);
    };
    return { target: `line of ${name}`, inject: counted("losses_and_rates", inject) };
  }

  function delay(): Fault {
    const host = one(hosts);
    const [name, network] =
      random() < 0.25 ? [operatorHost, fleet.operatorNetwork] : [host.name, host.network];
    const delayMs = 5 + Math.floor(random() * maxDelayMs);
    const forMs = random() * maxImpairedMs;
    const inject = async () => {
      fleet.line?.delay(network, delayMs);
      await pause(forMs);
      fleet.line?.delay(network, 0);
    };
    return { target: `delay of ${name}`, inject: counted("delays", inject) };
  }

  function clockStep(): Fault {
    const name = one([...all, operatorHost]);
    const aheadSeconds = Math.floor(random() * maxStepSeconds);
    const inject = async () => void clocks?.get(name)?.set(aheadSeconds);
    return { target: `clock of ${name}`, inject: clocks ? counted("clock_steps", inject) : inject };
  }

  const counted = (what: string, inject: () => Promise<void>) => async () => {
    count(what);
    await inject();
  };

  const kinds = [
    brokerFault,
    hostFault,
    hostFault,
    gatewayFault,
    gatewayFault,
    partition,
    partition,
    impairment,
    delay,
    clockStep,
  ];

  return { outages, next: () => one(kinds)() };
}
