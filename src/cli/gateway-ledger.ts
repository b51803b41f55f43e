import { join } from "node:path";
import { Type } from "@sinclair/typebox";
import { ledgerStoreOn } from "../db/gateway/ledger-store.ts";
import type { GatewayDatabase, RequestStore } from "../db/gateway/request-store.ts";
import type { Manifest } from "../protocol/files.ts";
import { parseJson } from "../protocol/json.ts";
import type { GatewayRecords } from "../services/diagnostics/diagnostic-log.ts";
import { createLedger, type Ledger } from "../services/ledger/ledger.ts";
import { transcriptPaths } from "../services/transcript/conversations.ts";
import type { System } from "../system/system.ts";
import type { GatewayAgent } from "./gateway-agent.ts";

/** tokens.json, in which versions before the ledger kept their sum: since when they counted. */
const FormerCount = Type.Object({ since_ms: Type.Number() });

/** The ledger of a gateway's agent. */
export function openLedger(core: {
  system: System;
  sessionRoot: string;
  manifest: Manifest;
  records: GatewayRecords;
  database: GatewayDatabase;
  requests: RequestStore;
  driven: Pick<GatewayAgent, "countedSources">;
  onChange: () => void;
}): Ledger {
  const { system, manifest, database, requests, driven, onChange } = core;
  const { events, log } = core.records;
  const logged = new Set<string>();
  return createLedger({
    clock: system.clock,
    events,
    requests,
    onChange,
    store: ledgerStoreOn(database),
    tool: manifest.tool,
    sources: driven.countedSources,
    countedSinceMs() {
      const text = system.files.readOwn(join(transcriptPaths(core.sessionRoot).root, "tokens.json"));
      return text === null ? null : (parseJson(FormerCount, text)?.since_ms ?? null);
    },
    onProblem(what) {
      if (!logged.has(what)) log.line(what);
      logged.add(what);
    },
  });
}
