import { Database } from "bun:sqlite";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { coordinatorOpenApi, gatewayOpenApi } from "../../src/routes/openapi/documents.ts";
import { createCoordinatorBundle } from "../support/coordinator-bundle.ts";
import { settle } from "../support/fake-clock.ts";
import { giveTerminal } from "../support/fake-terminal.ts";
import { giveTurns } from "../support/fake-turns.ts";
import { createFilesystemMail } from "../support/filesystem-mail.ts";
import { createGatewayBundle, type GatewayBundle } from "../support/gateway-bundle.ts";
import { everything } from "../support/mail-story.ts";
import { createScratch } from "../support/scratch.ts";
import type { Document } from "./calls.ts";

/** One app that is called, and all that a call could change. */
export interface FuzzWorld extends AsyncDisposable {
  fetch(request: Request): Promise<Response>;
  /** Lets what was begun come to its end, also what a mailbox puts off until it is next looked at. */
  rest(): Promise<void>;
  /** Equal texts: nothing was changed between them. */
  digest(): string;
  /** What was written for people and programs to read later. */
  written(): string;
  /** What was unforeseen. */
  faults(): readonly unknown[];
  /** Values that callers may know beforehand, by name. */
  known: Record<string, string[]>;
}

export interface FuzzTarget {
  name: string;
  document: Document;
  token: string | null;
  open(): FuzzWorld;
}

const token = "token-5c2a9d17e4";

/** Counts the transactions that others committed to a database. */
function watchDatabase(path: string): { changes: () => unknown; close: () => void } {
  const reader = new Database(path, { readonly: true });
  const changes = reader.query("PRAGMA data_version");
  return {
    changes: () => changes.get(),
    close() {
      changes.finalize();
      reader.close();
    },
  };
}

function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => !/-(?:wal|shm)$|\/locks\//.test(name))
    .sort()
    .map((name) => `${name} ${statSync(join(folder, name)).size}`)
    .join("\n");
}

const agentFacts = ({ agent, reminders, events, queue, board }: GatewayBundle) => [
  agent.prompts.length,
  agent.keysSent.length,
  agent.interrupts,
  agent.withdrawn.length,
  reminders
    .list()
    .reminders.map(({ reminder_id, title, ranking, paused }) => [reminder_id, title, ranking, paused]),
  // A refusal of a direct prompt is told to whoever follows the events, and is no change.
  events.filter(({ kind }) => kind !== "control_prompt_refused").length,
  queue.depth(),
  board.status(),
];

/** A gateway whose queue and mail are on disk. `headless`: its agent has turns instead of a terminal. */
function openGateway(options: { headless: boolean; token?: string }): FuzzWorld {
  const scratch = createScratch();
  // A notifier that a call enabled would look at its mail while a later call is judged.
  const mail = createFilesystemMail({ rings: false });
  const bundle = createGatewayBundle({
    path: scratch.path("queue.sqlite"),
    mail,
    ...(options.token === undefined ? {} : { token: options.token }),
  });
  const terminal = options.headless ? null : giveTerminal(bundle.agent);
  if (options.headless) giveTurns(bundle.agent);
  const databases = readdirSync(mail.root, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".sqlite") && !name.includes("locks"))
    .map((name) => join(mail.root, name));
  let lastSeen = "";
  const mailChanges = () =>
    JSON.stringify([watched.slice(1).map(({ changes }) => changes()), filesBelow(mail.root)]);
  const watched = [scratch.path("queue.sqlite"), ...databases].map(watchDatabase);
  return {
    fetch: async (request) => bundle.app.fetch(request),
    async rest() {
      await settle();
      const seen = mailChanges();
      if (seen === lastSeen) return;
      for (const name of ["worker", "other"]) {
        await mail.open(`${name}@svc.localhost`).list(everything);
      }
      mail.putOnDisk();
      await settle();
      lastSeen = mailChanges();
    },
    digest: () =>
      JSON.stringify([
        watched.map(({ changes }) => changes()),
        filesBelow(mail.root),
        agentFacts(bundle),
        terminal?.noted.length,
      ]),
    written: () => JSON.stringify([bundle.logged, bundle.events]),
    faults: () => bundle.faults,
    known: { turn_id: ["turn-1", "turn-9"] },
    async [Symbol.asyncDispose]() {
      for (const { close } of watched) close();
      await bundle[Symbol.asyncDispose]();
      mail[Symbol.dispose]();
      scratch[Symbol.dispose]();
    },
  };
}

function openCoordinator(): FuzzWorld {
  const bundle = createCoordinatorBundle();
  const { gateway, terminal, launched } = bundle;
  const acts = () =>
    bundle.asked.filter((one) => !Array.isArray(one) && typeof one !== "string").length +
    bundle.asked.filter((one) => one === "shutdown").length;
  return {
    fetch: async (request) => bundle.app.fetch(request),
    rest: settle,
    digest: () => JSON.stringify([acts(), launched.length, terminal.noted.length, agentFacts(gateway)]),
    written: () => JSON.stringify([gateway.logged, gateway.events]),
    faults: () => [...bundle.faults, ...gateway.faults],
    known: {
      agent_ref: ["worker", "worker", "worker", "batch", "batch", "bare", "twin", "nobody"],
      turn_id: ["turn-1"],
    },
    [Symbol.asyncDispose]: () => bundle[Symbol.asyncDispose](),
  };
}

const gatewayDocument = gatewayOpenApi() as unknown as Document;

export const fuzzTargets: FuzzTarget[] = [
  {
    name: "the gateway of a terminal agent",
    document: gatewayDocument,
    token: null,
    open: () => openGateway({ headless: false }),
  },
  {
    name: "the gateway of a headless agent, with a token",
    document: gatewayDocument,
    token,
    open: () => openGateway({ headless: true, token }),
  },
  {
    name: "the coordination server",
    document: coordinatorOpenApi() as unknown as Document,
    token: null,
    open: openCoordinator,
  },
];
