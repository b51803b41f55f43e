import { openDeliveriesForReading } from "../../../db/coordinator/delivery-listing.ts";
import { type DeliveryStore, openDeliveryStore } from "../../../db/coordinator/delivery-store.ts";
import type { DeliveryList, DeliveryQuery } from "../../../protocol/delivery.ts";
import { childPath } from "../../../system/contained-path.ts";
import { sha256 } from "../../../system/digest.ts";
import { messageOf } from "../../../system/errors.ts";
import type { Files } from "../../../system/files.ts";
import { createLoop, type Lifecycle } from "../../../system/lifecycle.ts";
import type { Locks } from "../../../system/locks.ts";
import type { Steps } from "../../../system/steps.ts";
import { refuseExposed } from "../../sessions/trust.ts";
import { createOutbox, type OutboxDeps } from "./outbox.ts";
import { createRuleSource } from "./rules.ts";
import { createSend, type SendDeps } from "./send.ts";

/**
 * The outbox of the agents of one registry: several coordination servers of a user send each item once. Pure.
 */
export function deliveryPaths(stateRoot: string, registryRoot: string) {
  const folder = childPath(stateRoot, "deliveries", sha256(registryRoot).slice(0, 16));
  return {
    folder,
    store: childPath(folder, "deliveries.sqlite"),
    lock: childPath(folder, "deliveries.lock"),
  };
}

type DeliveryPaths = ReturnType<typeof deliveryPaths>;

const lockAgainMs = 5000;

export interface Delivery extends Lifecycle {
  list(query: DeliveryQuery): DeliveryList;
}

/**
 * Deliveries of one coordination server. Does nothing while there is no rule file at the start; of several
 * servers one sends, and another one takes over when it ends.
 */
export function createDelivery(
  deps: SendDeps &
    Pick<OutboxDeps, "attention" | "log"> & {
      files: Files;
      locks: Locks;
      steps: Steps;
      paths: DeliveryPaths;
    },
): Delivery {
  const { files, clock, paths, log } = deps;
  let running: { store: DeliveryStore; outbox: Lifecycle; lock: { release(): void } } | null = null;

  async function turn(): Promise<number | null> {
    if (running) return null;
    files.ensureDirectory("file:delivery-folder", paths.folder);
    refuseExposed(files, paths.folder, "the folder of deliveries");
    const lock = deps.locks.tryTake(paths.lock);
    if (!lock) return lockAgainMs;
    try {
      const store = openDeliveryStore({
        path: paths.store,
        clock,
        steps: deps.steps,
        makeId: () => `dlv_${deps.ids.hex(16)}`,
      });
      const rules = createRuleSource({
        files,
        path: deps.rulesFile,
        onProblem: (problem) => log("nothing is delivered", { problem }),
      });
      const outbox = createOutbox({ ...deps, store, rules, send: createSend(deps) });
      outbox.start();
      running = { store, outbox, lock };
      return null;
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  const loop = createLoop({
    clock,
    turn,
    retryMs: lockAgainMs,
    onError: (error) => log("nothing is delivered", { problem: messageOf(error) }),
  });

  return {
    start() {
      if (files.exists(deps.rulesFile)) loop.start();
    },
    async stop() {
      await loop.stop();
      const ended = running;
      running = null;
      await ended?.outbox.stop();
      ended?.store.close();
      ended?.lock.release();
    },
    list: (query) => (running ? running.store.list(query) : listDeliveries(files, paths, query)),
  };
}

/** The deliveries in the file, also while a server writes it. */
export function listDeliveries(
  files: Pick<Files, "exists">,
  paths: DeliveryPaths,
  query: DeliveryQuery,
): DeliveryList {
  if (!files.exists(paths.store)) return { schema_version: 1, deliveries: [], next_before: null };
  const store = openDeliveriesForReading(paths.store);
  try {
    return store.list(query);
  } finally {
    store.close();
  }
}
