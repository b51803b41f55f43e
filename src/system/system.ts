import { type Clock, createClock } from "./clock.ts";
import { createFiles, type Files } from "./files.ts";
import { createIds, type Ids } from "./ids.ts";
import { createLocks, type Locks } from "./locks.ts";
import { createNetwork, type Network } from "./network.ts";
import { createProcesses, type Processes } from "./processes.ts";
import { quietSteps, type Steps } from "./steps.ts";
import { createFolderWatch, type FolderWatch } from "./watch.ts";

/** All access to the outside world, created by a composition root. */
export interface System {
  clock: Clock;
  ids: Ids;
  files: Files;
  locks: Locks;
  network: Network;
  processes: Processes;
  steps: Steps;
  watch: FolderWatch;
}

export function createSystem(steps: Steps = quietSteps): System {
  const clock = createClock();
  const ids = createIds();
  return {
    clock,
    ids,
    files: createFiles({ ids, steps }),
    locks: createLocks({ clock }),
    network: createNetwork(),
    processes: createProcesses({ steps }),
    steps,
    watch: createFolderWatch(),
  };
}
