import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { GatewayRequest, RequestRecord } from "../../../src/protocol/gateway.ts";
import type { TurnProcess, TurnResult } from "../../../src/protocol/turn-files.ts";
import { percentile } from "../../bench/bench.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "../built-agent.ts";
import { type CoordServer, startCoordinator } from "../coord-server.ts";
import { fileProblems, leftoverProblems, requestProblems, type Sent } from "../fault-story.ts";
import { archiveMail, driveLoad, sendMail, submitToCoordinator, submitToGateway } from "../load.ts";
import type { Fault, Run, World } from "./engine.ts";
import { mailProblems, type SentMail } from "./judgement.ts";

/** A third of the processes die so soon after they began, the others so soon after they serve. */
const longestStartMs = 120;
const longestServiceMs = 500;
/** The history grows with the run: it is read whole only so often. */
const filesEvery = 25;
/** The agent takes two a second. */
const maxWaiting = 6;
const address = "worker@svc.localhost";

/** Everything that was asked for in a run, as its callers saw it. */
interface Asked {
  requests: Sent[];
  mails: SentMail[];
  /** Refs whose archiving was answered. */
  archived: string[];
  turns: { turnId: string; requestId: string | null }[];
}

interface GatewaysRun extends Run {
  folder: string;
  worker: BuiltAgent;
  batch: BuiltAgent;
  /** Null while it is dead. */
  server: CoordServer | null;
  asked: Asked;
}

export const gatewaysWorld: World = {
  name: "gateways",
  summary: `the gateways of a terminal and of a headless agent, the bridges of its turns and the coordination server are
killed, and start on the same files, under prompts, mail and turns: nothing is lost, doubled or torn`,
  size: { rounds: 1000 },
  async start(given) {
    const { stack, figures, faultRandom: random } = given;
    const fixture = stack.use(createBuiltFixture(given.dist));
    const worker = await launchBuilt(fixture, "worker", ["--mailbox-root", join(fixture.folder, "mail")]);
    const batch = await launchBuilt(fixture, "batch", ["--headless"]);
    const asked: Asked = { requests: [], mails: [], archived: [], turns: [] };
    const run: GatewaysRun = { ...given, folder: fixture.folder, worker, batch, server: null, asked };
    const startMs: number[] = [];
    let rounds = 0;
    stack.defer(async () => {
      for (const agent of [worker, batch]) await agent.kill();
      await killServer();
    });
    await Promise.all([serve(worker), serve(batch), startServer()]);
    return {
      load: loadOf(run),
      faults: { next: nextFault },
      async judge() {
        await judge(run);
        const isAccepted = (one: { requestId: string | null }) => one.requestId !== null;
        figures["requests"] = asked.requests.length;
        figures["accepted_requests"] = asked.requests.filter(isAccepted).length;
        figures["mails"] = asked.mails.length;
        figures["answered_mails"] = asked.mails.filter((one) => one.answer === "accepted").length;
        figures["turns"] = asked.turns.length;
        figures["accepted_turns"] = asked.turns.filter(isAccepted).length;
        figures["start_p50_ms"] = Math.round(percentile(startMs, 0.5));
        figures["start_max_ms"] = Math.round(Math.max(...startMs));
      },
    };

    async function serve(agent: BuiltAgent): Promise<void> {
      const beganMs = performance.now();
      if (await agent.serve()) startMs.push(performance.now() - beganMs);
    }

    async function startServer(): Promise<void> {
      run.server = await startCoordinator(fixture);
    }

    async function killServer(): Promise<boolean> {
      run.server?.signal("SIGKILL");
      await run.server?.exited;
      run.server = null;
      return true;
    }

    function nextFault(): Fault {
      const victims = chooseVictims();
      const isEarly = random() < 1 / 3;
      const afterMs = isEarly ? 0 : random() * longestServiceMs;
      const diesAfterMs = random() * longestStartMs;
      return {
        target: "the programs",
        async inject() {
          try {
            await pause(afterMs);
            for (const victim of victims) if (await kill(victim)) run.count(`killed_${victim}`);
            if (victims.includes("coordinator")) await startServer();
            const dead = [worker, batch].filter((agent) => victims.includes(agent.name as Victim));
            await Promise.all(dead.map((agent) => restart(agent, isEarly ? diesAfterMs : null)));
            if (rounds++ % filesEvery === 0)
              [worker, batch].flatMap((agent) => fileProblems(agent.sessionRoot)).forEach(run.problem);
          } finally {
            for (const agent of [worker, batch]) if (!agent.client()) await agent.serve().catch(() => false);
          }
        },
      };
    }

    function chooseVictims(): Victim[] {
      const dice = random();
      if (dice < 0.5) return ["worker"];
      if (dice < 0.65) return ["batch"];
      if (dice < 0.75) return ["bridge"];
      if (dice < 0.82) return ["bridge", "batch"];
      if (dice < 0.9) return ["coordinator"];
      return ["worker", "batch", "coordinator"];
    }

    function kill(victim: Victim): Promise<boolean> {
      if (victim === "coordinator") return killServer();
      if (victim === "bridge") return killBridge(batch);
      return (victim === "worker" ? worker : batch).kill();
    }

    /** `diesAfterMs`: the new process dies too, before it serves or soon after. */
    async function restart(agent: BuiltAgent, diesAfterMs: number | null): Promise<void> {
      if (diesAfterMs !== null) {
        const starting = agent.serve();
        await pause(diesAfterMs);
        if (await agent.kill()) run.count(`killed_${agent.name}`);
        await starting;
      }
      await serve(agent);
    }
  },
};

type Victim = "worker" | "batch" | "bridge" | "coordinator";

/** The process that runs the tool of the present turn; false when none runs. */
async function killBridge(batch: BuiltAgent): Promise<boolean> {
  const state = await batch.client()?.call("headlessState", {});
  const turnId = state?.kind === "ok" ? state.body.active_turn_id : undefined;
  if (turnId === undefined) return false;
  try {
    const path = join(batch.sessionRoot, "manifest.turn-artifacts", turnId, "process.json");
    const { runner_pid: pid } = (await Bun.file(path).json()) as TurnProcess;
    if (!pid) return false;
    process.kill(pid, "SIGKILL");
    return true;
  } catch {
    // It has not begun, or ended in this moment.
    return false;
  }
}

/** Prompts, interrupts, mail and turns, as the dice fall, to whichever gateway serves. */
function loadOf(run: GatewaysRun) {
  const { random, isOn } = run;
  const drive = (maxPauseMs: number, actions: Parameters<typeof driveLoad>[1]) => () =>
    driveLoad({ random, isOn, maxPauseMs, maxWaiting }, actions);
  const prompt = (text: (number: number) => string) => (number: number) =>
    submit(run, { kind: "submit_prompt", payload: { prompt: text(number) } });
  const refs: string[] = [];
  return [
    drive(120, [
      { weight: 0.5, run: prompt((number) => `prompt ${number}\nFAST`) },
      { weight: 0.15, run: prompt(() => "/clear") },
      { weight: 0.1, run: prompt(() => "/new") },
      { weight: 0.25, run: () => submit(run, { kind: "interrupt" }) },
    ]),
    drive(250, [
      { weight: 0.7, run: (number) => mail(run, refs, number) },
      { weight: 0.3, run: () => archive(run, refs) },
    ]),
    drive(400, [{ weight: 1, run: (number) => turn(run, number) }]),
  ];
}

async function submit(run: GatewaysRun, body: GatewayRequest) {
  const server = run.server;
  const client = run.worker.client();
  const coordinated = run.random() < 0.35 && server !== null;
  if (!coordinated && client === null) return null;
  const prompt = body.kind === "submit_prompt" ? body.payload.prompt : null;
  const sent: Sent = { kind: body.kind, prompt, requestId: null };
  run.asked.requests.push(sent);
  const response = coordinated
    ? await submitToCoordinator(server, run.worker.name, body)
    : await submitToGateway(client, body);
  sent.requestId = (response?.kind === "ok" && response.requestId) || null;
  return response;
}

async function mail({ asked, worker }: GatewaysRun, refs: string[], number: number) {
  const client = worker.client();
  if (!client) return null;
  const subject = `mail ${number}`;
  const sent: SentMail = { from: address, to: address, subject, answer: "unknown" };
  asked.mails.push(sent);
  const response = await sendMail(client, { to: address, subject, text: `text ${number}` });
  if (response?.kind === "ok") {
    sent.answer = "accepted";
    refs.push(response.messageRef ?? "");
  } else if (response?.kind === "refused") sent.answer = "refused";
  return response;
}

async function archive({ asked, worker }: GatewaysRun, refs: string[]) {
  const client = worker.client();
  const ref = client ? refs.shift() : undefined;
  if (ref === undefined) return null;
  const response = await archiveMail(client, [ref]);
  if (response?.kind === "ok") asked.archived.push(ref);
  return response;
}

const works = ["FAST", "SLOW 60", "SLOW 250", "TOOL read\nSLOW 30", "ERROR no", "EXIT 4"] as const;

async function turn({ asked, batch, random }: GatewaysRun, number: number) {
  const client = batch.client();
  if (!client) return null;
  const turnId = `turn-${number}`;
  const work = works[Math.floor(random() * works.length)];
  const sent: Asked["turns"][number] = { turnId, requestId: null };
  asked.turns.push(sent);
  const payload = { prompt: `${turnId}\n${work}`, turn_id: turnId };
  const response = await submitToGateway(client, { kind: "submit_prompt", payload });
  sent.requestId = (response?.kind === "ok" && response.requestId) || null;
  return response;
}

/**
 * Once everything serves again: what was asked for against what the files, the agents and the mailbox hold.
 * Ends the gateways, cleanly.
 */
async function judge(run: GatewaysRun): Promise<void> {
  const { worker, batch, server, asked, problem } = run;
  for (const agent of [worker, batch]) {
    const isIdle = async () => {
      const reply = await agent.client()?.call("status", {});
      return reply?.kind === "ok" && reply.body.queue_depth === 0 && reply.body.active_execution === "idle";
    };
    await run.expect(`the queue of ${agent.name} to be empty`, isIdle, 180_000);
  }
  (await mailFindings(worker, asked)).forEach(problem);
  (await turnFindings(batch, asked)).forEach(problem);
  (await listFindings(server)).forEach(problem);
  for (const agent of [worker, batch]) {
    const ended = await agent.stop();
    if (ended !== 0) problem(`the gateway of ${agent.name} ended with ${ended} when it was stopped`);
    fileProblems(agent.sessionRoot).forEach(problem);
    const leftovers = leftoverProblems(agent.sessionRoot);
    leftovers.filter((one) => isOld(one, agent.startedAtMs())).forEach(problem);
  }
  requestProblems(worker, asked.requests, run.figures["killed_worker"] ?? 0).forEach(problem);
  providersBelow(run.folder).forEach(problem);
}

/**
 * A script that a launch left in the minute before the last gateway may have been wanted yet: the next clears
 * it away.
 */
function isOld(problem: string, startedAtMs: number): boolean {
  const script = /\S+\/launch-[0-9a-f]+\.sh$/.exec(problem)?.[0];
  return script === undefined || startedAtMs - statSync(script).mtimeMs > 60_000;
}

/** Mail as `mailProblems` says, and what was archived is. The two lists do not tell the order of arrival. */
async function mailFindings(worker: BuiltAgent, asked: Asked): Promise<string[]> {
  async function messagesIn(box: string) {
    const body = { schema_version: 1 as const, box };
    const reply = await worker.client()?.call("mailList", { body, timeoutMs: 30_000 });
    if (reply?.kind !== "ok") throw new Error(`the mail cannot be listed: ${JSON.stringify(reply)}`);
    return reply.body.messages;
  }
  const [inbox, archived] = [await messagesIn("inbox"), await messagesIn("archive")];
  const numberOf = (subject: string) => Number(subject.split(" ")[1]);
  const arrived = [...inbox, ...archived]
    .map(({ subject }) => ({ from: address, to: address, subject }))
    .sort((one, other) => numberOf(one.subject) - numberOf(other.subject));
  const archivedRefs = new Set(archived.map((mail) => mail.message_ref));
  return [
    ...mailProblems(asked.mails, arrived),
    ...asked.archived.filter((ref) => !archivedRefs.has(ref)).map((ref) => `${ref} was archived and is not`),
  ];
}

/** Every accepted turn has one final state that its request agrees with, and none ran twice. */
async function turnFindings(batch: BuiltAgent, asked: Asked): Promise<string[]> {
  const runs = batch.runs();
  const found: string[] = [];
  for (const { turnId, requestId } of asked.turns) {
    const times = runs.filter((run) => run.prompt.startsWith(`${turnId}\n`)).length;
    if (times > 1) found.push(`${turnId} ran ${times} times`);
    if (requestId === null) continue;
    const reply = await batch.client()?.call("readRequest", { params: { request_id: requestId } });
    const record: RequestRecord | null = reply?.kind === "ok" ? reply.body : null;
    const result = resultOf(batch, turnId);
    const said = `${turnId}: its request is ${record?.state ?? "lost"}, its result ${result?.status ?? "none"}, it ran ${times} times`;
    if (record?.state !== "completed" && record?.state !== "failed") found.push(said);
    else if (result && (result.status === "completed") !== (record.state === "completed")) found.push(said);
    else if (!result && (record.state === "completed" || times > 0)) found.push(said);
    else if (record.state === "completed" && times !== 1) found.push(said);
  }
  return found;
}

function resultOf(batch: BuiltAgent, turnId: string): TurnResult | null {
  const path = join(batch.sessionRoot, "manifest.turn-artifacts", turnId, "result.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as TurnResult) : null;
}

async function listFindings(server: CoordServer | null): Promise<string[]> {
  if (!server) return ["the coordination server does not run"];
  const { status, body } = await server.ask("/svc/agents");
  const agents = (body["agents"] ?? []) as { agent_name: string; has_gateway: boolean; liveness: string }[];
  const told = agents.map((one) => `${one.agent_name} ${one.liveness} ${one.has_gateway}`).sort();
  const right = status === 200 && told.join() === "batch alive true,worker alive true";
  const complaints = server.complaints();
  return [
    ...(right ? [] : [`the list is answered with ${status}: ${told.join(", ")}`]),
    ...(complaints === "" ? [] : [`the coordination server complains: ${complaints}`]),
  ];
}

/** The tools of turns that still run though all turns have ended, by their arguments. */
export function providersBelow(folder: string): string[] {
  const { stdout } = Bun.spawnSync(["ps", "-axww", "-o", "args"]);
  return stdout
    .toString()
    .split("\n")
    .filter((line) => line.includes(folder) && line.includes("demo-agent --headless"))
    .map((line) => `left alive: ${line}`);
}
