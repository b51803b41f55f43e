import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { Processes } from "../../system/processes.ts";
import { headlessProvider } from "./providers.ts";
import { settleTurn } from "./settle-turn.ts";
import { interruptTurn } from "./stop-turn.ts";
import { createTurnDirectories } from "./turn-directory.ts";

/**
 * Ends every turn of a session that has no final state yet, as an interrupt does; none can begin afterwards, unless a
 * gateway still serves this instance of the agent. Returns the ids of the turns that had to be ended.
 */
export async function stopTurns(
  deps: { files: Files; clock: Clock; processes: Processes; locks: Locks },
  sessionRoot: string,
): Promise<string[]> {
  const settling = { ...deps, providerOf: headlessProvider };
  const open = createTurnDirectories({ files: deps.files, sessionRoot })
    .all()
    .filter((turn) => turn.request() && !turn.result());
  for (const turn of open) {
    // First of all, so that a runner that claims its turn just now ends it itself.
    turn.saveInterrupt({ requested_at_utc: timestampNow(deps.clock), requested_by: "stop" });
    if (turn.process()) await interruptTurn(settling, turn, "stop");
    else await settleTurn(settling, turn, { unbegun: "the agent was stopped before it began" });
  }
  return open.map((turn) => turn.turnId);
}
