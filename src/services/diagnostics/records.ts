import { join } from "node:path";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { faultLine } from "../../system/storage-fault.ts";
import {
  createDiagnosticLog,
  type DiagnosticLog,
  type DiagnosticSettings,
  withWarnings,
} from "./diagnostic-log.ts";
import { createEventLog, type StoredEventLog } from "./event-log.ts";
import { createFileLog, type Log } from "./gateway-log.ts";

/** Everything that a gateway writes down about its life. */
export interface GatewayRecords {
  log: Log;
  events: StoredEventLog;
  /** Null unless an operator asked for them. */
  diagnostics: DiagnosticLog | null;
  /** Writes what was held back or put off. For the very end: what comes later is still written. */
  close(): void;
}

/** `paths`: of the session's gateway folder. `echo`: gets each line of the log. */
export function openGatewayRecords(deps: {
  files: Files;
  clock: Clock;
  paths: { events: string; logRoot: string; gatewayLog: string };
  diagnostics: DiagnosticSettings | null;
  echo?: ((line: string) => void) | undefined;
}): GatewayRecords {
  const { files, clock, paths, echo } = deps;
  const fileLog = createFileLog({ files, clock, path: paths.gatewayLog, ...(echo ? { echo } : {}) });
  const diagnostics =
    deps.diagnostics &&
    createDiagnosticLog({
      files,
      clock,
      path: join(paths.logRoot, "diagnostics", "gateway-diagnostic.log"),
      settings: deps.diagnostics,
    });
  const log = diagnostics ? withWarnings(fileLog, diagnostics) : fileLog;
  const events = createEventLog({
    files,
    clock,
    path: paths.events,
    onError: (error) => log.line("event not written", { error: faultLine(error) }),
  });
  return {
    log,
    events,
    diagnostics,
    close() {
      events.flush();
      fileLog.close();
      diagnostics?.close();
    },
  };
}
