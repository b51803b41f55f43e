import { openGatewayDatabase, requestStoreOn } from "../../src/db/gateway/request-store.ts";
import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { createTerminalAgent } from "../../src/services/agent/terminal-agent.ts";
import { demoSignature } from "../../src/services/demo/signature.ts";
import { createQueue, type Queue } from "../../src/services/queue/queue.ts";
import { createExecutionSlot } from "../../src/services/queue/slot.ts";
import { profileFor } from "../../src/services/terminal/profiles/profile.ts";
import { failingFacts } from "../../src/services/terminal/readiness.ts";
import { createControlConnection } from "../../src/services/terminal/tmux/control.ts";
import { createExclusivePane } from "../../src/services/terminal/tmux/exclusive-pane.ts";
import { createTracker } from "../../src/services/terminal/tracker.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createHostileReporter, type ReportShape } from "../support/hostile-reporter.ts";
import { sampleManifest } from "../support/session-samples.ts";
import { createDice, type Dice } from "./dice.ts";
import { createSimClock, type SimClock } from "./sim-clock.ts";
import { createSimPane, type SimPane } from "./sim-pane.ts";
import type { SimSession } from "./sim-session.ts";
import { createSimTmux } from "./sim-tmux.ts";

export interface HostileRun {
  seed: number;
  turns: number;
  shape: ReportShape;
  /** Nothing is reported at all. */
  silent?: boolean;
}

export interface HostileResult {
  violations: string[];
  /** Prompts by the state of their request; `unknown`: failed because the gateway died while it typed. */
  completed: number;
  unknown: number;
  otherwise: string[];
  submittedOnce: boolean;
  restarts: number;
  /** How often the agent was ready by a report alone. */
  readyByTool: number;
  /** Prompts whose submission a report proved. */
  provedByTool: number;
  /** Of the simulated world. */
  seconds: number;
}

/** The longest time for which the screen hides a turn that runs. */
const hiddenMs = 600;

/**
 * A scripted agent with a real tracker and queue beside it, whose tool reports of itself what it likes. Pure
 * but for time.
 */
export function runHostileReports({ seed, turns, shape, silent = false }: HostileRun): HostileResult {
  const dice = createDice(seed);
  const violations: string[] = [];
  const clock = createSimClock((error) => violations.push(`thrown: ${error}`));
  const wall = clock.view(() => true);
  const truth = {
    running: null as string | null,
    submitted: new Map<string, number>(),
    ends: new Map<string, number>(),
  };
  const violate = (what: string) => violations.push(`${Math.round(clock.nowMs())} ms: ${what}`);

  const spool = createSpool();
  const reporter = createHostileReporter({
    nowMs: wall.nowMs,
    dice: dice.fork("reports"),
    shape,
    deliver: (report, delayMs) => {
      if (!silent) clock.after(delayMs, () => spool.append(report));
    },
  });
  const tmux = createSimTmux({
    clock,
    dice: dice.fork("tmux"),
    onLook: () => {},
    onTyped(_, typed) {
      if (typed.kind === "paste" && truth.running !== null)
        violate(`${typed.text} was typed into a running turn`);
    },
  });
  const pane = createFlickeringPane({
    clock,
    dice: dice.fork("screen"),
    onOutput: () => tmux.output(),
    onLog(record) {
      if (record.kind === "submitted" && !record.command) {
        truth.running = record.text;
        truth.submitted.set(record.text, (truth.submitted.get(record.text) ?? 0) + 1);
        reporter.submitted(record.text);
      }
      if (record.kind === "turn_ended") {
        truth.ends.set(truth.running ?? "", wall.nowMs());
        reporter.ended(truth.running ?? "", record.result === "error" ? "turn_failed" : "turn_ended");
        truth.running = null;
      }
    },
  });
  tmux.setSession(sessionOf(pane));
  const store = requestStoreOn(openGatewayDatabase({ path: ":memory:", clock: wall, steps: quietSteps }));
  const ids = createIds();
  let restarts = 0;
  let readyByTool = 0;
  let gateway = startGateway(1);

  function startGateway(number: number) {
    let alive = true;
    const ends: (() => void)[] = [];
    const view = clock.view(() => alive);
    const processes = tmux.processesOf({
      pid: 900 + number,
      alive: () => alive,
      onEnd: (listener) => void ends.push(listener),
    });
    const log = { line: () => {} };
    const profile = profileFor("demo");
    const mutex = { take: async () => () => {} };
    const control = createControlConnection({
      processes,
      clock: view,
      mutex,
      session: sessionName,
      log: () => {},
    });
    const tracker = createTracker({
      control,
      processes,
      clock: view,
      profile,
      log,
      reports: spool.source(),
      tmux: { hasSession: async () => true },
      manifest: sampleManifest({
        tmux: { sessionName, windowName: "agent", windowId: "@0", paneId: "%0", socket: null },
      }),
      sessionRoot: "/sessions/one",
    });
    tracker.subscribe((state, { before }) => {
      const { witness } = state.stability;
      if (witness === "tool" && before.stability.witness !== witness) readyByTool += 1;
      if (!alive || state.stability.witness === undefined || failingFacts(state).length > 0) return;
      if (truth.running !== null)
        violate(`called ready by the ${state.stability.witness} in the middle of a turn`);
    });
    const exclusivePane = createExclusivePane({
      control,
      mutex,
      ids,
      steps: quietSteps,
      paneId: tracker.paneId,
    });
    const agent = createTerminalAgent({
      backend: "local_interactive",
      tool: "demo",
      profile,
      view: tracker,
      exclusivePane,
      clock: view,
      log,
    });
    const queue: Queue = createQueue({
      store,
      agent,
      clock: view,
      ids,
      log,
      events: { append: () => {} } as never,
      admission: () => "open" as const,
      block: () => null,
      reconciliationRequired: () => false,
      epoch: () => 1,
      slot: createExecutionSlot(),
    });
    agent.onChange(() => queue.wake());
    control.start();
    tracker.start();
    // As the gateway does: what an earlier one left is looked for in a terminal that can be seen.
    void tracker.firstLook(5000).then(() => queue.start());
    return {
      queue,
      crash() {
        alive = false;
        spool.detach();
        for (const end of ends) end();
      },
    };
  }

  const requests: { id: string; prompt: string }[] = [];
  /** Again until it is taken: a gateway that has not looked at the terminal yet refuses. */
  const submit = (prompt: string): void => {
    gateway.queue.accept({ kind: "submit_prompt", payload: { prompt } }).then(
      (taken) => requests.push({ id: taken.request_id, prompt }),
      () => clock.after(100, () => submit(prompt)),
    );
  };
  const chaos = dice.fork("chaos");
  for (let number = 1; number <= turns; number++) {
    // The same words again and again: only ids, times and order tell those turns apart.
    const prompt = chaos.chance(0.4) ? `${again}400` : `step ${number}\nSLOW ${chaos.skewed(120, 1600)}`;
    // In the simulated loop, which is where the queue puts off its commits to.
    clock.after(0, () => submit(prompt));
    if (number % 5 !== 0) continue;
    clock.runUntil(clock.nowMs() + chaos.whole(500, 9000));
    if (!chaos.chance(0.1)) continue;
    gateway.crash();
    restarts += 1;
    clock.runUntil(clock.nowMs() + chaos.whole(1, 3000));
    gateway = startGateway(restarts + 1);
  }
  for (let idle = 0; idle < 3 && clock.nowMs() < turns * 20_000; ) {
    clock.runUntil(clock.nowMs() + 2000);
    idle = gateway.queue.depth() === 0 && truth.running === null ? idle + 1 : 0;
  }

  const records = requests.map(({ id, prompt }) => ({ prompt, record: gateway.queue.record(id) }));
  const evidence = records.flatMap(({ prompt, record }) =>
    (record?.evidence ?? []).map((one) => ({ prompt, ...one })),
  );
  for (const { prompt, step, proof, at_utc } of evidence) {
    if (step !== "turn_ended" || !proof.startsWith("the tool reported") || prompt.startsWith(again)) continue;
    if (Date.parse(at_utc) < (truth.ends.get(prompt) ?? Number.POSITIVE_INFINITY))
      violate(`${prompt} was told to be over while it ran`);
  }
  const isUnknown = (record: (typeof records)[number]["record"]) =>
    record?.result_json?.["outcome"] === "unknown";
  gateway.crash();
  return {
    violations,
    completed: records.filter(({ record }) => record?.state === "completed").length,
    unknown: records.filter(({ record }) => record?.state === "failed" && isUnknown(record)).length,
    otherwise: records
      .filter(({ record }) => record?.state !== "completed" && !isUnknown(record))
      .map(({ prompt, record }) => `${prompt}: ${record?.state} ${record?.error_detail}`),
    submittedOnce: [...new Set(requests.map(({ prompt }) => prompt))].every((prompt) => {
      const ofText = records.filter((one) => one.prompt === prompt);
      const completed = ofText.filter(({ record }) => record?.state === "completed").length;
      const times = truth.submitted.get(prompt) ?? 0;
      return completed <= times && times <= ofText.length;
    }),
    restarts,
    readyByTool,
    provedByTool: evidence.filter(
      (one) => one.step === "submitted" && one.proof.startsWith("the tool reported"),
    ).length,
    seconds: Math.round(clock.nowMs() / 1000),
  };
}

/** Begins the prompts that are given many times. */
const again = "again\nSLOW ";

const sessionName = "SVC-worker-1";

function sessionOf(pane: SimPane): SimSession {
  return {
    name: sessionName,
    id: "$1",
    created: 1,
    paneId: "%0",
    panePid: 1000,
    programPid: 1500,
    pane,
    environment: new Map(),
    inMode: false,
  };
}

function createIds() {
  let counter = 0;
  return {
    hex: (bytes: number) => (counter++).toString(16).padStart(bytes * 2, "0"),
    uuid: () => `u${counter++}`,
  };
}

/**
 * A scripted agent whose screen shows no sign of its work now and then, for up to `hiddenMs`: what a codex
 * does while an answer streams. The screen alone is not deceived by it, since it must rest for longer.
 */
function createFlickeringPane(deps: {
  clock: SimClock;
  dice: Dice;
  onOutput: () => void;
  onLog: Parameters<typeof createSimPane>[0]["onLog"];
}): SimPane {
  const { clock, dice, onOutput, onLog } = deps;
  let hides = false;
  const pane = createSimPane({
    clock,
    script: { schema_version: 1 },
    onOutput,
    onMailRound: () => {},
    onLog(record) {
      onLog(record);
      if (record.kind === "turn_started" && dice.chance(0.5)) clock.after(dice.whole(0, 400), hide);
    },
  });
  const hide = () => {
    hides = true;
    onOutput();
    clock.after(dice.whole(50, hiddenMs), () => {
      hides = false;
      onOutput();
    });
  };
  return {
    ...pane,
    frame() {
      const frame = pane.frame();
      if (!hides) return frame;
      const rows = frame.rows.map((row) => (row.includes(demoSignature.statusLabel) ? "" : row));
      return { ...frame, rows, title: demoSignature.titleReady };
    },
  };
}

/** The reports of the tool, kept while no gateway reads them. */
function createSpool() {
  let listener: ((report: ToolReport) => void) | null = null;
  let unread: ToolReport[] = [];
  return {
    append(report: ToolReport) {
      if (listener) listener(report);
      else unread.push(report);
    },
    detach() {
      listener = null;
    },
    /** As a gateway that starts reads it: what it missed comes first. */
    source: () => ({
      absence: () => null,
      subscribe(next: (report: ToolReport) => void) {
        listener = next;
        return () => {
          listener = null;
        };
      },
      start() {
        const missed = unread;
        unread = [];
        for (const report of missed) listener?.(report);
      },
      async stop() {},
    }),
  };
}
