import packageManifest from "../../../../package.json" with { type: "json" };
import { ledgerStoreOn } from "../../../db/gateway/ledger-store.ts";
import { notifierStoreOn } from "../../../db/gateway/notifier-store.ts";
import { gatewayObserveRoutes } from "../../../routes/observe/app.ts";
import { meterGateway } from "../../../routes/observe/meter.ts";
import { createRecorderControl } from "../../../services/extensions/observe/recorder/recorder-control.ts";
import { createTraceControl } from "../../../services/extensions/observe/traces/trace-control.ts";
import {
  createTranscript,
  toAskedRequest,
} from "../../../services/extensions/observe/transcript/transcript.ts";
import type { SessionTurns } from "../../../services/extensions/observe/transcript/turn-source.ts";
import type { GatewayPart, OpenGateway } from "../../extension.ts";
import { openBudgets } from "./observe-budget.ts";
import { openLedger } from "./observe-ledger.ts";

/** Transcript, ledger, budgets, recorder, traces and metrics of one gateway. */
export function openObservers(gateway: OpenGateway, turns: SessionTurns): GatewayPart {
  const { system, manifest, sessionRoot, log, slot, queue, board, requests } = gateway;
  const { files, clock } = system;
  const { events } = gateway.records;
  const { terminal } = gateway.driven;
  const ledger = openLedger(gateway, turns);
  const traces = createTraceControl({
    files,
    clock,
    log,
    events,
    requests,
    sessionRoot,
    env: gateway.env,
    network: system.network,
    notifier: notifierStoreOn(gateway.database),
    agent: {
      agentId: manifest.agent_id,
      agentName: manifest.agent_name,
      tool: manifest.tool,
      version: packageManifest.version,
    },
  });
  const metrics = meterGateway({
    events,
    clock,
    status: board.status,
    spans: traces.counts,
    facts: { version: packageManifest.version, tool: manifest.tool },
  });
  const recorder = createRecorderControl({
    files,
    clock,
    log,
    sessionRoot,
    events,
    queue,
    slot,
    terminal: terminal && { ...terminal, pane: (signal) => terminal.pane(signal, { overpaint: false }) },
    agentName: manifest.agent_name,
    tracked: gateway.profile !== null,
  });
  const budgets = openBudgets(gateway, { ledger, groups: ledgerStoreOn(gateway.database).groups });
  const transcript = createTranscript({
    sources: turns.all,
    request: (requestId) => toAskedRequest(requests.get(requestId)),
    end: () => (terminal?.state().diagnostics.process_state === "tui_down" ? "its program has ended" : null),
  });
  return {
    routes: gatewayObserveRoutes({ transcript, ledger, recorder, metrics, answers: gateway.answers }),
    onStreamed: metrics.streamed,
    around: metrics.around,
    services: [
      { name: "metrics", stop: metrics.close },
      { name: "recorder", start: recorder.start, stop: recorder.stop },
      { name: "traces", start: traces.start, stop: traces.stop },
      { name: "ledger", start: ledger.countSoon, stop: ledger.stop },
      { name: "budgets", start: budgets.start, stop: budgets.stop },
    ],
  };
}
