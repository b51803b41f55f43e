import type { Clock } from "../../../system/clock.ts";
import type { Files } from "../../../system/files.ts";
import type { Ids } from "../../../system/ids.ts";
import type { Locks } from "../../../system/locks.ts";
import type { Steps } from "../../../system/steps.ts";
import type { FolderWatch } from "../../../system/watch.ts";

/** What a mailbox root needs of the system: a `System` with its `Locks` has it. */
export interface MailRootDeps {
  files: Files;
  clock: Clock;
  ids: Ids;
  steps: Steps;
  locks: Locks;
  watch: FolderWatch;
  /** Reports the state of a mailbox that was lost and has been rebuilt. */
  onMended?: (what: string) => void;
  /** Reports a fault that mail goes on without: once, until it is over. */
  onFault?: (what: string) => void;
}
