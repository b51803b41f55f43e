import type {
  AgentObserver,
  ReadableTerminal,
  WatchedSession,
} from "../../../services/agent/agent-observer.ts";
import { maxCapturedRows } from "../../../services/extensions/observe/transcript/screen-turn.ts";
import {
  createSessionTranscript,
  headlessSources,
} from "../../../services/extensions/observe/transcript/session-transcript.ts";
import type { SessionTurns } from "../../../services/extensions/observe/transcript/turn-source.ts";
import { ServiceError } from "../../../system/errors.ts";
import type { GatewayExtension } from "../../extension.ts";

/** Of a headless agent: more that no gateway saw end are not counted. */
const countedTurns = 200;

/** What keeps the text of turns, from the first moment on; the rest when the gateway answers. */
export function createObserve(): GatewayExtension {
  let turns: SessionTurns | null = null;
  return {
    agent: {
      observe(session, terminal) {
        const observed = terminal === null ? observeProcesses(session) : observeTerminal(session, terminal);
        turns = observed.turns;
        return observed.observer;
      },
    },
    async open(gateway) {
      if (turns === null) throw new ServiceError("unavailable", "nothing observes the agent of this gateway");
      const { openObservers } = await import("./observe-gateway.ts");
      return openObservers(gateway, turns);
    },
  };
}

interface Observed {
  observer: AgentObserver;
  turns: SessionTurns;
}

function observeTerminal(session: WatchedSession, terminal: ReadableTerminal): Observed {
  const { recorder, reported, sources } = createSessionTranscript({
    ...session.system,
    ...session,
    capture: () => terminal.capture(maxCapturedRows),
  });
  const { promptTyped, turnBegan, turnEnded, stop } = recorder;
  return {
    observer: { promptTyped, turnBegan, turnEnded, reported, stop },
    turns: { all: sources, counted: sources },
  };
}

function observeProcesses({ system, sessionRoot }: WatchedSession): Observed {
  return {
    observer: {},
    turns: {
      all: headlessSources(system.files, sessionRoot),
      counted: headlessSources(system.files, sessionRoot, countedTurns),
    },
  };
}
