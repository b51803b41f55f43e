import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TerminalState } from "../../src/protocol/terminal.ts";
import { createEventLog } from "../../src/services/diagnostics/event-log.ts";
import {
  type Batch,
  createEncoder,
  type Item,
} from "../../src/services/extensions/observe/recorder/encoder.ts";
import { openRecorder } from "../../src/services/extensions/observe/recorder/open-recorder.ts";
import { readCast, readMoment } from "../../src/services/extensions/observe/recorder/reader.ts";
import { toRecordedTerminal } from "../../src/services/extensions/observe/recorder/recorded-facts.ts";
import { saveRecorderWish } from "../../src/services/extensions/observe/recorder/recorder-control.ts";
import { nothingKnown } from "../../src/services/extensions/observe/recorder/records.ts";
import { segmentName } from "../../src/services/extensions/observe/recorder/segments.ts";
import { followPane } from "../../src/services/terminal/tmux/pane-stream.ts";
import { createFakeAgent } from "../support/fake-agent.ts";
import { giveTerminal } from "../support/fake-terminal.ts";
import { type Bench, durationRows, percentile, type Row, withLimit } from "./bench.ts";
import { openRequest, timeToOutput } from "./deliver.bench.ts";
import { effort } from "./effort.ts";
import { type BenchFixture, createBenchFixture, type ServedGateway } from "./fixture.ts";
import { measureEdges } from "./state.bench.ts";

const records = effort(10_000_000, 200_000);
const moments = effort(400, 50);
const deliveries = effort(30, 3);
const edges = effort(16, 2);
const segmentBytes = 1024 * 1024;

/**
 * Any moment of a recording of ten million records; and deliveries and states with the recorder on, beside
 * the same with it off, in turns.
 */
const bench: Bench = {
  name: "recorder",
  async run() {
    await using fixture = await createBenchFixture();
    return [
      ...measureMoments(fixture),
      ...(await measureDeliveries(fixture)),
      ...(await measureStates(fixture)),
    ];
  },
};

export default bench;

const agentName = "worker";

function measureMoments(fixture: BenchFixture): Row[] {
  const gatewayRoot = mkdtempSync(join(fixture.tmux.folder, "recorded-"));
  mkdirSync(join(gatewayRoot, "recordings"), { mode: 0o700 });
  const startedMs = performance.now();
  const { fromMs, untilMs, bytes, segments } = writeRecording(gatewayRoot);
  const writing = performance.now() - startedMs;
  const { files } = fixture.tmux;
  const found = { moment: [] as number[], screen: [] as number[] };
  for (let count = 0; count < moments; count++) {
    const atMs = Math.floor(fromMs + Math.random() * (untilMs - fromMs));
    const begunMs = performance.now();
    const moment = readMoment(files, gatewayRoot, { atMs, nowMs: untilMs, agentName });
    found.moment.push(performance.now() - begunMs);
    const lookedMs = performance.now();
    const cast = readCast(files, gatewayRoot, { fromMs: atMs, untilMs: atMs, agentName });
    const screen = cast.events.next();
    found.screen.push(performance.now() - lookedMs);
    // What is found must be of that moment, or the time says nothing.
    if (Math.abs(Date.parse(moment.recorded_at_utc) - atMs) > 1000 || moment.terminal === null || screen.done)
      throw new Error(`the moment ${atMs} was not found: ${JSON.stringify(moment).slice(0, 300)}`);
  }
  rmSync(gatewayRoot, { recursive: true, force: true });
  return [
    { metric: "records", value: records, unit: "" },
    { metric: "segments", value: segments, unit: "" },
    { metric: "recording_mb", value: bytes / 1e6, unit: "MB" },
    { metric: "record_us", value: (writing / records) * 1000, unit: "us" },
    ...durationRows("moment", found.moment),
    { metric: "moment_max_ms", value: Math.max(...found.moment), unit: "ms" },
    ...durationRows("screen", found.screen),
    { metric: "screen_max_ms", value: Math.max(...found.screen), unit: "ms" },
  ];
}

/** As a recorder writes it: of a hundred records 60 are output, the others events, choices and states. */
function writeRecording(gatewayRoot: string) {
  const fromMs = Date.UTC(2026, 10, 1);
  const encoder = createEncoder({ title: "bench", known: nothingKnown });
  const { state: busy } = giveTerminal(createFakeAgent());
  const states = [busy, { ...busy, turn: { phase: "active" } } as TerminalState].map((state) =>
    toRecordedTerminal(state, true),
  );
  let t = fromMs;
  let bytes = 0;
  let segments = 0;
  let inSegment = 0;
  let current = { number: 0, startMs: 0 };
  const put = (batch: Batch) => {
    if (batch.begins !== null) {
      segments += 1;
      inSegment = 0;
      current = { number: segments, startMs: batch.begins.startMs };
    }
    for (const [kind, text] of [
      ["jsonl", batch.records],
      ["cast", batch.cast],
    ] as const) {
      if (text !== "") appendFileSync(join(gatewayRoot, "recordings", segmentName(current, kind)), text);
      inSegment += text.length;
      bytes += text.length;
    }
  };
  const blocks = Math.ceil(records / 1000);
  for (let block = 0; block < blocks; block++) {
    const items: Item[] = [{ is: "picture", width: 120, height: 36, gap: null, t }];
    if (inSegment > 0 && inSegment < segmentBytes) items.pop();
    for (let nth = 0; nth < 1000; nth++) items.push(itemOf(block * 1000 + nth, t++, states));
    for (const batch of encoder.encode(items, { rotate: items[0]?.is === "picture" ? "at_picture" : "no" }))
      put(batch);
  }
  // The first of the states is among the first hundred records: before it a moment has none.
  return { fromMs: fromMs + 100, untilMs: t, bytes, segments };
}

const line = Buffer.from("\x1b[12;1H\x1b[38;5;245m· Reading the next file of the project\x1b[0m\x1b[K ");

function itemOf(nth: number, t: number, states: readonly ReturnType<typeof toRecordedTerminal>[]): Item {
  const place = nth % 100;
  if (place < 60) return { is: "output", bytes: line, t };
  const at_utc = new Date(t).toISOString();
  const request_id = `gwreq-${Math.floor(nth / 100)}`;
  if (place === 60) {
    const event = { seq: nth, kind: "accepted", at_utc, request_id, request_kind: "submit_prompt" };
    return { is: "record", record: { k: "event", event }, t };
  }
  if (place === 99) {
    const event = { seq: nth, kind: "completed", at_utc, request_id };
    return { is: "record", record: { k: "event", event }, t };
  }
  const terminal = states[place % 2];
  if (place % 20 === 0 && terminal) return { is: "record", record: { k: "terminal", terminal }, t };
  const event = {
    seq: nth,
    kind: "request_evidence",
    at_utc,
    request_id,
    step: "echo_seen",
    proof: "the composer shows it",
  };
  return { is: "record", record: { k: "event", event }, t };
}

/** The same prompt to two agents in turns, one of which is recorded. */
async function measureDeliveries(fixture: BenchFixture): Promise<Row[]> {
  const durations: Record<"on" | "off", number[]> = { on: [], off: [] };
  const contestants = await Promise.all(
    (["on", "off"] as const).map(async (name) => {
      const agent = await fixture.launch(name);
      if (name === "on") saveRecorderWish(fixture.world.files, agent.sessionRoot, { enabled: true });
      const gateway = await agent.serve();
      const seen = await fixture.tmux.control(agent.manifest.tmux_session_name);
      return { name, agent, gateway, seen };
    }),
  );
  for (let round = -2; round < deliveries; round++) {
    for (const { name, agent, gateway, seen } of round % 2 === 0 ? contestants : contestants.toReversed()) {
      await gateway.whenReady();
      await using request = await openRequest(gateway.baseUrl);
      const duration = await timeToOutput(seen, agent.paneId, request.send);
      if (round >= 0) durations[name].push(duration);
    }
  }
  const [recorded] = contestants;
  if (recorded) await checkRecorded(recorded.gateway);
  return durationRows((p) => `deliver_${p}_ms`, durations.on, durations.off);
}

/** Both would be the same without a recorder. */
async function checkRecorded({ baseUrl }: ServedGateway): Promise<void> {
  const reply = await fetch(`${baseUrl}/v1/recorder`, { proxy: false } as RequestInit);
  const status = (await reply.json()) as { recording: boolean; bytes: number };
  if (!status.recording || status.bytes === 0) throw new Error(`not recorded: ${JSON.stringify(status)}`);
}

/** The same agent in turns with a recorder beside its tracker and without. */
async function measureStates(fixture: BenchFixture): Promise<Row[]> {
  const agent = await fixture.launch("watched");
  const { files, clock } = fixture.tmux;
  const of = {
    on: { busy: [] as number[], ready: [] as number[] },
    off: { busy: [] as number[], ready: [] as number[] },
  };
  const isOn = (round: number) => round % 2 === 0;
  await measureEdges(fixture, agent, {
    rounds: edges * 2,
    into: (round) => (isOn(round) ? of.on : of.off),
    async around({ tracker, control, round }) {
      if (!isOn(round)) return async () => {};
      const log = { line: (text: string) => console.error(text) };
      const path = join(agent.sessionRoot, "gateway", "bench-events.jsonl");
      const recorder = openRecorder(
        {
          files,
          clock,
          log,
          sessionRoot: agent.sessionRoot,
          agentName: "watched",
          tracked: true,
          events: createEventLog({ files, clock, path, onError: console.error }),
          slot: { onDecision: () => () => {} },
          terminal: {
            state: tracker.state,
            subscribe: tracker.subscribe,
            pane: (signal) =>
              followPane({ control, clock, paneId: tracker.paneId, signal, overpaint: false }),
          },
          queue: { depth: () => 0, list: () => [] },
        },
        {
          gatewayRoot: join(agent.sessionRoot, "gateway"),
          limits: { maxBytes: 256 * 2 ** 20, maxAgeMs: 7 * 86_400_000 },
        },
      );
      recorder.start();
      return () => recorder.stop();
    },
  });
  return (["busy", "ready"] as const).flatMap((kind) => [
    ...durationRows((p) => `${kind}_edge_${p}_ms`, of.on[kind], of.off[kind]),
    withLimit(
      { metric: `${kind}_edge_p90_ms`, value: percentile(of.on[kind], 0.9), unit: "ms" },
      percentile(of.off[kind], 0.9),
    ),
  ]);
}
