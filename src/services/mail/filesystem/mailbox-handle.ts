import type { Catalog, CatalogStore, RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { createReopeningHandle, type ReopeningHandle } from "../../../db/mailbox/reopening-handle.ts";
import { type MailboxState, openMailboxState } from "../../../db/mailbox/state.ts";
import { afterThisTurn } from "../../../system/clock.ts";
import { childPath } from "../../../system/contained-path.ts";
import { ServiceError } from "../../../system/errors.ts";
import { ensureMailbox, settleArtifacts } from "./delivery/artifacts.ts";
import type { LateFiles } from "./delivery/late-files.ts";
import { holdsMovedMail, seedStep } from "./registration/seeding.ts";
import type { MailRootDeps } from "./root-paths.ts";
import {
  isMarked,
  isUsable,
  mailboxFolder,
  markMailbox,
  registrationIn,
  stateFileName,
} from "./root-paths.ts";

/** A mailbox as it is now. Do not keep it: another registration may replace it at any time. */
export interface Present {
  row: RegistrationRow;
  state: MailboxState;
}

/** The state file of one owner's mailbox, across changes of its registration. */
interface MailboxHandle {
  /**
   * Throws `invalid_request` when the owner has no active registration. It may lack the newest deliveries.
   */
  registered(): Present;
  /**
   * Runs `work`, which is synchronous, once the mailbox is caught up with all that was delivered. That may
   * take long where much was: other work runs in between, and other callers wait for it too.
   */
  caughtUp<T>(work: (now: Present) => T): Promise<T>;
  /** Later and waiting calls are refused with `transport_failed`. */
  close(): void;
}

/** What the links do not show is lost: whether a message in the inbox was read or answered. */
function describeLost(address: string): string {
  return `${stateFileName} of ${address} was missing and is rebuilt from the links in its boxes: messages in the inbox count as unread`;
}

export function createMailboxHandle(
  deps: MailRootDeps & { root: string; catalog: Catalog; lateFiles: Pick<LateFiles, "soon"> },
  { address, principalId }: { address: string; principalId: string },
): MailboxHandle {
  const { root, catalog, files, clock, steps } = deps;
  /** What was caught up, and at which versions: it holds while nothing is committed to either database. */
  let whole: { now: Present; catalog: CatalogStore; catalogVersion: string; stateVersion: string } | null =
    null;
  let held: { registrationId: string; states: ReopeningHandle<MailboxState> } | null = null;
  let pause: Promise<void> | null = null;
  let closed = false;

  /**
   * Null when the databases must be read. Folders are checked for links every time: no database shows them.
   */
  function stillWhole(): Present | null {
    if (closed || !whole || !held) return null;
    const { row, state } = whole.now;
    refuseDetours(row);
    if (held.states.unchanged() !== state || catalog.store !== whole.catalog) return null;
    const same =
      whole.catalog.version() === whole.catalogVersion && state.store.version() === whole.stateVersion;
    return same ? whole.now : null;
  }

  function owned(): RegistrationRow {
    const row = catalog.active(address);
    if (row?.ownerPrincipalId === principalId) return row;
    const whose = row ? "belongs to another principal" : "has no active registration";
    throw new ServiceError("invalid_request", `the mailbox ${address} ${whose}`);
  }

  /**
   * The registration may have been replaced since the last call, and with it the folder. What lies there is
   * opened as this registration's only when it says so, or when it can be claimed while no registration
   * changes.
   */
  function registered(): Present {
    if (closed) throw new ServiceError("transport_failed", `the mailbox ${address} has been closed`);
    const row = owned();
    settleArtifacts(files, root, catalog);
    const path = refuseDetours(row);
    if (held?.registrationId === row.registrationId) {
      const state = held.states.unchanged() ?? (files.exists(path) ? held.states.present() : null);
      if (state?.mark()?.registrationId === row.registrationId) return { row, state };
    }
    return { row, state: claim(row, path) };
  }

  /** The path of the registration's state file, which no link leads away from. */
  function refuseDetours(row: RegistrationRow): string {
    if (row.mailboxKind === "symlink" && isUsable(row) && !isMarked(files, row)) {
      if (registrationIn(deps, row.mailboxPath) === row.registrationId) markMailbox(files, row);
    }
    const path = childPath(mailboxFolder(files, root, row), stateFileName);
    if (files.isLink(path)) {
      throw new ServiceError(
        "transport_failed",
        `${path} is a symbolic link; put the mailbox's own file back`,
      );
    }
    return path;
  }

  function claim(row: RegistrationRow, path: string): MailboxState {
    const { registrationId } = row;
    return catalog.undisturbed("sql:mail-claimed", () => {
      if (owned().registrationId !== registrationId || catalog.pending().length > 0) {
        throw new ServiceError(
          "transport_failed",
          `the mailbox ${address} is just being replaced; try again`,
        );
      }
      const isLost =
        !files.stat(path)?.size &&
        (held?.registrationId === registrationId || holdsMovedMail({ files, root, registration: row }));
      held?.states.close();
      held = null;
      ensureMailbox(files, root, row);
      const open = () => openMailboxState({ path, clock, steps });
      if (!files.exists(path)) open().close();
      if (isLost) deps.onMended?.(describeLost(address));
      const states = createReopeningHandle({ files, path, open });
      const state = states.present();
      if (state.mark()?.registrationId !== registrationId) {
        state.seed("sql:mail-begun", [], { generation: catalog.generation(), registrationId, seededSeq: 0 });
      }
      held = { registrationId, states };
      return state;
    });
  }

  return {
    registered,
    async caughtUp(work) {
      for (;;) {
        // One step between two pauses, however many wait.
        while (pause) await pause;
        const known = stillWhole();
        if (known) return work(known);
        // Each before what is read of its database: a commit in between is looked at by the next operation.
        const { store } = catalog;
        const catalogVersion = store.version();
        const now = registered();
        const { row, state } = now;
        const stateVersion = state.store.version();
        if (seedStep({ files, root, catalog, state, registration: row })) {
          // Who sent what is new here may have died before its file was written.
          deps.lateFiles.soon();
          // A link that could not be made is tried again by the next operation.
          const settled = state.misplaced(1).length === 0;
          whole = settled ? { now, catalog: store, catalogVersion, stateVersion } : null;
          return work(now);
        }
        pause = new Promise<void>(afterThisTurn).then(() => {
          pause = null;
        });
      }
    },
    close() {
      closed = true;
      held?.states.close();
      held = null;
    },
  };
}
