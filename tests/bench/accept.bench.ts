import { join } from "node:path";
import { type Bench, durationRows, percentile, type Row, withLimit } from "./bench.ts";
import { effort } from "./effort.ts";
import { createBenchFixture, freePort } from "./fixture.ts";
import { createLoad } from "./load.ts";
import { openRawQueue } from "./raw-queue.ts";

const prompt = `Look at the failing test. ${"Say what you find. ".repeat(20)}`;
const body = JSON.stringify({ schema_version: 1, kind: "submit_prompt", payload: { prompt } });
const rounds = effort(4, 1);
/** Both servers compile what runs often only after a second or so of it. */
const warmUpMs = effort(1500, 300);

/**
 * A prompt on disk before its 202: our gateway beside a busy agent, beside a bare Bun.serve that stores one
 * row a transaction, and beside the same rows without HTTP. One payload, one file system.
 */
const bench: Bench = {
  name: "accept",
  async run() {
    await using fixture = await createBenchFixture();
    await using load = createLoad();
    const { folder } = fixture.tmux;
    const agent = await fixture.launch("busy");
    const gateway = await agent.serve();
    await gateway.whenReady();
    await gateway.submit("Work for long.\nSILENT 9000000");
    const rawPort = await startRawServer(join(folder, "raw-server.sqlite"));
    const raw = openRawQueue(join(folder, "raw.sqlite"));
    const ours = samples();
    const served = samples();
    const alone = samples();
    try {
      for (let round = -1; round < rounds; round++) {
        const counts = round >= 0;
        const measure = async (port: number, clients: number, into: Samples) => {
          const durationMs = counts ? (clients === 1 ? 500 : 700) : warmUpMs;
          const result = await load.run({ port, path: "/v1/requests", body, clients, durationMs });
          if (result.refused > 0) throw new Error(`${result.refused} requests were not accepted`);
          if (counts) keep(into, clients, result);
        };
        const rawResult = insertFor(raw, counts ? 400 : 200);
        if (counts) keep(alone, 1, rawResult);
        const turns = [
          () => measure(rawPort.port, 1, served),
          () => measure(portOf(gateway.baseUrl), 1, ours),
          () => measure(rawPort.port, 64, served),
          () => measure(portOf(gateway.baseUrl), 64, ours),
        ];
        for (const turn of round % 2 === 0 ? turns : turns.toReversed()) await turn();
      }
    } finally {
      await rawPort.stop();
      raw.close();
    }
    const rawRate = median(alone.rates.get(1));
    const rate = median(ours.rates.get(64));
    return [
      ...rowsOf(1, ours, served),
      ...rowsOf(64, ours, served),
      { metric: "ratio_rate_64_to_raw_full", value: rate / rawRate, unit: "x" },
      { metric: "raw_full_rate", value: rawRate, unit: "1/s" },
      ...durationRows("raw_full", alone.durations.get(1) ?? []),
    ];
  },
};

export default bench;

interface Samples {
  durations: Map<number, number[]>;
  rates: Map<number, number[]>;
}

function samples(): Samples {
  return { durations: new Map(), rates: new Map() };
}

function keep(into: Samples, clients: number, result: { rate: number; durations: number[] }): void {
  into.durations.set(clients, [...(into.durations.get(clients) ?? []), ...result.durations]);
  into.rates.set(clients, [...(into.rates.get(clients) ?? []), result.rate]);
}

function rowsOf(clients: number, ours: Samples, served: Samples): Row[] {
  const of = ({ durations }: Samples) => durations.get(clients) ?? [];
  const durations = durationRows((percent) => `${percent}_ms_${clients}`, of(ours), of(served));
  const rate = { metric: `rate_${clients}`, value: median(ours.rates.get(clients)), unit: "1/s" };
  return [...durations, withLimit(rate, median(served.rates.get(clients)))];
}

const median = (values: readonly number[] = []) => percentile(values, 0.5);

function portOf(baseUrl: string): number {
  return Number(new URL(baseUrl).port);
}

function insertFor(
  queue: { insert(id: string, prompt: string): void },
  durationMs: number,
): { rate: number; durations: number[] } {
  const durations: number[] = [];
  const startMs = performance.now();
  for (let now = startMs; now - startMs < durationMs; ) {
    queue.insert(`raw-${now}`, prompt);
    const after = performance.now();
    durations.push(after - now);
    now = after;
  }
  return { rate: durations.length / ((performance.now() - startMs) / 1000), durations };
}

async function startRawServer(path: string): Promise<{ port: number; stop(): Promise<unknown> }> {
  const port = await freePort();
  const ready = Promise.withResolvers<unknown>();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "raw-server.ts"), String(port), path], {
    stdio: ["ignore", "inherit", "inherit"],
    ipc: ready.resolve,
  });
  await ready.promise;
  return {
    port,
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
