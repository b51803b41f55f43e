import { isAbsolute } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { DesiredConfig, type DesiredRecorder, type Manifest } from "../../protocol/files.ts";
import type { ExecutionMode } from "../../protocol/gateway.ts";
import { renderJson } from "../../protocol/json.ts";
import type { TrackingTimings } from "../../protocol/terminal.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { sessionPaths } from "./roots.ts";

/** The settings of a session without any request of an operator: attach opens a window beside the agent. */
const unasked: DesiredConfig = { schema_version: 1, desired_execution_mode: "tmux_auxiliary_window" };

/** An operator's settings for the gateway of a session; an omitted one keeps its value. */
export interface GatewayWish {
  host?: string | undefined;
  /** Never a port that the system chose: it may be another's by the next start. */
  port?: number | undefined;
  executionMode?: ExecutionMode | undefined;
  timings?: Partial<TrackingTimings> | undefined;
  /** Absolute; replaces those of before. */
  attachmentRoots?: readonly string[] | undefined;
  tokenRequired?: boolean | undefined;
  recorder?: DesiredRecorder | undefined;
  /** `none` keeps traces off. */
  otlpEndpoint?: string | undefined;
  /**
   * It needs no reconciliation while no request waits (ruling 5): a relaunch without a gateway found none.
   */
  reconciledInstanceId?: string | undefined;
}

/** Throws `precondition_failed` with the place when the file is there and does not fit. */
export function readDesiredConfig(files: Files, sessionRoot: string): DesiredConfig {
  const path = sessionPaths(sessionRoot).desiredConfig;
  const text = files.read(path);
  const fail = (problem: string) => new ServiceError("precondition_failed", `${path}: ${problem}`);
  if (text === null) {
    if (files.stat(path)?.directory) throw fail("is a folder");
    return unasked;
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail("not valid JSON");
  }
  if (Value.Check(DesiredConfig, value)) return value;
  throw fail(misfitOf(value));
}

/** Where and why a value is no DesiredConfig. */
function misfitOf(value: unknown): string {
  const first = Value.Errors(DesiredConfig, value).First();
  return `${first?.path || "/"}: ${first?.message ?? "does not fit the schema"}`;
}

/**
 * Folders from which mail of this session takes attachments: where the agent works, and those that its user
 * named. Throws as `readDesiredConfig`.
 */
export function attachmentRoots(
  files: Files,
  { manifest, sessionRoot }: { manifest: Pick<Manifest, "working_directory">; sessionRoot: string },
): string[] {
  const named = readDesiredConfig(files, sessionRoot).desired_attachment_roots ?? [];
  return [manifest.working_directory, ...named].filter((folder) => isAbsolute(folder));
}

/** The execution mode that a status without a gateway carries; a file that cannot be read wishes nothing. */
export function desiredExecutionMode(files: Files, sessionRoot: string): ExecutionMode {
  try {
    return readDesiredConfig(files, sessionRoot).desired_execution_mode;
  } catch {
    return unasked.desired_execution_mode;
  }
}

/** Pure. Port 0 means "any" and takes back an earlier wish. */
export function mergeWish(before: DesiredConfig, wish: GatewayWish): DesiredConfig {
  const { desired_port: earlier, ...rest } = before;
  const port = wish.port ?? earlier;
  const timings = { ...before.desired_tui_tracking_timings, ...wish.timings };
  return {
    ...rest,
    ...(wish.host === undefined ? {} : { desired_host: wish.host }),
    ...(port ? { desired_port: port } : {}),
    ...(wish.attachmentRoots === undefined ? {} : { desired_attachment_roots: [...wish.attachmentRoots] }),
    desired_execution_mode: wish.executionMode ?? before.desired_execution_mode,
    ...(wish.tokenRequired === undefined ? {} : { desired_token_required: wish.tokenRequired }),
    ...(wish.recorder === undefined ? {} : { desired_recorder: wish.recorder }),
    ...(wish.otlpEndpoint === undefined ? {} : { desired_otlp_endpoint: wish.otlpEndpoint }),
    ...(wish.reconciledInstanceId === undefined ? {} : { reconciled_instance_id: wish.reconciledInstanceId }),
    ...(Object.keys(timings).length > 0 ? { desired_tui_tracking_timings: timings } : {}),
  };
}

/**
 * Keeps the wish for every later start. Throws as `readDesiredConfig`; `invalid_request` for a wish that
 * could not be read again, since no gateway starts on such a file.
 */
export function saveWish(files: Files, sessionRoot: string, wish: GatewayWish): void {
  const before = readDesiredConfig(files, sessionRoot);
  const after = mergeWish(before, wish);
  const { desiredConfig } = sessionPaths(sessionRoot);
  if (files.exists(desiredConfig) && Bun.deepEquals(before, after)) return;
  if (!Value.Check(DesiredConfig, after)) throw new ServiceError("invalid_request", misfitOf(after));
  files.write("file:desired-config", desiredConfig, renderJson(after));
}
