import { Database } from "bun:sqlite";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createSimHost } from "./sim-host.ts";
import { createSimWorld } from "./sim-world.ts";

// One prompt from `POST /v1/requests` to `turn_ended` in a simulated world, whose terminal, disk and clock
// never vary. Writes the functions that ran, each once, in the order of their first call. Preload
// walk-instrument.ts.

declare global {
  var notedCall: ((name: string) => void) | undefined;
}

const world = createSimWorld({ seed: 1 });
const host = await createSimHost({
  world,
  name: "walker",
  index: 0,
  dice: world.dice.fork("walker"),
  script: () => ({ schema_version: 1, seed: 1, mail_rounds: false, hostile: {} }),
  onMailRound: () => {},
});

function runUntil(wanted: () => boolean): void {
  for (let step = 0; !wanted(); step++) {
    if (step > 3000 || world.failure() !== null) throw new Error(`it never came: ${world.failure()}`);
    world.clock.runUntil(world.clock.nowMs() + 10);
  }
}

void host.startGateway();
runUntil(() => host.gateway() !== null);
world.clock.runUntil(world.clock.nowMs() + 5000);

const stored = new Database(sessionPaths(host.sessionRoot).queue, { readonly: true });
const evidence = () =>
  stored.query<{ evidence_json: string }, []>("SELECT evidence_json FROM gateway_requests").get()
    ?.evidence_json ?? "";
const ran = new Set<string>();
globalThis.notedCall = (name) => void ran.add(name);
void host.gateway()?.client.call("submitRequest", {
  body: { kind: "submit_prompt", payload: { prompt: "walk" } },
});
runUntil(() => evidence().includes('"turn_ended"'));
globalThis.notedCall = undefined;
process.stdout.write(`${JSON.stringify([...ran])}\n`);
process.exit(0);
