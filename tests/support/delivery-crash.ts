import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDeliveriesForReading } from "../../src/db/coordinator/delivery-listing.ts";
import type { DeliveryBody } from "../../src/protocol/delivery.ts";
import { receiver, webhookSecret } from "./delivery-targets.ts";
import { faultEnvironment, type Moment } from "./fault-steps.ts";
import { randomFrom } from "./load.ts";
import { randomMoment } from "./random-moment.ts";
import { until } from "./until.ts";

const entry = join(import.meta.dir, "delivery-server.ts");

export interface DeliveryCrashReport {
  /** What must never be; empty when all went well. */
  wrong: string[];
  figures: { items: number; kills: number; received: number; repeated: number; seconds: number };
}

/**
 * Questions appear, `items` of them, while the process that delivers them to a real webhook is killed
 * (SIGKILL) and started again, `kills` times; a part of them appears while none runs. Afterwards each must
 * have come, and what came twice must have had one id. `at`: before that, a process dies at each of these
 * steps, with new questions each time.
 */
export async function runDeliveryCrash(options: {
  items: number;
  kills: number;
  seed: number;
  longestLifeMs: number;
  at?: readonly Moment[];
}): Promise<DeliveryCrashReport> {
  const { items, kills, seed, at = [] } = options;
  const lives = at.length + kills;
  const random = randomFrom(seed);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-deliveries-")));
  const begunMs = performance.now();
  const ids = new Map<string, Set<string>>();
  let received = 0;
  // Some answers are failures after the item was taken, as of a server that dies at the wrong moment; once
  // for each.
  const failed = new Set<string | null>();
  await using hook = receiver(({ headers }) => {
    const id = headers.get("webhook-id");
    const fails = random() < 0.02 && !failed.has(id);
    if (fails) failed.add(id);
    return new Response(null, { status: fails ? 500 : 204 });
  });
  let child = null as Bun.Subprocess | null;
  let complaints = "";
  const start = (kill?: Moment) => {
    const one = Bun.spawn([process.execPath, entry, folder, hook.url], {
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
  };
  const waits = (last: number) => {
    writeFileSync(join(folder, "next"), `1 ${last}`);
    renameSync(join(folder, "next"), join(folder, "waiting"));
  };
  /** Reads what came since the last call, so that a long run keeps no bodies. */
  const read = () => {
    for (const { body } of hook.got.splice(0)) {
      const { data } = JSON.parse(body) as DeliveryBody;
      received += data.items.length;
      for (const { id } of data.items) ids.set(id, (ids.get(id) ?? new Set()).add(data.delivery_id));
    }
    return ids.size;
  };
  try {
    mkdirSync(join(folder, "outbox"), { mode: 0o700 });
    writeFileSync(join(folder, "secret"), webhookSecret, { mode: 0o600 });
    const waitsAfter = (deaths: number) => waits(Math.ceil((items * (deaths + 1)) / (lives + 2)));
    waitsAfter(0);
    for (const [nth, moment] of at.entries()) {
      await start(moment).exited;
      waitsAfter(nth + 1);
    }
    for (let nth = 1; nth <= kills; nth++) {
      const running = start();
      // Sometimes before it serves, sometimes amid its work.
      if (random() < 0.8) {
        const before = read();
        await until("a delivery", () => read() > before || running.exitCode !== null, 60_000);
      }
      await randomMoment(random, options.longestLifeMs);
      running.kill("SIGKILL");
      await running.exited;
      waitsAfter(at.length + nth);
    }
    start();
    waits(items);
    await until("the last item", () => read() === items, Math.max(40_000, items * 60));
    const store = join(folder, "outbox", "deliveries.sqlite");
    const left = () => {
      const listing = openDeliveriesForReading(store);
      try {
        return listing.list({ limit: 1, state: "pending" }).deliveries.length;
      } finally {
        listing.close();
      }
    };
    await until("an outbox without pending deliveries", () => left() === 0, 60_000);
    read();
  } catch (error) {
    throw new Error(`${String(error)}; ${ids.size} of ${items} came; ${complaints}`);
  } finally {
    child?.kill("SIGKILL");
    await child?.exited;
    rmSync(folder, { recursive: true, force: true });
  }
  const several = [...ids].filter(([, found]) => found.size > 1).map(([id]) => `${id} came with several ids`);
  const missing = items - ids.size;
  return {
    wrong: [...several, ...(missing > 0 ? [`${missing} items never came`] : [])],
    figures: {
      items,
      kills: lives,
      received,
      repeated: received - ids.size,
      seconds: Math.round((performance.now() - begunMs) / 100) / 10,
    },
  };
}
