import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentIdentity } from "../../src/protocol/agents.ts";
import { createLocalDirectory, createLocalLink } from "../../src/services/hosts/host-link.ts";
import { operateBus } from "../../src/services/hosts/nats-bus.ts";
import { operateSsh } from "../../src/services/hosts/ssh-hosts.ts";
import { createClock } from "../../src/system/clock.ts";
import { createIds } from "../../src/system/ids.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { joinHost, startBus } from "../support/bus.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { startSshd, writeHostProgram } from "../support/sshd.ts";
import { until } from "../support/until.ts";
import { hostLinkSuite } from "./host-link-suite.ts";

hostLinkSuite("by its folders and loopback HTTP", async (lab, host) => {
  const server = await startCoordinator(lab);
  return {
    link: createLocalLink((request) => {
      const url = new URL(request.url);
      return fetch(new Request(`${server.baseUrl}${url.pathname}${url.search}`, request), { proxy: "" });
    }),
    directory: createLocalDirectory({
      ...{ host, version: "0" },
      list: async () => (await server.ask("/svc/agents")).body as { agents: AgentIdentity[] },
    }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
});

hostLinkSuite("over NATS", async (lab, host) => {
  const bus = await startBus(join(lab.folder, "bus"), [host]);
  const operator = await operateBus({
    ...{ clock: createClock(), ids: createIds(), log: () => {} },
    address: {
      ...{ url: bus.url, fleet: bus.fleet, authorities: null },
      credentials: readFileSync(bus.operatorKey, "utf8"),
    },
  });
  const joined = await joinHost(lab, bus, host);
  await until("the host to be live", () => operator.directory.hosts().some(({ state }) => state === "live"));
  return {
    directory: operator.directory,
    link: operator.linkTo(host),
    async [Symbol.asyncDispose]() {
      await operator.stop();
      await joined[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
    },
  };
});

hostLinkSuite("over ssh", async (lab, host) => {
  const sshd = await startSshd(join(lab.folder, "sshd"));
  const operator = operateSsh({
    ...{ clock: createClock(), ids: createIds(), log: () => {} },
    processes: createProcesses({ steps: quietSteps }),
    targets: [{ host, destination: sshd.destination }],
    access: {
      ...{ configFile: sshd.configFile, program: writeHostProgram(lab), controlFolder: lab.folder },
      env: { PATH: lab.env["PATH"] ?? "" },
    },
  });
  await until("the host to be live", () => operator.directory.hosts().some(({ state }) => state === "live"));
  return {
    directory: operator.directory,
    link: operator.linkTo(host),
    async [Symbol.asyncDispose]() {
      await operator.stop();
      await sshd[Symbol.asyncDispose]();
    },
  };
});
