import { readLedger } from "../../../db/gateway/ledger-store.ts";
import type { Routes } from "../../../routes/http/mount.ts";
import { storedObserveRoutes } from "../../../routes/observe/app.ts";
import { createLedgerReader } from "../../../services/extensions/observe/ledger/ledger.ts";
import {
  createRecordingReader,
  toRecorderStatus,
} from "../../../services/extensions/observe/recorder/recorder-control.ts";
import { storedSources } from "../../../services/extensions/observe/transcript/session-transcript.ts";
import {
  createTranscript,
  toAskedRequest,
} from "../../../services/extensions/observe/transcript/transcript.ts";
import type { StoredSession } from "../../../services/fleet/stored-session.ts";
import { sessionPaths } from "../../../services/sessions/roots.ts";
import type { CliContext } from "../../command-line/cli-context.ts";

/** Transcript, ledger and recordings of an agent that no gateway serves. */
export function observeStored(
  { files, clock, env }: Pick<CliContext, "files" | "clock" | "env">,
  session: StoredSession,
): readonly Routes[] {
  const { manifest, sessionRoot } = session.agent;
  const { queue } = sessionPaths(sessionRoot);
  return storedObserveRoutes({
    transcript: createTranscript({
      sources: storedSources({ files, clock, manifest, sessionRoot, env }),
      request: (requestId) => toAskedRequest(session.stored(requestId)),
      end: () => session.end?.how ?? null,
    }),
    ledger: {
      page: (query) =>
        files.exists(queue)
          ? readLedger(queue, (store) => createLedgerReader(store).page(query))
          : { schema_version: 1, entries: [], next: null },
      summary: (query) =>
        files.exists(queue)
          ? readLedger(queue, (store) => createLedgerReader(store).summary(query))
          : { schema_version: 1, since_utc: null, groups: [] },
    },
    recorder: {
      status: () => toRecorderStatus(files, sessionRoot, null),
      ...createRecordingReader({ files, clock, sessionRoot, agentName: manifest.agent_name }),
    },
  });
}
