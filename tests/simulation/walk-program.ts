import { Database } from "bun:sqlite";
import { sessionPaths } from "../../src/services/sessions/roots.ts";
import { createSimHost, type SimHost } from "./sim-host.ts";
import { createSimWorld } from "./sim-world.ts";

// What one prompt or one mail runs through in a simulated world, whose terminals, disk and clock never vary:
// `prompt` from `POST /v1/requests` to `turn_ended`; `mail` from `POST /v1/mail/send` to `turn_ended` of the
// prompt that wakes the recipient. Writes the functions that ran, each once, in the order of their first call.
// Preload walk-instrument.ts.

declare global {
  var notedCall: ((name: string) => void) | undefined;
}

const subject = process.argv[2];
const world = createSimWorld({ seed: 1 });

const createHost = (name: string, index: number) =>
  createSimHost({
    world,
    name,
    index,
    dice: world.dice.fork(name),
    script: () => ({ schema_version: 1, seed: 1, mail_rounds: false, hostile: {} }),
    onMailRound: () => {},
  });

function runUntil(isOver: () => boolean): void {
  for (let step = 0; !isOver(); step++) {
    if (step > 6000 || world.failure() !== null) throw new Error(`it never came: ${world.failure()}`);
    world.clock.runUntil(world.clock.nowMs() + 10);
  }
}

function startGatewayOf(host: SimHost): void {
  void host.startGateway();
  runUntil(() => host.gateway() !== null);
  world.clock.runUntil(world.clock.nowMs() + 5000);
}

/** Of the one request of `host`. */
function hasEnded(host: SimHost): () => boolean {
  const stored = new Database(sessionPaths(host.sessionRoot).queue, { readonly: true });
  const evidence = stored.query<{ evidence_json: string }, []>("SELECT evidence_json FROM gateway_requests");
  return () => evidence.get()?.evidence_json.includes('"turn_ended"') ?? false;
}

// Nothing may be awaited once time passes: a world passes in one turn of the event loop.
const walker = await createHost("walker", 0);
const reader = subject === "mail" ? await createHost("reader", 1) : null;
startGatewayOf(walker);
let act: () => unknown;
let isOver: () => boolean;
if (subject === "prompt") {
  act = () =>
    walker.gateway()?.client.call("submitRequest", {
      body: { kind: "submit_prompt", payload: { prompt: "walk" } },
    });
  isOver = hasEnded(walker);
} else if (reader !== null) {
  startGatewayOf(reader);
  void reader.gateway()?.client.call("updateNotifier", {
    body: { schema_version: 1, enabled: true, interval_seconds: 30 },
  });
  world.clock.runUntil(world.clock.nowMs() + 5000);
  act = () =>
    walker.gateway()?.client.call("mailSend", {
      body: { to: [reader.address], subject: "walk", body_content: "text" },
    });
  isOver = hasEnded(reader);
} else throw new Error("say prompt or mail");

const calls = new Set<string>();
globalThis.notedCall = (name) => void calls.add(name);
void act();
runUntil(isOver);
globalThis.notedCall = undefined;
process.stdout.write(`${JSON.stringify([...calls])}\n`);
process.exit(0);
