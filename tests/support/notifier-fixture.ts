import { type NotifierStore, notifierStoreOn } from "../../src/db/gateway/notifier-store.ts";
import { openGatewayDatabase } from "../../src/db/gateway/request-store.ts";
import type { NotifierUpdate } from "../../src/protocol/notifier.ts";
import type { Readiness } from "../../src/services/agent/agent.ts";
import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import type { BeforeWake } from "../../src/services/notifier/decide.ts";
import { createNotifier, type Notifier } from "../../src/services/notifier/notifier.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { createFakeAgent } from "./fake-agent.ts";
import { createFakeClock, type FakeClock, settle } from "./fake-clock.ts";
import { createFakeMail } from "./fake-mailbox.ts";

export const ready: Readiness = { ready: true };
export const notReady: Readiness = { ready: false, code: "not_ready", detail: "turn.phase=active" };

export interface NotifierFixture extends AsyncDisposable {
  clock: FakeClock;
  mail: ReturnType<typeof createFakeMail>;
  store: NotifierStore;
  notifier: Notifier;
  prompts: string[];
  tended: BeforeWake[];
  world: {
    readiness: Readiness;
    admission: "open" | "blocked_unavailable";
    execution: "idle" | "running";
    /** Who types into the terminal. */
    typist: string | null;
    depth: number;
    degraded: string | null;
    /** The result of a maintenance of the context; null is well. */
    problem: string | null;
    /** Of a budget that holds. */
    budget: string | null;
    binding: string | null;
    refuse: Error | null;
    /** What the disk says to the row of a poll. */
    unrecorded: Error | null;
    /** Runs while the context is tended. */
    onMaintenance: () => void;
  };
  /** A message for the agent. */
  arrive(subject?: string): Promise<void>;
  inbox: Mailbox;
  /** How often a poll opened the mailbox. */
  opened(): number;
}

/** A notifier over a mailbox in memory and a real database, started, and the world that it looks at. */
export function createNotifierFixture(
  update: NotifierUpdate | null = { interval_seconds: 60 },
): NotifierFixture {
  const clock = createFakeClock();
  const mail = createFakeMail({ clock });
  const inbox = mail.open("worker@svc.localhost");
  const sender = mail.open("sender@svc.localhost");
  const steps = {
    ...quietSteps,
    before(label: string) {
      if (label === "sql:notifier-poll" && world.unrecorded) throw world.unrecorded;
    },
  };
  const database = openGatewayDatabase({ path: ":memory:", clock, steps });
  const store = notifierStoreOn(database);
  const prompts: string[] = [];
  const tended: BeforeWake[] = [];
  let opened = 0;
  const world: NotifierFixture["world"] = {
    readiness: ready,
    admission: "open",
    execution: "idle",
    typist: null,
    depth: 0,
    degraded: null,
    problem: null,
    budget: null,
    binding: null,
    refuse: null,
    unrecorded: null,
    onMaintenance: () => {},
  };
  const notifier = createNotifier({
    store,
    clock,
    agent: {
      tool: "codex",
      readiness: () => world.readiness,
      // Only the diagnostic of the record is looked at.
      terminal: {
        ...createFakeAgent().terminal,
        state: () =>
          ({
            chat_context_diagnostic: world.degraded && { degraded_error_type: world.degraded },
          }) as never,
      },
    },
    queue: {
      async acceptNotice(prompt) {
        if (world.refuse) throw world.refuse;
        prompts.push(prompt);
        return { request_id: `gwreq-${prompts.length}` };
      },
    },
    board: {
      status: () =>
        ({
          request_admission: world.admission,
          active_execution: world.execution,
          queue_depth: world.depth,
          ...(world.typist === null ? {} : { typing_lease: { holder: world.typist } }),
          ...(world.budget === null ? {} : { budget: { level: "hold", detail: world.budget } }),
        }) as never,
    },
    mail: {
      current() {
        opened += 1;
        if (world.binding !== null) throw new Error(world.binding);
        return inbox;
      },
      supported: () => ({ supported: world.binding === null, error: world.binding, remedy: null }),
      onArrival: (listener) => inbox.onArrival(listener),
    },
    context: {
      compactUnsupported: () => null,
      async tend(action) {
        tended.push(action);
        world.onMaintenance();
        return world.problem;
      },
    },
    baseUrl: () => "http://127.0.0.1:4000",
    skillInstalled: () => false,
    log: { line: () => {} },
    onChange: () => {},
  });
  if (update) notifier.update(update);
  notifier.start();
  return {
    clock,
    mail,
    store,
    notifier,
    prompts,
    tended,
    world,
    inbox,
    opened: () => opened,
    async arrive(subject = "hello") {
      await sender.send({
        to: ["worker@svc.localhost"],
        cc: [],
        subject,
        body: "do it",
        attachments: [],
        notifyBlock: null,
        notifyAuth: null,
      });
      await settle();
    },
    async [Symbol.asyncDispose]() {
      await notifier.stop();
      database.close();
    },
  };
}

/** Newest last. */
export const outcomes = ({ notifier }: NotifierFixture) =>
  notifier
    .audit({ limit: 1000 })
    .rows.map((row) => `${row.trigger} ${row.outcome}`)
    .reverse();
