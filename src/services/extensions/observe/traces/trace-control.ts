import { messageOf } from "../../../../system/errors.ts";
import type { Files } from "../../../../system/files.ts";
import { decideOtlp, type OtlpSettings } from "../../../sessions/otlp-settings.ts";
import type { Environment } from "../../../sessions/roots.ts";
import { openSessionFolder } from "../../../sessions/session-folder.ts";
import type { SpanCounts } from "../gateway-metrics.ts";
import type { FollowedTraces, TraceSources } from "./follow-requests.ts";

interface TraceDeps extends TraceSources {
  files: Files;
  sessionRoot: string;
  env: Environment;
}

/**
 * Exports the requests of a gateway as traces. While that is off nothing of it is loaded, and it listens to
 * nothing.
 */
export function createTraceControl(deps: TraceDeps) {
  const { files, log, sessionRoot, env } = deps;
  const afterSeq = deps.events.readEvents({ afterSeq: 0, limit: 0 }).lastSeq;
  let traces: FollowedTraces | null = null;

  /** What is wrong with a variable must not keep a gateway from its agent. */
  function settings(): OtlpSettings | null {
    try {
      return decideOtlp(openSessionFolder(files, sessionRoot).readDesiredConfig().desired_otlp_endpoint, env);
    } catch (error) {
      log.line("traces not exported", { error: messageOf(error) });
      return null;
    }
  }

  return {
    /** Begins when the session, or the environment, says so, with what happened since the control was made. */
    async start(): Promise<void> {
      const wanted = settings();
      if (wanted === null || traces !== null) return;
      const { followRequests } = await import("./follow-requests.ts");
      traces = followRequests(deps, wanted, afterSeq);
      log.line("exporting traces", { origin: new URL(wanted.url).origin });
    },
    /** Sends what is left, for a second at most. */
    async stop(): Promise<void> {
      await traces?.stop();
      traces = null;
    },
    /** Null while it is off. */
    counts: (): SpanCounts | null => traces?.counts() ?? null,
  };
}
