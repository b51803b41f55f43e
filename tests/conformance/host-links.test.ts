import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentIdentity } from "../../src/protocol/agents.ts";
import { createLocalDirectory, createLocalLink } from "../../src/services/extensions/hosts/host-link.ts";
import { operateBus } from "../../src/services/extensions/hosts/nats-bus.ts";
import { operateSsh } from "../../src/services/extensions/hosts/ssh-hosts.ts";
import { createClock } from "../../src/system/clock.ts";
import { createIds } from "../../src/system/ids.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { joinHost, startBus } from "../support/bus.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { type FaultyLine, openFaultyLine } from "../support/faulty-line.ts";
import { startSshd, writeHostProgram } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { hostLinkSuite } from "./host-link-suite.ts";

/** The gateway of the agent `worker`, which the server of its host reaches by loopback HTTP. */
function gatewayOf(fixture: CliFixture) {
  const pid = async () => {
    const listed = (await fixture.mgr("agents", "list", "--json")).json()["agents"] as {
      session_root: string;
    }[];
    const record = join(listed[0]?.session_root ?? "", "gateway", "run", "current-instance.json");
    return (JSON.parse(readFileSync(record, "utf8")) as { pid: number }).pid;
  };
  const signal = async (name: NodeJS.Signals) => void process.kill(await pid(), name);
  return {
    freeze: (isFrozen: boolean) => signal(isFrozen ? "SIGSTOP" : "SIGCONT"),
    async replace() {
      const before = await pid();
      await signal("SIGKILL");
      await until("the gateway to be gone", () => !fixture.alive(before));
      const words = ["agents", "single", "--agent-name", "worker", "gateway", "attach", "--background"];
      const run = await fixture.mgr(...words);
      if (run.exitCode !== 0) throw new Error(run.stderr);
    },
  };
}

hostLinkSuite("by its folders and loopback HTTP", async (fixture, host) => {
  const server = await startCoordinator(fixture);
  const gateway = gatewayOf(fixture);
  return {
    link: createLocalLink((request) => {
      const url = new URL(request.url);
      return fetch(new Request(`${server.baseUrl}${url.pathname}${url.search}`, request), { proxy: "" });
    }),
    directory: createLocalDirectory({
      host,
      version: "0",
      list: async () => (await server.ask("/svc/agents")).body as { agents: AgentIdentity[] },
    }),
    freeze: gateway.freeze,
    cut: gateway.replace,
    async loseAnswer(ask) {
      // It takes what waits in its socket when nobody waits for the answer any more.
      await gateway.freeze(true);
      const answer = await ask();
      await gateway.freeze(false);
      return answer;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});

/** What is asked arrives, and what is answered does not, until the connection breaks. */
async function loseAnswer<T>(
  line: FaultyLine,
  ask: () => Promise<T>,
  arrived: () => Promise<unknown>,
): Promise<T> {
  line.losesAnswers = true;
  const answer = ask();
  await arrived();
  line.losesAnswers = false;
  line.cut();
  return answer;
}

hostLinkSuite("over NATS", async (fixture, host) => {
  const bus = await startBus(join(fixture.folder, "bus"), [host]);
  const line = await openFaultyLine(Number(new URL(bus.url).port));
  const operator = await operateBus({
    clock: createClock(),
    ids: createIds(),
    log: () => {},
    address: {
      url: `nats://127.0.0.1:${line.port}`,
      fleet: bus.fleet,
      authorities: null,
      credentials: readFileSync(bus.operatorKey, "utf8"),
    },
  });
  const joined = await joinHost(fixture, bus, host);
  await until("the host to be live", () => operator.directory.hosts().some(({ state }) => state === "live"));
  return {
    directory: operator.directory,
    link: operator.linkTo(host),
    freeze: async (isFrozen) => joined.signal(isFrozen ? "SIGSTOP" : "SIGCONT"),
    cut: async () => line.cut(),
    loseAnswer: (ask, arrived) => loseAnswer(line, ask, arrived),
    async [Symbol.asyncDispose]() {
      await operator.stop();
      await line[Symbol.asyncDispose]();
      await joined[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
    },
  };
});

hostLinkSuite("over ssh", async (fixture, host) => {
  const sshd = await startSshd(join(fixture.folder, "sshd"));
  const line = await openFaultyLine(sshd.port);
  const operator = operateSsh({
    clock: createClock(),
    ids: createIds(),
    log: () => {},
    processes: createProcesses({ steps: quietSteps }),
    targets: [{ host, destination: sshd.destinationBy(line.port) }],
    access: {
      configFile: sshd.configFile,
      program: writeHostProgram(fixture),
      controlFolder: fixture.folder,
      env: { PATH: fixture.env["PATH"] ?? "" },
    },
  });
  await until("the host to be live", () => operator.directory.hosts().some(({ state }) => state === "live"));
  return {
    directory: operator.directory,
    link: operator.linkTo(host),
    freeze: async (isFrozen) => line.hold(isFrozen),
    cut: async () => line.cut(),
    loseAnswer: (ask, arrived) => loseAnswer(line, ask, arrived),
    async [Symbol.asyncDispose]() {
      await operator.stop();
      await line[Symbol.asyncDispose]();
      await sshd[Symbol.asyncDispose]();
    },
  };
});
