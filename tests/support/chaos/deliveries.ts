import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openDeliveriesForReading } from "../../../src/db/coordinator/delivery-listing.ts";
import type { DeliveryBody } from "../../../src/protocol/delivery.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "../built-agent.ts";
import { type CoordServer, startCoordinator } from "../coord-server.ts";
import { receiver, webhookSecret } from "../delivery-targets.ts";
import { faultEnvironment, type Moment } from "../fault-steps.ts";
import { createScratch } from "../scratch.ts";
import { until } from "../until.ts";
import type { Run, World } from "./engine.ts";

const entry = join(import.meta.dir, "delivery-server.ts");
const longestLifeMs = 500;
const longestServiceMs = 4000;
/** An answer to a question that was never sent would hide that. */
const deliveredWithinMs = 90_000;

/** A webhook that counts what comes to it, and keeps ids only, so that a long run keeps no bodies. */
function openWebhook(run: Run, answer?: Parameters<typeof receiver>[0]) {
  const hook = run.stack.use(receiver(answer));
  const deliveriesOf = new Map<string, Set<string>>();
  const questions = new Set<string>();
  /** Reads what came since the last call: so many items so far. */
  function read(): number {
    for (const { body } of hook.got.splice(0)) {
      const { data } = JSON.parse(body) as DeliveryBody;
      run.count("received", data.items.length);
      for (const { id, question } of data.items) {
        deliveriesOf.set(id, (deliveriesOf.get(id) ?? new Set()).add(data.delivery_id));
        questions.add(question ?? "");
      }
    }
    return deliveriesOf.size;
  }
  return {
    url: hook.url,
    read,
    hasQuestion: (question: string) => read() > 0 && questions.has(question),
    judge() {
      run.count("items", read());
      run.count("repeated", (run.figures["received"] ?? 0) - deliveriesOf.size);
      for (const [id, deliveries] of deliveriesOf)
        if (deliveries.size > 1) run.problem(`${id} came with several ids`);
    },
  };
}

/** `moments`: before the random kills, a process dies at each of these steps, with new items each time. */
export function createDeliveriesWorld(moments: readonly Moment[] = []): World {
  return {
    name: "deliveries",
    summary: `items appear while the process that delivers them to a webhook is killed: none is missed, none comes with two
ids`,
    size: { rounds: 100, items: 10_000 },
    start: (run) => startDeliveries(run, moments),
  };
}

async function startDeliveries(run: Run, moments: readonly Moment[]) {
  const { faultRandom: random } = run;
  const { items } = run.size;
  const deaths = moments.length + run.size.rounds;
  const { folder } = run.stack.use(createScratch());
  // Some answers are failures after the item was taken, as of a server that dies at the wrong moment; once
  // for each.
  const failed = new Set<string | null>();
  const webhook = openWebhook(run, ({ headers }) => {
    const id = headers.get("webhook-id");
    const fails = run.random() < 0.02 && !failed.has(id);
    if (fails) failed.add(id);
    return new Response(null, { status: fails ? 500 : 204 });
  });
  let complaints = "";
  let child = null as Bun.Subprocess | null;
  run.stack.defer(async () => {
    child?.kill("SIGKILL");
    await child?.exited;
  });
  function startProcess(kill?: Moment): Bun.Subprocess {
    const one = Bun.spawn([process.execPath, entry, folder, webhook.url], {
      env: { ...process.env, ...(kill ? { [faultEnvironment.kill]: JSON.stringify(kill) } : {}) },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    });
    void (async () => {
      for await (const part of one.stderr)
        complaints = `${complaints}${new TextDecoder().decode(part)}`.slice(-2000);
    })();
    child = one;
    return one;
  }
  /** A part of the items appears while no process runs. */
  function appear(last: number): void {
    writeFileSync(join(folder, "next"), `1 ${last}`);
    renameSync(join(folder, "next"), join(folder, "waiting"));
  }
  let died = 0;
  const appearAfterDeath = () => appear(Math.ceil((items * (++died + 1)) / (deaths + 2)));

  mkdirSync(join(folder, "outbox"), { mode: 0o700 });
  writeFileSync(join(folder, "secret"), webhookSecret, { mode: 0o600 });
  appear(Math.ceil(items / (deaths + 2)));
  for (const moment of moments) {
    await startProcess(moment).exited;
    run.count("deaths_at_steps");
    appearAfterDeath();
  }

  async function killOnce(): Promise<void> {
    const running = startProcess();
    // Sometimes before it serves, sometimes amid its work.
    if (random() < 0.8) {
      const before = webhook.read();
      await until("a delivery", () => webhook.read() > before || running.exitCode !== null);
    }
    await pause(random() ** 2 * longestLifeMs);
    running.kill("SIGKILL");
    await running.exited;
    appearAfterDeath();
  }

  function pending(): number {
    const listing = openDeliveriesForReading(join(folder, "outbox", "deliveries.sqlite"));
    try {
      return listing.list({ limit: 1, state: "pending" }).deliveries.length;
    } finally {
      listing.close();
    }
  }

  return {
    load: [],
    faults: { next: () => ({ target: "the delivering process", inject: killOnce }) },
    async judge() {
      startProcess();
      appear(items);
      await run.expect(`all of ${items} items`, () => webhook.read() === items, Math.max(40_000, items * 60));
      await run.expect("an outbox without pending deliveries", () => pending() === 0, 60_000);
      webhook.judge();
      if (webhook.read() !== items) run.problem(`${webhook.read()} of ${items} items came; ${complaints}`);
    },
  };
}

export const questionsWorld: World = {
  name: "questions",
  summary: `scripted agents ask questions while their gateways and the coordination server are killed: each question that was
on a screen comes to the webhook, with one id`,
  size: { agents: 3, items: 100 },
  async start(run) {
    const { stack, faultRandom } = run;
    const fixture = stack.use(createBuiltFixture(run.dist));
    const webhook = openWebhook(run);
    const config = join(fixture.env["HOME"] ?? "", ".config/svc");
    mkdirSync(config, { recursive: true, mode: 0o700 });
    writeFileSync(join(config, "secret"), webhookSecret, { mode: 0o600 });
    const rule = `{ reasons: [question], webhook: { url: "${webhook.url}", secret_file: secret } }`;
    writeFileSync(join(config, "deliveries.yaml"), `version: 1\nrules:\n  hook: ${rule}\n`, { mode: 0o600 });
    const agents: BuiltAgent[] = [];
    for (let nth = 1; nth <= run.size.agents; nth++) agents.push(await launchBuilt(fixture, `asker${nth}`));
    const sessions = await fixture.sessions();
    let server: CoordServer | null = null;
    stack.defer(async () => {
      await server?.[Symbol.asyncDispose]();
      for (const agent of agents) await agent.stop();
    });
    const serveAll = Promise.all(agents.map((agent) => agent.serve()));
    server = await startCoordinator(fixture);
    await serveAll;

    async function ask(agent: BuiltAgent, nth: number): Promise<void> {
      const question = `Question ${nth} of ${agent.name}?`;
      const isOpen = () => agent.log().some((one) => one.kind === "menu_opened" && one.question === question);
      const words = [
        "agents",
        "single",
        "--agent-name",
        agent.name,
        "prompt",
        "--prompt",
        `MENU ${question}`,
      ];
      await until(
        `${question} on the screen`,
        async () => {
          if (isOpen()) return true;
          await fixture.mgr(...words);
          return until("the menu", isOpen, 8000).catch(() => false);
        },
        240_000,
      );
      await run.expect(`${question} at the webhook`, () => webhook.hasQuestion(question), deliveredWithinMs);
      const session = sessions.find((name) => name.includes(agent.name)) ?? agent.name;
      const isAnswered = () => agent.log().filter(({ kind }) => kind === "menu_answered").length >= nth;
      await until("its answer", async () => {
        await fixture.tmux("send-keys", "-t", `=${session}:`, "Enter");
        return until("the key", isAnswered, 3000).catch(() => false);
      });
    }

    async function killOne(victim: BuiltAgent | undefined, afterMs: number): Promise<void> {
      await pause(afterMs);
      if (victim) {
        await victim.kill();
        await victim.serve();
        return;
      }
      server?.signal("SIGKILL");
      await server?.exited;
      server = await startCoordinator(fixture);
    }

    return {
      load: agents.map((agent) => async () => {
        for (let nth = 1; nth <= run.size.items / agents.length && run.isOn(); nth++) await ask(agent, nth);
      }),
      faults: {
        next() {
          const victim = agents[Math.floor(faultRandom() * (agents.length + 1))];
          const afterMs = faultRandom() ** 2 * longestServiceMs;
          const target = victim?.name ?? "the coordination server";
          return { target, inject: () => killOne(victim, afterMs) };
        },
      },
      async judge() {
        webhook.judge();
      },
    };
  },
};
