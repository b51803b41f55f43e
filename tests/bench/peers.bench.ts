import { cacheRoot, type InstalledCli, installCli } from "../live/lab/cli-cache.ts";
import { endMarked } from "../live/lab/processes.ts";
import { createSandbox, type Sandbox } from "../live/lab/sandbox.ts";
import { type ModelServer, startModelServer } from "../support/model-server/server.ts";
import type { Bench, Row } from "./bench.ts";
import { effort } from "./effort.ts";
import { agentapi } from "./peers/agentapi.ts";
import { cao } from "./peers/cao.ts";
import { peerEffort } from "./peers/effort.ts";
import { measureIdle, measureLosses, measureTurns } from "./peers/measure.ts";
import type { InstalledProduct, PeerAgent, Product } from "./peers/product.ts";
import { idleRows, lossRows, notMeasured, turnRows } from "./peers/report.ts";
import { svc } from "./peers/svc.ts";

const products: readonly Product[] = [svc, cao, agentapi];
const turns = effort(20, 4);
const idleTimes = { settleMs: effort(75_000, 10_000), watchMs: effort(60_000, 15_000) };

/**
 * Svc beside what else drives Claude Code for other programs, each with the same CLI, the same scripted model
 * and a sandbox of its own. A product that cannot be installed here has no rows and a note.
 */
const bench: Bench = {
  name: "peers",
  async run(note) {
    const wanted = peerEffort(process.argv.slice(2), {
      prompts: effort(200, 20),
      agents: effort(20, 2),
      products: products.map(({ name }) => name),
    });
    endAllWithUs();
    const cli = await installCli(cacheRoot(process.env), "claude", console.error);
    note(
      `Claude Code ${cli.version}; ${turns} turns, ${wanted.prompts} prompts, ${wanted.agents} idle agents`,
    );
    const rows: Row[] = [];
    for (const product of products.filter(({ name }) => wanted.products.includes(name))) {
      const { name } = product;
      const progress = (line: string) => console.error(`peers: ${name}: ${line}`);
      progress("installing");
      const installed = await product.install().catch((error) => void note(notMeasured(name, error)));
      if (!installed) continue;
      note(`${name}: ${installed.version}`);
      for (const part of partsOf({ name, ...wanted, progress })) {
        progress(part.what);
        const measured = await part
          .measure(installed, cli)
          .catch((error) => void note(notMeasured(`${name}, ${part.what}`, error)));
        rows.push(...(measured ?? []));
      }
    }
    return rows;
  },
};

export default bench;

interface Part {
  what: string;
  measure(installed: InstalledProduct, cli: InstalledCli): Promise<Row[]>;
}

function partsOf(order: {
  name: string;
  prompts: number;
  agents: number;
  progress: (line: string) => void;
}): Part[] {
  const { name, prompts, agents, progress } = order;
  return [
    {
      what: "turns",
      measure: (installed, cli) =>
        withAgents({ installed, cli, count: 1 }, async ([agent], model) =>
          turnRows(name, await measureTurns(agent, model, turns)),
        ),
    },
    {
      what: "lost prompts",
      measure: (installed, cli) =>
        withAgents({ installed, cli, count: 1 }, async ([agent], model) =>
          lossRows(name, await measureLosses(agent, model, prompts, progress)),
        ),
    },
    {
      what: "idle agents",
      measure: (installed, cli) =>
        withAgents({ installed, cli, count: agents }, async (_agents, _model, box) =>
          idleRows(name, await measureIdle(cli, box, agents, idleTimes)),
        ),
    },
  ];
}

/** Sandboxes in use, for an interrupt. */
const boxes = new Set<Sandbox>();

async function withAgents<T>(
  order: { installed: InstalledProduct; cli: InstalledCli; count: number },
  use: (agents: [PeerAgent, ...PeerAgent[]], model: ModelServer, box: Sandbox) => Promise<T>,
): Promise<T> {
  const { installed, cli, count } = order;
  await using model = startModelServer();
  const box = createSandbox(cli, model.url, { trusted: true, unattended: false });
  boxes.add(box);
  let first: PeerAgent | undefined;
  try {
    const agents = await installed.start(cli, box, count);
    [first] = agents;
    if (first === undefined) throw new Error("no agent was started");
    return await use([first, ...agents.slice(1)], model, box);
  } catch (error) {
    const screen = await first?.screen().catch(() => null);
    throw new Error(`${error instanceof Error ? error.message : error}\n${screen ?? "no screen"}`);
  } finally {
    boxes.delete(box);
    await box[Symbol.asyncDispose]();
  }
}

/** Ctrl-C ends all processes of this run, also an installation, and removes the sandboxes. */
function endAllWithUs(): void {
  const mark = { name: "LAB_RUN", value: `peers-${process.pid}` };
  process.env[mark.name] = mark.value;
  const end = async () => {
    await Promise.allSettled([...boxes].map((box) => box[Symbol.asyncDispose]()));
    await endMarked(mark.name, mark.value);
    process.exit(130);
  };
  process.once("SIGINT", () => void end()).once("SIGTERM", () => void end());
}
