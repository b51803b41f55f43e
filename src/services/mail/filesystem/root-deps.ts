import type { Clock } from "../../../system/clock.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import type { Locks } from "../../../system/locks.ts";
import type { Steps } from "../../../system/steps.ts";
import type { FolderWatch } from "../../../system/watch.ts";

/** The doors a mailbox root needs: a `System` and its `Locks` have them all. */
export interface MailRootDeps {
  files: Files;
  clock: Clock;
  ids: Ids;
  steps: Steps;
  locks: Locks;
  watch: FolderWatch;
  /** Told what was found wrong and mended on the way, for the log or the person at the terminal. */
  onMended?: (what: string) => void;
}
