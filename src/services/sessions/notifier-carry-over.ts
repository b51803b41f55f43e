import { type NotifierStore, notifierStoreOn } from "../../db/gateway/notifier-store.ts";
import { reminderStoreOn } from "../../db/gateway/reminder-store.ts";
import { openGatewayDatabase, readGatewayDatabase } from "../../db/gateway/request-store.ts";
import type { RegistryRecord } from "../../protocol/files.ts";
import type { NotifierConfig } from "../../protocol/notifier.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Steps } from "../../system/steps.ts";
import { sessionPaths } from "./roots.ts";
import { refuseExposed } from "./trust.ts";

/** What a new session has of the notifier's settings of the session before; null when that one had none. */
export type NotifierCarryOver = { enabled: boolean } | { error: string } | null;

/**
 * Gives a new session the notifier's settings that the agent's previous session had, `enabled` included: its
 * mail is kept from session to session too. What that notifier last did is not carried over. Runs before the
 * new session has a gateway. Never throws: an agent runs without them.
 */
export function carryNotifierOver(
  deps: { files: Files; clock: Clock; steps: Steps },
  previousSession: RegistryRecord | null,
  sessionRoot: string,
): NotifierCarryOver {
  const previousRoot = previousSession?.runtime.session_root;
  if (!previousRoot) return null;
  try {
    refuseExposed(deps.files, previousRoot, "the previous session");
    const previous = sessionPaths(previousRoot).queue;
    if (deps.files.stat(previous) === null) return null;
    const config = withNotifierStore(deps, previous, (store) => store.read()?.config ?? null);
    if (config === null) return null;
    withNotifierStore(deps, sessionPaths(sessionRoot).queue, (store) =>
      store.saveConfig(config, timestampNow(deps.clock)),
    );
    return { enabled: config.enabled };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** What a session that no gateway serves keeps for its next one. */
export interface StoredSettings {
  notifier: NotifierConfig | null;
  /** Ids of the reminders that are on disk. */
  reminderIds: string[];
}

/** Throws as `readGatewayDatabase`. */
export function readStoredSettings(files: Files, sessionRoot: string): StoredSettings {
  const { queue } = sessionPaths(sessionRoot);
  if (!files.exists(queue)) return { notifier: null, reminderIds: [] };
  return readGatewayDatabase(queue, (database) => ({
    notifier: notifierStoreOn(database).read()?.config ?? null,
    reminderIds: reminderStoreOn(database)
      .left()
      .kept.map(({ reminder_id: id }) => id),
  }));
}

function withNotifierStore<T>(
  deps: { clock: Clock; steps: Steps },
  path: string,
  act: (store: NotifierStore) => T,
): T {
  const database = openGatewayDatabase({ path, ...deps });
  try {
    return act(notifierStoreOn(database));
  } finally {
    database.close();
  }
}
