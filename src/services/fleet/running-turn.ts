import { parseTimestamp } from "../../system/clock.ts";
import { type SettleDeps, settleTurn } from "../headless/settle-turn.ts";
import { createTurnDirectories, type TurnDirectory } from "../headless/turn-directory.ts";
import type { FoundAgent } from "../sessions/find.ts";
import type { Links } from "./links.ts";

type Session = Pick<FoundAgent, "manifest" | "sessionRoot">;

/** Turns that may be unfinished are the newest ones. */
const maxLooked = 5;
/** A gateway that died may have started the runner of a turn a moment before. */
const beginsWithinMs = 10_000;

/**
 * The turn of a headless agent that runs or is about to, or null. Turns whose runner is gone get their final state
 * first; so does one that nobody claimed and that no gateway is there to begin.
 */
export function createRunningTurn(
  deps: SettleDeps & { links: Pick<Links, "to"> },
): (agent: Session) => Promise<TurnDirectory | null> {
  const { clock, files, links } = deps;

  async function isAbandoned(agent: Session, turn: TurnDirectory): Promise<boolean> {
    const beganMs = parseTimestamp(turn.request()?.requested_at_utc ?? "");
    if (turn.process() || beganMs === null || clock.nowMs() - beganMs < beginsWithinMs) return false;
    const link = await links.to(agent);
    return link.state === "none" && !link.claimed;
  }

  return async (agent) => {
    const turns = createTurnDirectories({ files, sessionRoot: agent.sessionRoot });
    for (const turn of turns.list(maxLooked)) {
      if (turn.result()) continue;
      const unbegun = await isAbandoned(agent, turn);
      const how = unbegun ? { unbegun: "its gateway ended before it began" } : {};
      if (!(await settleTurn(deps, turn, how))) return turn;
    }
    return null;
  };
}
