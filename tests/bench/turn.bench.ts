import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type HeadlessAgentFixture, launchHeadless } from "../support/headless-fixture.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";

const compiled = join(import.meta.dir, "..", "..", "dist", "svc-gateway");
const rounds = effort(12, 3);
const prompt = "Say what you find.\nFAST";

/**
 * A whole turn, from the request to its event `turn_finished`, beside the same provider command run directly
 * to its end; and the way of an event from the provider's write to a reader of the event stream.
 */
const bench: Bench = {
  name: "turn",
  async run() {
    await using agent = await launchHeadless({
      name: "bench",
      executable: existsSync(compiled) ? compiled : undefined,
    });
    const reader = await openEvents(agent);
    let count = 0;
    const durations = await takeTurns(
      [
        {
          name: "ours",
          async run() {
            count += 1;
            const turnId = `bench-${count}`;
            const finished = reader.next((event) => event["turn_id"] === turnId, "turn_finished");
            await agent.submit(turnId, prompt);
            await finished;
          },
        },
        { name: "direct", run: () => runDirectly(agent) },
      ],
      { rounds, warmUp: 2 },
    );
    const latencies = await eventLatencies(agent, reader);
    reader.close();
    const { ours = [], direct = [] } = durations;
    return [
      ...durationRows("turn", ours, direct),
      {
        metric: "overhead_p50_ms",
        value: middle(ours) - middle(direct),
        unit: "ms",
      },
      ...durationRows("event_latency", latencies),
    ];
  },
};

export default bench;

const middle = (samples: readonly number[]) =>
  samples.toSorted((left, right) => left - right)[Math.floor(samples.length / 2)] ?? Number.NaN;

type Plan = { launch_plan: { executable: string; args: string[] } };
const manifestOf = (agent: HeadlessAgentFixture) => join(agent.sessionRoot, "manifest.json");
const readPlan = (agent: HeadlessAgentFixture) => JSON.parse(readFileSync(manifestOf(agent), "utf8")) as Plan;

/** What the bridge runs, with the prompt on standard input, until it has ended and its output was read. */
async function runDirectly(agent: HeadlessAgentFixture): Promise<void> {
  const { executable, args } = readPlan(agent).launch_plan;
  const child = Bun.spawn([executable, ...args, "--headless"], {
    env: agent.fixture.env,
    stdin: Buffer.from(prompt),
    stdout: "pipe",
    stderr: "ignore",
  });
  await new Response(child.stdout).text();
  await child.exited;
}

/** Turns of a provider that says when it wrote. */
async function eventLatencies(agent: HeadlessAgentFixture, reader: EventReader): Promise<number[]> {
  const manifest = readPlan(agent);
  const launch_plan = {
    ...manifest.launch_plan,
    executable: process.execPath,
    args: [join(import.meta.dir, "ticking-provider.ts")],
  };
  // Its gateway may read it at any moment: it sees the one or the other, never a part.
  const place = manifestOf(agent);
  writeFileSync(`${place}.next`, JSON.stringify({ ...manifest, launch_plan }), { mode: 0o600 });
  renameSync(`${place}.next`, place);
  const latencies: number[] = [];
  const end = reader.listen((event, seenMs) => {
    if (event["event_kind"] === "progress") latencies.push(seenMs - Number(event["message"]));
  });
  for (const turnId of ["ticking-1", "ticking-2"]) {
    const finished = reader.next((event) => event["turn_id"] === turnId, "turn_finished");
    await agent.submit(turnId, prompt);
    await finished;
  }
  end();
  return latencies;
}

type Event = Record<string, unknown>;

interface EventReader {
  listen(listener: (event: Event, seenMs: number) => void): () => void;
  next(wanted: (event: Event) => boolean, kind: string): Promise<Event>;
  close(): void;
}

/** A reader of the gateway's event stream. */
async function openEvents(agent: HeadlessAgentFixture): Promise<EventReader> {
  const abort = new AbortController();
  const options = { signal: abort.signal, proxy: false } as RequestInit;
  const reply = await fetch(`${agent.baseUrl()}/v1/events`, options);
  const listeners = new Set<(event: Event, seenMs: number) => void>();
  void (async () => {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of reply.body ?? []) {
      const seenMs = performance.timeOrigin + performance.now();
      text += decoder.decode(chunk, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const data = block.split("\n").find((line) => line.startsWith("data: "));
        if (data) for (const tell of [...listeners]) tell(JSON.parse(data.slice(6)), seenMs);
      }
    }
  })().catch(() => {});
  const listen: EventReader["listen"] = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    listen,
    next: (wanted, kind) =>
      new Promise((resolve) => {
        const end = listen((event) => {
          if (event["kind"] !== kind || !wanted(event)) return;
          end();
          resolve(event);
        });
      }),
    close: () => abort.abort(),
  };
}
