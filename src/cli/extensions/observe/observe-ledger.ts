import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { ledgerStoreOn } from "../../../db/gateway/ledger-store.ts";
import { parseJson } from "../../../protocol/json.ts";
import { createLedger, type Ledger } from "../../../services/extensions/observe/ledger/ledger.ts";
import type { SessionTurns } from "../../../services/extensions/observe/transcript/turn-source.ts";
import { transcriptPaths } from "../../../services/sessions/conversations.ts";
import type { OpenGateway } from "../../extension.ts";

/** tokens.json, in which versions before the ledger kept their sum: since when they counted. */
const FormerCount = Type.Object({ since_ms: Type.Number() });

/** The ledger of a gateway's agent: it counts each turn that ends, and the status has its sum. */
export function openLedger(gateway: OpenGateway, turns: Pick<SessionTurns, "counted">): Ledger {
  const { system, manifest, database, requests, agent, board, slot, log } = gateway;
  const logged = new Set<string>();
  const ledger = createLedger({
    clock: system.clock,
    events: gateway.records.events,
    requests,
    onChange: board.refresh,
    store: ledgerStoreOn(database),
    tool: manifest.tool,
    sources: turns.counted,
    countedSinceMs() {
      const text = system.files.read(join(transcriptPaths(gateway.sessionRoot).root, "tokens.json"));
      return text === null ? null : (parseJson(FormerCount, text)?.since_ms ?? null);
    },
    onProblem(what) {
      if (!logged.has(what)) log.line(what);
      logged.add(what);
    },
  });
  slot.join("ledger", {
    report(all) {
      all.tokens = ledger.sum();
    },
  });
  gateway.driven.observe({
    turnEnded: ledger.countSoon,
    // A turn that is a process names its request itself.
    ...(agent.turns ? {} : { promptBegins: ledger.promptBegins }),
  });
  return ledger;
}
