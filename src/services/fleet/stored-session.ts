import type { StoredRequest } from "../../db/gateway/request-store.ts";
import type { GatewayStatus, RequestRecord, RequestState } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { sessionPaths } from "../sessions/roots.ts";
import { openSessionFolder } from "../sessions/session-folder.ts";
import {
  type AgentEnd,
  readOfflineRequest,
  readOfflineRequests,
  readStoredRequest,
} from "../status/project.ts";
import type { Diagnosis } from "./diagnose.ts";

/** The files of an agent that no gateway serves, for reading. Nothing is opened before it is asked for. */
export interface StoredSession {
  agent: FoundAgent;
  /** Null while the agent may run. */
  end: AgentEnd | null;
  status(): GatewayStatus;
  /** Newest first. */
  requests(options: { limit: number; state?: RequestState; idempotencyKey?: string }): RequestRecord[];
  /** Null when there is none with this id. */
  request(requestId: string, options?: { withPrompt: boolean }): RequestRecord | null;
  /** As it is stored, with its prompt. */
  stored(requestId: string): StoredRequest | null;
}

/**
 * `diagnosis`: why no gateway serves it. `why`: the same as a clause, which a request that waits has for its
 * reason. Source: rulings 34, 42.
 */
export function openStoredSession(
  { files, clock }: { files: Files; clock: Clock },
  agent: FoundAgent,
  { diagnosis, why }: { diagnosis: Diagnosis; why: string },
): StoredSession {
  const { queue } = sessionPaths(agent.sessionRoot);
  const end = endOf(agent, diagnosis, clock);
  const folder = openSessionFolder(files, agent.sessionRoot);
  const facts = { why, end };
  const isThere = () => files.exists(queue);
  return {
    agent,
    end,
    status: () => folder.readOfflineStatus(agent.manifest, null),
    requests: (options) => (isThere() ? readOfflineRequests(queue, options, facts) : []),
    request: (requestId, { withPrompt } = { withPrompt: false }) =>
      isThere() ? readOfflineRequest(queue, requestId, { ...facts, withPrompt }) : null,
    stored: (requestId) => (isThere() ? readStoredRequest(queue, requestId) : null),
  };
}

/** How the agent ended, and when that was seen; null while it may run. */
function endOf({ record }: FoundAgent, { problem }: Diagnosis, clock: Clock): AgentEnd | null {
  const { stopped_at: stoppedAt, stop_reason: reason } = record?.lifecycle ?? {};
  const atUtc = stoppedAt ?? timestampNow(clock);
  switch (problem) {
    case "stopped":
      return { how: reason === "operator_stop" ? "it was stopped" : "its tmux session has gone", atUtc };
    case "session_gone":
      return { how: "its tmux session has gone", atUtc };
    default:
      return null;
  }
}
