import fc from "fast-check";
import { type Call, callsTo, operationsOf, toRequest } from "./calls.ts";
import type { FuzzTarget, FuzzWorld } from "./fuzz-worlds.ts";
import { type Answer, createOracle, type Oracle } from "./oracle.ts";
import { canary } from "./schema-values.ts";

export interface FuzzRun {
  calls: number;
  /** How often each operation was answered with each status: `submitRequest 202`. */
  statuses: Map<string, number>;
  /** What was wrong, with the request and the seed; null when nothing was. */
  failure: string | null;
}

/** How long an answer may take before it counts as none: far beyond what a loaded machine needs. */
const hangMs = 60_000;

/**
 * Calls every operation of the target with what its document asks for, with nearly that, and with anything,
 * in rounds of a fresh world each. The same seed makes the same calls. `seconds`: stops then, whatever the
 * number of rounds.
 */
export async function runFuzz(
  target: FuzzTarget,
  options: { seed: number; rounds: number; seconds?: number },
): Promise<FuzzRun> {
  const oracle = createOracle(target.document, target.token === null ? [] : [target.token]);
  const operations = operationsOf(target.document);
  const call = fc.oneof(
    ...operations.map((one) => ({
      weight: one.body === null ? 1 : 3,
      arbitrary: callsTo(one, target.document, target.token),
    })),
  );
  const run: FuzzRun = { calls: 0, statuses: new Map(), failure: null };
  const details = await fc.check(
    fc.asyncProperty(fc.array(call, { minLength: 30, maxLength: 60, size: "max" }), async (calls) => {
      await using world = target.open();
      const known = new Map(Object.entries(world.known).map(([name, values]) => [name, [...values]]));
      for (const one of calls) {
        const status = await callOnce(world, oracle, one, known);
        run.calls += 1;
        const key = `${one.operation} ${status}`;
        run.statuses.set(key, (run.statuses.get(key) ?? 0) + 1);
      }
      if (world.written().includes(canary)) throw new Error(`written down: ${around(world.written())}`);
    }),
    {
      seed: options.seed,
      numRuns: options.rounds,
      // The call that fails is told; each smaller sequence would need a world of its own.
      endOnFailure: true,
      ...(options.seconds === undefined
        ? {}
        : { interruptAfterTimeLimit: options.seconds * 1000, markInterruptAsFailure: false }),
    },
  );
  if (details.failed) {
    run.failure = `${details.errorInstance}\nwith the seed ${details.seed}`;
  }
  return run;
}

async function callOnce(
  world: FuzzWorld,
  oracle: Oracle,
  call: Call,
  known: Map<string, string[]>,
): Promise<number> {
  const look = (name: string, nth: number) => {
    const values = known.get(name) ?? [];
    return values[nth % values.length] ?? "none";
  };
  const { path, init } = toRequest(call, look);
  await world.rest();
  const before = world.digest();
  const answer = await withinBound(read(await withinBound(world.fetch(toFetchRequest(path, init)))));
  await world.rest();
  const wrong = oracle.judge({ method: call.method, path }, answer);
  const changed = world.digest() !== before;
  if (answer.status >= 400 && changed) wrong.push(`${answer.status}, and yet something changed`);
  if (["GET", "HEAD", "OPTIONS"].includes(call.method) && changed)
    wrong.push(`${call.method} changed something`);
  wrong.push(...world.faults().map((fault) => `a fault: ${fault instanceof Error ? fault.stack : fault}`));
  if (wrong.length > 0)
    throw new Error(`${wrong.join("; ")}: ${JSON.stringify({ path, ...init }).slice(0, 2000)}`);
  if (answer.status < 300) for (const [name, value] of namesIn(answer)) remember(known, name, value);
  return answer.status;
}

function toFetchRequest(path: string, init: RequestInit): Request {
  return new Request(`http://127.0.0.1:1${path}`, init);
}

/** Of a stream the first part: the rest comes when something happens. */
async function read(response: Response): Promise<Answer> {
  const { status, headers } = response;
  if (!headers.get("content-type")?.startsWith("text/event-stream")) {
    return { status, headers, text: await response.text() };
  }
  const reader = response.body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  return { status, headers, text: new TextDecoder().decode(first?.value ?? new Uint8Array()) };
}

async function withinBound<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("no answer")), hangMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ids and references in an answer, for later calls to use. */
function namesIn({ text, headers }: Answer): [string, string][] {
  if (text === "" || !headers.get("content-type")?.startsWith("application/json")) return [];
  const found: [string, string][] = [];
  JSON.parse(text, (key, value) => {
    if (typeof value === "string" && /(?:_id|_ref|Id)$/.test(key)) found.push([key, value]);
    return value;
  });
  return found;
}

function remember(known: Map<string, string[]>, name: string, value: string): void {
  const values = known.get(name) ?? [];
  if (!values.includes(value)) values.push(value);
  known.set(name, values.slice(-20));
}

function around(text: string): string {
  const at = text.indexOf(canary);
  return text.slice(Math.max(0, at - 200), at + 100);
}
