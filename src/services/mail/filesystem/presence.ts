import { join } from "node:path";
import type { Catalog, RegistrationRow } from "../../../db/mailbox/catalog.ts";
import { createFollowed, type Followed } from "../../../db/mailbox/followed.ts";
import { type MailboxState, openMailboxState } from "../../../db/mailbox/state.ts";
import { afterThisTurn } from "../../../system/clock.ts";
import { ServiceError } from "../../../system/errors.ts";
import { ensureMailbox, mailboxFolder, refuseDetour, settleArtifacts } from "./artifacts.ts";
import type { MailRootDeps } from "./root-deps.ts";
import { stateFileName } from "./root-paths.ts";
import { seedStep } from "./seeding.ts";

/** A mailbox as it is at this moment. Not to be kept: the next moment another registration may have its place. */
export interface Present {
  row: RegistrationRow;
  state: MailboxState;
}

/** The state file of the mailbox of one owner, through whatever happens to his registration. */
export interface Presence {
  /** Throws `invalid_request` when the owner has no active registration. What was delivered may not stand in it yet. */
  registered(): Present;
  /**
   * Runs `work`, which is synchronous, once the mailbox is caught up with all that was delivered. That may take long
   * where much was: others work in between, and whoever asks meanwhile waits for it too.
   */
  caughtUp<T>(work: (now: Present) => T): Promise<T>;
  /** Whatever comes after it, or still waits, is refused with `transport_failed`. */
  close(): void;
}

export function createPresence(
  deps: MailRootDeps & { root: string; catalog: Catalog },
  { address, principalId }: { address: string; principalId: string },
): Presence {
  const { root, catalog, files, clock, steps } = deps;
  let held: { registrationId: string; states: Followed<MailboxState> } | null = null;
  let pause: Promise<void> | null = null;
  let closed = false;

  function owned(): RegistrationRow {
    const row = catalog.active(address);
    if (row?.ownerPrincipalId === principalId) return row;
    const whose = row ? "belongs to another principal" : "has no active registration";
    throw new ServiceError("invalid_request", `the mailbox ${address} ${whose}`);
  }

  /**
   * The registration may have been replaced since the last call, and with it the folder. What lies there is opened
   * as this registration's only when it says so, or when it can be claimed while no registration changes.
   */
  function registered(): Present {
    if (closed) throw new ServiceError("transport_failed", `the mailbox ${address} has been closed`);
    const row = owned();
    settleArtifacts(files, root, catalog);
    const path = join(mailboxFolder(root, row), stateFileName);
    if (row.mailboxKind === "in_root") refuseDetour(files, root, path);
    if (files.isLink(path)) {
      throw new ServiceError(
        "transport_failed",
        `${path} is a symbolic link; put the mailbox's own file back`,
      );
    }
    if (held?.registrationId === row.registrationId && files.exists(path)) {
      const state = held.states.present();
      if (state.mark()?.registrationId === row.registrationId) return { row, state };
    }
    return { row, state: claim(row, path) };
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
      held?.states.close();
      held = null;
      ensureMailbox(files, root, row);
      const open = () => openMailboxState({ path, clock, steps });
      if (!files.exists(path)) open().close();
      const states = createFollowed({ files, path, open });
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
        const { row, state } = registered();
        if (seedStep({ files, root, catalog, state, registration: row })) return work({ row, state });
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
