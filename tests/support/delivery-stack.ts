import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DeliveryBody } from "../../src/protocol/delivery.ts";
import { type BuiltAgent, createBuiltFixture, launchBuilt } from "./built-agent.ts";
import { type CoordServer, startCoordinator } from "./coord-server.ts";
import type { DeliveryCrashReport } from "./delivery-crash.ts";
import { receiver, webhookSecret } from "./delivery-targets.ts";
import { randomFrom } from "./load.ts";
import { randomMoment } from "./random-moment.ts";
import { until } from "./until.ts";

const longestServiceMs = 4000;
/** An answer to a question that nobody was sent would hide that. */
const deliveredWithinMs = 90_000;

/**
 * The whole of it: scripted agents in tmux ask questions, while their gateways and the coordination server,
 * all built executables, are killed (SIGKILL) at random and started again. Each question that an agent showed
 * must come to the webhook, whatever it comes twice with the same id.
 */
export async function runDeliveryStack(options: {
  agents: number;
  questions: number;
  seed: number;
  dist: string;
}): Promise<DeliveryCrashReport> {
  await using fixture = createBuiltFixture(options.dist);
  await using hook = receiver();
  const random = randomFrom(options.seed);
  const begunMs = performance.now();
  const config = join(fixture.env["HOME"] ?? "", ".config/svc");
  mkdirSync(config, { recursive: true, mode: 0o700 });
  writeFileSync(join(config, "secret"), webhookSecret, { mode: 0o600 });
  const rule = `{ reasons: [question], webhook: { url: "${hook.url}", secret_file: secret } }`;
  writeFileSync(join(config, "deliveries.yaml"), `version: 1\nrules:\n  hook: ${rule}\n`, { mode: 0o600 });
  const agents: BuiltAgent[] = [];
  for (let nth = 1; nth <= options.agents; nth++) agents.push(await launchBuilt(fixture, `asker${nth}`));
  const sessions = await fixture.sessions();

  const ids = new Map<string, Set<string>>();
  const came = new Set<string>();
  let received = 0;
  const read = () => {
    for (const { body } of hook.got.splice(0)) {
      const { data } = JSON.parse(body) as DeliveryBody;
      received += data.items.length;
      for (const { id, question } of data.items) {
        ids.set(id, (ids.get(id) ?? new Set()).add(data.delivery_id));
        came.add(question ?? "");
      }
    }
    return came;
  };

  let on = true;
  let kills = 0;
  let server: CoordServer | null = null;
  const serveAll = Promise.all(agents.map((agent) => agent.serve()));
  server = await startCoordinator(fixture);
  await serveAll;
  const killing = (async () => {
    while (on) {
      await randomMoment(random, longestServiceMs);
      if (!on) break;
      const victim = agents[Math.floor(random() * (agents.length + 1))];
      kills += 1;
      if (victim) {
        await victim.kill();
        await victim.serve();
      } else {
        server?.signal("SIGKILL");
        await server?.exited;
        server = await startCoordinator(fixture);
      }
    }
  })();

  const missed: string[] = [];
  async function ask(agent: BuiltAgent, nth: number): Promise<void> {
    const question = `Question ${nth} of ${agent.name}?`;
    const opened = () => agent.log().some((one) => one.kind === "menu_opened" && one.question === question);
    const words = ["agents", "single", "--agent-name", agent.name, "prompt", "--prompt", `MENU ${question}`];
    await until(
      `${question} on the screen`,
      async () => {
        if (opened()) return true;
        await fixture.mgr(...words);
        return until("the menu", opened, 8000).catch(() => false);
      },
      240_000,
    );
    await until(question, () => read().has(question), deliveredWithinMs).catch(() => missed.push(question));
    const session = sessions.find((name) => name.includes(agent.name)) ?? agent.name;
    const answered = () => agent.log().filter(({ kind }) => kind === "menu_answered").length >= nth;
    await until("its answer", async () => {
      await fixture.tmux("send-keys", "-t", `=${session}:`, "Enter");
      return until("the key", answered, 3000).catch(() => false);
    });
  }
  try {
    await Promise.all(
      agents.map(async (agent) => {
        for (let nth = 1; nth <= options.questions / agents.length; nth++) await ask(agent, nth);
      }),
    );
  } finally {
    on = false;
    await killing;
    for (const agent of agents) await agent.stop();
    await (server as CoordServer | null)?.[Symbol.asyncDispose]();
  }
  read();
  const several = [...ids].filter(([, found]) => found.size > 1).map(([id]) => `${id} came with several ids`);
  return {
    wrong: [...several, ...missed.map((question) => `never came: ${question}`)],
    figures: {
      items: came.size,
      kills,
      received,
      repeated: received - ids.size,
      seconds: Math.round((performance.now() - begunMs) / 100) / 10,
    },
  };
}
