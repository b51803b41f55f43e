import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileBare } from "./bare.ts";
import { type Bench, durationRows, percentile, type Row, withLimit } from "./bench.ts";
import { effort } from "./effort.ts";
import { createBenchFixture, freePort } from "./fixture.ts";
import { createLoad } from "./load.ts";
import { answers } from "./probe.ts";

const rounds = effort(5, 1);
const roundMs = effort(700, 300);

/** Tells an object as JSON, made anew for each answer, or on /prebuilt the bytes of it made once. */
const teller = `const [file, port] = process.argv.slice(-2);
const text = await Bun.file(file).text();
const status = JSON.parse(text);
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  routes: {
    "/health": () => new Response("ok"),
    "/v1/status": () => Response.json(status),
    "/prebuilt": () => new Response(text, { headers: { "content-type": "application/json" } }),
  },
});
`;

/**
 * `GET /v1/status` of a gateway beside an idle agent, and a compiled bare Bun.serve that tells the same
 * object.
 */
const bench: Bench = {
  name: "status",
  async run() {
    await using fixture = await createBenchFixture();
    await using load = createLoad();
    const gateway = await (await fixture.launch("asked")).serve();
    await gateway.whenReady();
    const file = join(fixture.tmux.folder, "status.json");
    writeFileSync(file, JSON.stringify(await gateway.status()));
    const port = await freePort();
    const bare = Bun.spawn(
      [compileBare(join(fixture.tmux.folder, "bare"), "teller", teller), file, String(port)],
      {
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    try {
      await answers(port);
      const ours = Number(new URL(gateway.baseUrl).port);
      const targets = [
        { name: "ours", port: ours, path: "/v1/status" },
        { name: "bare", port, path: "/v1/status" },
        { name: "prebuilt", port, path: "/prebuilt" },
      ];
      const figures = new Map<string, { rates: number[]; durations: number[] }>();
      for (let round = -1; round < rounds; round++) {
        for (const clients of [1, 64]) {
          for (const { name, ...target } of round % 2 === 0 ? targets : targets.toReversed()) {
            const result = await load.run({ ...target, clients, durationMs: round < 0 ? 300 : roundMs });
            if (result.refused > 0) throw new Error(`${name}: ${result.refused} requests were not answered`);
            if (round < 0) continue;
            const key = `${name} ${clients}`;
            const kept = figures.get(key) ?? { rates: [], durations: [] };
            kept.rates.push(result.rate);
            for (const duration of result.durations) kept.durations.push(duration);
            figures.set(key, kept);
          }
        }
      }
      const rate = (key: string) => percentile(figures.get(key)?.rates ?? [], 0.5);
      const durations = (key: string) => figures.get(key)?.durations ?? [];
      return [
        ...[1, 64].flatMap((clients): Row[] => [
          ...durationRows(
            (percent) => `${percent}_ms_${clients}`,
            durations(`ours ${clients}`),
            durations(`bare ${clients}`),
          ),
          withLimit(
            { metric: `rate_${clients}`, value: rate(`ours ${clients}`), unit: "1/s" },
            rate(`bare ${clients}`),
          ),
        ]),
        { metric: "ratio_rate_64_to_prebuilt", value: rate("ours 64") / rate("prebuilt 64"), unit: "x" },
      ];
    } finally {
      bare.kill();
      await bare.exited;
    }
  },
};

export default bench;
