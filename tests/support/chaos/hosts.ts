import { Database } from "bun:sqlite";
import { join } from "node:path";
import { idempotencyHeader } from "../../../src/protocol/wire.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { launchBuilt } from "../built-agent.ts";
import { type FleetHost, type HostFleet, operatorHost, startHostFleet } from "../host-fleet.ts";
import { json } from "../http-surface.ts";
import { driveLoad, type LoadResponse } from "../load.ts";
import { createScratch } from "../scratch.ts";
import { someAtOnce } from "../some-at-once.ts";
import { createSteppedClocks } from "../stepped-clock.ts";
import { until } from "../until.ts";
import type { Run, World } from "./engine.ts";
import { createHostFaults, type HostAgent, type HostFaults } from "./host-faults.ts";
import {
  type ArrivedMail,
  type ForwardedPrompt,
  type ListedAgent,
  mailProblems,
  type PromptRow,
  promptProblems,
  type RecoveryLook,
  recoveredSince,
  recoveryProblems,
  type SentMail,
} from "./judgement.ts";
import { type LostTime, measureLostTime } from "./lost-time.ts";

const hostNames = ["build-1", "build-2", "build-3"];
const agentNames = ["ann", "bob"];
const prompters = 2;
const maxPromptPauseMs = 1200;
const maxMailPauseMs = 4000;
const maxWaiting = 8;
/** Three heartbeats of a second, as much again for what was under way, and a slow machine. */
const shownAwayMs = 6000;
/** The list asks no host: none delays it. */
const patienceMs = 5000;
/** After the last fault, until every agent is listed as alive again. */
const recoveryMs = 30_000;
/** A list that says so must go on saying so: for longer than a few heartbeats. */
const steadyMs = 5000;
/** After the last fault; generous, because what waits is done one after the other. */
const settleMs = 240_000;

interface Prompt extends Pick<ForwardedPrompt, "key" | "answer" | "refusal"> {
  agent: HostAgent;
  text: string;
  requestIds: string[];
}

interface HostRun extends Run {
  fleet: HostFleet;
  agents: readonly HostAgent[];
  faults: HostFaults;
  lostTime: LostTime;
  prompts: Prompt[];
  mail: SentMail[];
}

/** Real hosts are network namespaces with a NATS server and the built programs. */
export const hostsWorld: World = {
  name: "hosts",
  summary: `prompts and mail between hosts, while the broker, hosts and gateways are killed and frozen, lines are cut, lose and
delay packets, and clocks jump: nothing is lost, doubled or reported falsely, and each minute all is well again`,
  size: { seconds: 1800 },
  async start(given) {
    const { stack } = given;
    const clocks = createSteppedClocks(join(stack.use(createScratch()).folder, "clocks"), [
      ...hostNames,
      operatorHost,
    ]);
    const fleet = stack.use(
      await startHostFleet({
        hosts: hostNames,
        executable: join(given.dist, "svc-gateway"),
        impairments: true,
        delays: true,
        environment: (host) => clocks?.get(host)?.environment ?? {},
      }),
    );
    const agents = await launchAgents(fleet);
    stack.defer(async () => void (await Promise.all(agents.map(({ built }) => built.stop()))));
    const lostTime = stack.use(measureLostTime());
    const faults = createHostFaults({ fleet, agents, clocks, run: given });
    await untilAllAlive(fleet, agents);
    const run: HostRun = { ...given, fleet, agents, faults, lostTime, prompts: [], mail: [] };
    if (!clocks) run.count("clock_steps", 0);
    return {
      load: [
        () => watchList(run),
        ...Array.from({ length: prompters }, (_, number) => () => submitPrompts(run, number)),
        ...agents.filter((_, at) => at % agentNames.length === 0).map((agent) => () => writeMail(run, agent)),
      ],
      faults: {
        next: faults.next,
        maxPauseMs: 4000,
        maxAtOnce: 3,
        recovery: { everyMs: 60_000, check: () => checkRecovery(run) },
      },
      async judge() {
        await checkRecovery(run);
        const arrived = await settled(run);
        for (const found of mailProblems(run.mail, arrived)) run.problem(found);
        for (const prompt of run.prompts) promptProblems(await factsOf(run, prompt)).forEach(run.problem);
        if (fleet.server.complaints() !== "")
          run.problem(`the operator's server: ${fleet.server.complaints()}`);
        run.count("accepted", run.prompts.filter(({ answer }) => answer === "accepted").length);
        run.count("mail_sent", run.mail.length);
        run.count("mail_arrived", arrived.length);
      },
    };
  },
};

async function launchAgents(fleet: HostFleet): Promise<HostAgent[]> {
  const agents: HostAgent[] = [];
  const starts = fleet.hosts.flatMap((host) => agentNames.map((name) => ({ host, name })));
  await someAtOnce(starts, 2, async ({ host, name }) => {
    const flags = ["--mailbox", "--mailbox-root", mailRoot(host)];
    const built = await launchBuilt(host.fixture, name, flags);
    await built.serve();
    agents.push({ address: `${name}@${host.name}`, host, built });
  });
  return agents.sort((left, right) => (left.address < right.address ? -1 : 1));
}

const mailRoot = (host: FleetHost) => join(host.fixture.folder, "mail");

async function untilAllAlive(fleet: HostFleet, agents: readonly HostAgent[]): Promise<void> {
  await until(
    "every agent to be listed as alive, with its gateway",
    async () => {
      const listed = await fleet.listed();
      return agents.every(({ address }) => {
        const agent = listed.get(address);
        return agent?.["liveness"] === "alive" && agent["has_gateway"] === true;
      });
    },
    120_000,
  );
}

/** While no fault is present: each agent is soon listed as alive, and answers. */
async function checkRecovery(run: HostRun): Promise<void> {
  const { agents, lostTime, figures } = run;
  const addresses = agents.map(({ address }) => address);
  const beganMs = performance.now();
  const looks: RecoveryLook[] = [];
  const limitMs = () => recoveryMs + lostTime.allowanceMs(beganMs);
  for (;;) {
    const atMs = performance.now() - beganMs;
    looks.push({ atMs, agents: await listedAgents(run).catch(() => null) });
    const since = recoveredSince(addresses, looks);
    if (since !== null && atMs - since >= steadyMs) break;
    if (atMs > limitMs() + steadyMs) break;
    await Bun.sleep(500);
  }
  recoveryProblems(addresses, looks, limitMs()).forEach(run.problem);
  run.count("recoveries");
  figures["recovery_max_ms"] = Math.max(
    figures["recovery_max_ms"] ?? 0,
    recoveredSince(addresses, looks) ?? 0,
  );
}

async function listedAgents({ fleet }: HostRun): Promise<ListedAgent[]> {
  const { body } = await fleet.server.ask("/svc/agents");
  return Promise.all(
    (body["agents"] as Record<string, unknown>[]).map(async (agent) => {
      const address = String(agent["agent_name"]);
      const signal = AbortSignal.timeout(patienceMs);
      const reply = await fleet.server
        .request(`/svc/agents/${address}/gateway`, { signal })
        .catch(() => null);
      return {
        address,
        liveness: String(agent["liveness"]),
        hasGateway: agent["has_gateway"] === true,
        hostIsAway: agent["host_away_since_utc"] !== undefined,
        answers: reply?.status === 200,
      };
    }),
  );
}

/**
 * No host that is certainly cut off is listed as alive for longer than a few heartbeats, and none delays the
 * list.
 */
async function watchList(run: HostRun): Promise<void> {
  const { fleet, faults, lostTime, isOn, problem } = run;
  while (isOn()) {
    await Bun.sleep(500);
    const before = [...faults.outages];
    const askedMs = performance.now();
    const listed = await fleet.listed().catch((error) => problem(`the list: ${error}`));
    run.count("lists");
    const tookMs = performance.now() - askedMs;
    if (tookMs > patienceMs + lostTime.allowanceMs(askedMs))
      problem(`the list took ${Math.round(tookMs)} ms`);
    for (const outage of before) {
      const forMs = askedMs - outage.sinceMs;
      if (!faults.outages.has(outage)) continue;
      if (forMs < shownAwayMs + lostTime.allowanceMs(outage.sinceMs)) continue;
      for (const [name, agent] of listed ?? []) {
        if (outage.hosts.some((host) => name.endsWith(`@${host}`)) && agent["liveness"] === "alive")
          problem(`${name} is listed as alive ${Math.round(forMs)} ms after its host was cut off`);
      }
    }
  }
}

async function submitPrompts(run: HostRun, number: number): Promise<void> {
  const { agents, random, prompts } = run;
  await driveLoad({ random, isOn: run.isOn, maxPauseMs: maxPromptPauseMs, maxWaiting }, [
    {
      weight: 1,
      async run(count) {
        const agent = agents[Math.floor(random() * agents.length)];
        if (!agent) return null;
        const key = `chaos-${number}-${count}`;
        const prompt: Prompt = {
          agent,
          key,
          text: `${key}\nFAST`,
          answer: "unknown",
          requestIds: [],
        };
        prompts.push(prompt);
        run.count("prompts");
        const repeats = random() < 0.5;
        const response = await submit(run, prompt, { isFirst: true });
        if (prompt.answer !== "accepted") run.count(prompt.answer);
        // Half of the callers repeat what they do not know, or what they know; the others ask afterwards.
        if (
          repeats &&
          prompt.answer !== "refused" &&
          random() < 0.5 + (prompt.answer === "unknown" ? 1 : 0)
        ) {
          run.count("repeated");
          await submit(run, prompt, { isFirst: false });
        }
        return response;
      },
    },
  ]);
}

/**
 * An answer that promises nothing about an earlier attempt with the same key does not change what that one
 * said.
 */
async function submit(
  run: HostRun,
  prompt: Prompt,
  { isFirst }: { isFirst: boolean },
): Promise<LoadResponse> {
  const { agent, key, text } = prompt;
  const body = { kind: "submit_prompt", payload: { prompt: text } };
  const init = json(body);
  const headers = { ...(init.headers as Record<string, string>), [idempotencyHeader]: key };
  const path = `/svc/agents/${agent.address}/gateway/requests`;
  const response = await run.fleet.server
    .request(path, { ...init, headers })
    .then(async (reply) => ({ status: reply.status, said: (await reply.json()) as Record<string, unknown> }))
    .catch((error) => ({ status: 0, said: { detail: String(error) } as Record<string, unknown> }));
  const { status, said } = response;
  if (status === 202) {
    prompt.answer = "accepted";
    prompt.requestIds.push(String(said["request_id"]));
    return { kind: "ok", requestId: String(said["request_id"]), queueDepth: Number(said["queue_depth"]) };
  }
  if (status === 0 || status === 500) run.problem(`${status} to ${key}: ${JSON.stringify(said)}`);
  const isRefusal = status !== 504 && status !== 0 && status !== 500;
  if (isFirst && isRefusal) {
    prompt.answer = "refused";
    prompt.refusal = `${status}: ${said["detail"]}`;
  }
  return { kind: isRefusal ? "refused" : "unreachable", status, detail: JSON.stringify(said) };
}

/** One sender writes one message after the other, each to an agent of another host. */
async function writeMail(run: HostRun, sender: HostAgent): Promise<void> {
  const { random, agents, mail } = run;
  const others = agents.filter(({ host }) => host !== sender.host);
  await driveLoad({ random, isOn: run.isOn, maxPauseMs: maxMailPauseMs }, [
    {
      weight: 1,
      async run(number) {
        const to = others[Math.floor(random() * others.length)]?.address ?? "";
        const sent: SentMail = { from: sender.address, to, subject: `chaos ${number}`, answer: "unknown" };
        mail.push(sent);
        const words = ["agents", "single", "--agent-name", sender.built.name, "mail", "send"];
        const message = ["--to", to, "--subject", sent.subject, "--body-content", "text", "--json"];
        const { exitCode, stderr } = await sender.host.fixture.mgr(...words, ...message);
        if (exitCode === 0) sent.answer = "accepted";
        return exitCode === 0 ? { kind: "ok" } : { kind: "unreachable", detail: stderr };
      },
    },
  ]);
}

/** Waits until queues and outboxes are empty, then reads the mail. */
async function settled({ fleet, agents, expect }: HostRun): Promise<ArrivedMail[]> {
  for (const { address } of agents) {
    const depth = async () => (await fleet.server.ask(`/svc/agents/${address}/gateway`)).body["queue_depth"];
    await expect(`the queue of ${address} to be empty`, async () => (await depth()) === 0, settleMs);
  }
  for (const host of fleet.hosts) {
    const waiting = () => query(join(mailRoot(host), "index.sqlite"), "SELECT message_id FROM host_outbox");
    await expect(`the outbox of ${host.name} to be empty`, () => waiting().length === 0, settleMs);
  }
  return fleet.hosts.flatMap(readArrived);
}

function readArrived(host: FleetHost): ArrivedMail[] {
  const rows = query<{ address: string; sender: string; subject: string }>(
    join(mailRoot(host), "index.sqlite"),
    `SELECT r.address, m.sender_address AS sender, m.subject FROM projections p
      JOIN messages m ON m.message_id = p.message_id
      JOIN registrations r ON r.registration_id = p.registration_id
      WHERE p.folder = 'inbox' ORDER BY p.seq`,
  );
  return rows.map(({ address, sender, subject }) => ({
    from: sender,
    to: `${address.split("@")[0]}@${host.name}`,
    subject,
  }));
}

function query<Row>(path: string, sql: string, ...values: string[]): Row[] {
  const database = new Database(path, { readonly: true });
  try {
    return database.query<Row, string[]>(sql).all(...values);
  } finally {
    database.close();
  }
}

async function factsOf(run: HostRun, prompt: Prompt): Promise<ForwardedPrompt> {
  const { agent, key, answer, refusal, requestIds, text } = prompt;
  const path = `/svc/agents/${agent.address}/gateway/requests?idempotency_key=${key}`;
  const { status, body } = await run.fleet.server.ask(path);
  const record = (body["requests"] as { request_id: string; state: string }[] | undefined)?.[0];
  const rows = query<PromptRow>(
    sessionPaths(agent.built.sessionRoot).queue,
    "SELECT request_id AS requestId, state, error_detail AS errorDetail FROM gateway_requests WHERE idempotency_key = ?",
    key,
  );
  const heard = agent.built.log().filter((entry) => entry.kind === "submitted" && entry.text === text);
  return {
    agent: agent.address,
    key,
    answer,
    refusal,
    requestIds,
    rows,
    heard: heard.length,
    outcome: status === 200 ? (record?.request_id ?? null) : undefined,
    reported: record?.state ?? null,
  };
}
