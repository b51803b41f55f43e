import { readlinkSync } from "node:fs";
import { dirname } from "node:path";
import type { InstalledCli } from "../../live/lab/cli-cache.ts";
import type { Sandbox } from "../../live/lab/sandbox.ts";
import type { ModelServer } from "../../support/model-server/server.ts";
import { until } from "../../support/until.ts";
import { wallMs } from "../bench.ts";
import { idleCpuPercent } from "../fixture.ts";
import { asksPermission } from "./answers.ts";
import { type Arrivals, countArrivals, saidByUser, toIdle } from "./arrivals.ts";
import type { PeerAgent } from "./product.ts";

const lookEveryMs = 20;
/** A status that wavers after a turn has settled by then. */
const calmMs = 1500;
const turnMs = 120_000;

export interface TurnTimes {
  /** Submission to the product's answer. */
  answer: number[];
  /** Submission to the request with the prompt at the model. */
  toModel: number[];
  /** End of the model's answer to the product's word that the agent is idle. */
  toIdle: number[];
  early: number;
  unseen: number;
}

/** Turns one after the other, each submitted to an idle agent. */
export async function measureTurns(agent: PeerAgent, model: ModelServer, count: number): Promise<TurnTimes> {
  const times: TurnTimes = { answer: [], toModel: [], toIdle: [], early: 0, unseen: 0 };
  for (let number = 1; number <= count; number++) {
    await until("the agent is idle", () => agent.isIdle());
    const prompt = `Turn ${number}: say a few words.`;
    const submittedMs = wallMs();
    const answered = agent.submit(prompt).then((submission) => {
      if (submission === "refused") throw new Error("an idle agent's prompt was refused");
      return wallMs();
    });
    const turn = model.next(
      ({ purpose, outcome, newest_user_text: text }) =>
        purpose === "turn" && outcome === "finished" && text.includes(prompt),
      turnMs,
    );
    const [answeredMs, request, looks] = await Promise.all([answered, turn, watchStatus(agent, turn)]);
    times.answer.push(answeredMs - submittedMs);
    times.toModel.push(request.at_ms - submittedMs);
    const idle = toIdle({ endedMs: request.ended_at_ms ?? Number.NaN, looks });
    if (typeof idle === "number") times.toIdle.push(idle);
    else times[idle] += 1;
  }
  return times;
}

/** What the agent's status is, until it has been idle for a while after the turn's end. */
async function watchStatus(
  agent: PeerAgent,
  turn: Promise<unknown>,
): Promise<{ atMs: number; idle: boolean }[]> {
  const looks: { atMs: number; idle: boolean }[] = [];
  let ended = false;
  turn.then(
    () => (ended = true),
    () => (ended = true),
  );
  let calmFromMs = wallMs();
  const deadline = wallMs() + turnMs;
  while (!ended || (wallMs() - calmFromMs < calmMs && wallMs() < deadline)) {
    const idle = await agent.isIdle();
    looks.push({ atMs: wallMs(), idle });
    if (!idle || !ended) calmFromMs = wallMs();
    await Bun.sleep(lookEveryMs);
  }
  return looks;
}

export interface Losses extends Arrivals {
  submitted: number;
  /** Answers that said no; each such prompt was sent again. */
  refusals: number;
}

const followers = 4;
const followEveryMs = 300;
/** How long a phase may go without an arrival before the next one begins. */
const quietMs = 20_000;
/** For messages that a product looks for again only now and then. */
const graceMs = 75_000;
/** How long a question is on the screen before the person answers it. */
const thinkMs = 4000;

/**
 * Prompts of which each fifth opens a phase, a long turn or a command that the CLI asks about, in turns; the
 * others come while that lasts. A person answers each question with Enter after 4 s. Resolves when all have
 * arrived, or the last have been away for more than a minute.
 */
export async function measureLosses(
  agent: PeerAgent,
  model: ModelServer,
  count: number,
  progress: (line: string) => void,
): Promise<Losses> {
  const prompts: string[] = [];
  let refusals = 0;
  const before = model.received().length;
  const conversations = () =>
    model
      .received()
      .slice(before)
      .filter(({ purpose }) => purpose === "turn")
      .map(({ body }) => saidByUser(body));
  const away = () => {
    const said = conversations().at(-1)?.join("\n") ?? "";
    return prompts.filter((prompt) => !said.includes(prompt)).length;
  };
  const send = async (word: string) => {
    const prompt = `Peer prompt ${String(prompts.length + 1).padStart(4, "0")}: ${word}`;
    const deadline = performance.now() + turnMs;
    while ((await agent.submit(prompt)) === "refused") {
      refusals += 1;
      if (performance.now() > deadline) throw new Error(`refused for two minutes: ${prompt}`);
      await Bun.sleep(followEveryMs);
    }
    prompts.push(prompt);
  };
  const person = answerQuestions(agent);
  try {
    for (let phase = 0; prompts.length < count; phase++) {
      const asks = phase % 2 === 1;
      await send(asks ? "RUNTOOL" : "MEDIUMTURN");
      await within(quietMs, async () => away() === 0 && (!asks || asksPermission(await agent.screen())));
      for (let next = 0; next < followers && prompts.length < count; next++) {
        await Bun.sleep(followEveryMs);
        await send("FAST");
      }
      await allHere(away, quietMs);
      progress(`${prompts.length} of ${count} prompts, ${away()} not with the model`);
    }
    await allHere(away, graceMs);
    const arrivals = countArrivals(prompts, conversations());
    if (arrivals.lost.length > 0) {
      progress(`lost: ${arrivals.lost.join("; ")}; the screen:\n${(await agent.screen()).trim()}`);
    }
    return { ...arrivals, submitted: prompts.length, refusals };
  } finally {
    await person.stop();
  }
}

/** Resolves when nothing is away, or nothing has come for so long. */
async function allHere(away: () => number, limitMs: number): Promise<void> {
  let least = away();
  let deadline = performance.now() + limitMs;
  while (away() > 0 && performance.now() < deadline) {
    await Bun.sleep(100);
    if (away() >= least) continue;
    least = away();
    deadline = performance.now() + limitMs;
  }
}

async function within(limitMs: number, look: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await look()) && performance.now() < deadline) await Bun.sleep(100);
}

/** A person at the CLI's terminal. */
function answerQuestions(agent: PeerAgent): { stop(): Promise<void> } {
  let stopped = false;
  const watching = (async () => {
    let askedMs: number | null = null;
    while (!stopped) {
      if (!asksPermission(await agent.screen())) askedMs = null;
      else if (askedMs === null) askedMs = performance.now();
      else if (performance.now() - askedMs >= thinkMs) {
        await agent.pressEnter();
        askedMs = null;
      }
      await Bun.sleep(250);
    }
  })();
  // A screen that cannot be read ends the measurement, not the process.
  watching.catch(() => {});
  return {
    async stop() {
      stopped = true;
      await watching;
    },
  };
}

export interface IdleCpu {
  agents: number;
  /** Percent of one core for each agent: the product with its terminal server. */
  product: number;
  /** The CLI itself. */
  cli: number;
}

/**
 * What idle agents cost, while no one asks them anything. A process that starts and ends in between is not
 * counted.
 */
export async function measureIdle(
  cli: InstalledCli,
  box: Sandbox,
  agents: number,
  times: { settleMs: number; watchMs: number },
): Promise<IdleCpu> {
  await Bun.sleep(times.settleMs);
  const pids = box.processes().map(({ pid }) => pid);
  const ofCli = pids.filter((pid) => isOf(cli, pid));
  const others = pids.filter((pid) => !ofCli.includes(pid));
  const [product, own] = await Promise.all(
    [others, ofCli].map((some) => idleCpuPercent(some, { ...times, settleMs: 0 })),
  );
  return { agents, product: (product ?? Number.NaN) / agents, cli: (own ?? Number.NaN) / agents };
}

function isOf(cli: InstalledCli, pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`).startsWith(dirname(cli.binFolder));
  } catch {
    return false;
  }
}
