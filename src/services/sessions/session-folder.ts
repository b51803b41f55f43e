import { isAbsolute, join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import {
  type AttachContract,
  CurrentInstance,
  DesiredConfig,
  type DesiredRecorder,
  type GatewayManifest,
  type Manifest,
} from "../../protocol/files.ts";
import { type ExecutionMode, GatewayStatus, protocolVersion } from "../../protocol/gateway.ts";
import { parseJson, renderJson } from "../../protocol/json.ts";
import type { TrackingTimings } from "../../protocol/terminal.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import { storageFaultOf } from "../../system/storage-fault.ts";
import { type LastStatus, readOfflineQueue, toOfflineStatus } from "../status/project.ts";
import { gatewayIdentity } from "./manifest.ts";
import { sessionPaths } from "./roots.ts";

/**
 * The files of one session, each with its way to be read and written; the manifest has writers in several
 * processes and a store that locks it. Nothing is opened before it is asked for. Source: contract 2.1, 2.7,
 * 2.8.
 */
export function openSessionFolder(files: Files, root: string) {
  const paths = sessionPaths(root);
  const variablesPath = join(root, variablesName);

  /** Throws `precondition_failed` with the place when the file is there and does not fit. */
  function readDesiredConfig(): DesiredConfig {
    const path = paths.desiredConfig;
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

  /** The same for readers that go on without it: a file that cannot be read wishes nothing. */
  function desiredOrNothing(): DesiredConfig {
    try {
      return readDesiredConfig();
    } catch {
      return unasked;
    }
  }

  /**
   * Keeps the wish for every later start. Throws as `readDesiredConfig`; `invalid_request` for a wish that
   * could not be read again, since no gateway starts on such a file.
   */
  function saveWish(wish: GatewayWish): void {
    const before = readDesiredConfig();
    const after = mergeWish(before, wish);
    if (files.exists(paths.desiredConfig) && Bun.deepEquals(before, after)) return;
    if (!Value.Check(DesiredConfig, after)) throw new ServiceError("invalid_request", misfitOf(after));
    files.write("file:desired-config", paths.desiredConfig, renderJson(after));
  }

  /** A status that cannot be read counts as none: it can be derived again. */
  function savedStatus(): GatewayStatus | null {
    try {
      return parseJson(GatewayStatus, files.read(paths.state));
    } catch {
      return null;
    }
  }

  function readVariables(): Record<string, string> | null {
    const text = files.read(variablesPath);
    if (text === null) return null;
    try {
      const value: unknown = JSON.parse(text);
      if (typeof value !== "object" || value === null) return null;
      const entries = Object.entries(value);
      return Object.fromEntries(
        entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
      );
    } catch {
      return null;
    }
  }

  /** gateway_manifest.json: derived bookkeeping with the live process in it, or without one. */
  function writeGatewayManifest(manifest: Manifest, instance: CurrentInstance | null): void {
    const text = renderJson(toGatewayManifest(manifest, paths.manifest, instance));
    files.write("file:gateway-manifest", paths.gatewayManifest, text, { durable: false });
  }

  /**
   * The status of a session that no gateway serves, from queue.sqlite and, for what that lacks, from the last
   * status (ruling 34). It carries the mode that the next gateway is wanted in. `epoch`: of the gateway that
   * ended just now.
   */
  function readOfflineStatus(manifest: Manifest, epoch: number | null): GatewayStatus {
    const saved = savedStatus();
    const last = epoch === null ? saved : { ...noStatus, ...saved, managed_agent_instance_epoch: epoch };
    const served = (last?.managed_agent_instance_epoch ?? 0) > 0;
    const identity = gatewayIdentity(manifest, {
      executionMode: desiredOrNothing().desired_execution_mode,
    });
    return toOfflineStatus(identity, readOfflineQueue(files, paths.queue, served), last);
  }

  return {
    readDesiredConfig,
    saveWish,
    /** The host that the session's own wish names. */
    chosenHost: (): string | null => desiredOrNothing().desired_host ?? null,
    /**
     * Folders from which mail of this session takes attachments: where the agent works, and those that its
     * user named. Throws as `readDesiredConfig`.
     */
    attachmentRoots({ working_directory }: Pick<Manifest, "working_directory">): string[] {
      const named = readDesiredConfig().desired_attachment_roots ?? [];
      return [working_directory, ...named].filter((folder) => isAbsolute(folder));
    },

    /**
     * Keeps the variables, with values, that a launch or a join gave a headless agent's tool. Other processes
     * start its turns, and the agent again, and need them. 0600; the manifest has the names only.
     */
    saveLaunchVariables(variables: Readonly<Record<string, string>>): void {
      if (Object.keys(variables).length === 0) return;
      files.write("file:launch-environment", variablesPath, renderJson(variables));
    },
    /** Nothing when there is no file, or none of ours. */
    readLaunchVariables: (): Record<string, string> => readVariables() ?? {},
    /**
     * Why the values of the variables that a headless agent's turns need are lost, or null: without them the
     * tool would run with another login or server than it was launched with. Some names of a joined agent
     * have no value here.
     */
    launchVariablesFault(manifest: Manifest): string | null {
      const { env_var_names: all, home_selector: home } = manifest.launch_plan;
      const names = all.filter((name) => name !== home.env_var);
      if (manifest.headless === undefined || names.length === 0) return null;
      const joined = manifest.agent_launch_authority.session_origin === "joined_tmux";
      if (joined && !files.exists(variablesPath)) return null;
      const values = readVariables();
      const lost = joined && values ? [] : names.filter((name) => values?.[name] === undefined);
      if (lost.length === 0) return null;
      const what = values ? "lacks" : "is missing or damaged, and with it";
      return `${variablesName} of this session ${what} the value of ${lost.join(", ")}: put a copy of it in its place, or a JSON object with the values, mode 0600`;
    },

    /** The record of a live gateway, or null when there is none or it is not whole (then not believed). */
    readCurrentInstance: (): CurrentInstance | null =>
      parseJson(CurrentInstance, files.read(paths.currentInstance)),
    writeGatewayManifest,
    readOfflineStatus,
    /**
     * Makes the gateway's folder, so that its status can be read before the first attach: the version marker,
     * attach.json, gateway_manifest.json, desired-config.json and the offline state.json with epoch 0. What
     * follows from the manifest is written wherever it differs; what a person or an earlier gateway left is
     * kept.
     */
    seed(manifest: Manifest): void {
      for (const path of [paths.gatewayRoot, paths.logRoot, paths.runRoot]) {
        files.ensureDirectory("file:gateway-folder", path);
      }
      // To read one takes a fifth of the time of a write, and a gateway starts more often than these change.
      const derive = (label: string, path: string, text: string) => {
        if (files.read(path) !== text) files.write(label, path, text, { durable: false });
      };
      derive("file:protocol-version", paths.protocolVersion, `${protocolVersion}\n`);
      derive("file:attach", paths.attach, renderJson(toAttachContract(manifest, paths.manifest)));
      if (!files.exists(paths.gatewayManifest)) writeGatewayManifest(manifest, null);
      if (!files.exists(paths.desiredConfig)) saveWish({});
      if (!files.exists(paths.state)) {
        files.write("file:state", paths.state, renderJson(readOfflineStatus(manifest, null)));
      }
    },
    /**
     * Removes the records of a gateway that has ended and leaves the offline status, which keeps the epoch.
     * Where the disk is full none is left rather than an earlier one: it can be derived again.
     */
    retireGateway(manifest: Manifest, epoch: number): void {
      files.removeFile("file:current-instance", paths.currentInstance);
      files.removeFile("file:pid", paths.pidFile);
      files.removeFile("file:token", paths.token);
      files.removeFile("file:challenge-key", paths.challengeKey);
      const status = renderJson(readOfflineStatus(manifest, epoch));
      const derived = [
        [paths.state, () => files.write("file:state", paths.state, status)],
        [paths.gatewayManifest, () => writeGatewayManifest(manifest, null)],
      ] as const;
      for (const [path, write] of derived) {
        try {
          write();
        } catch (error) {
          if (storageFaultOf(error)?.fault !== "full") throw error;
          files.removeFile("file:derived", path);
        }
      }
    },
  };
}

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

/** Where and why a value is no DesiredConfig. */
function misfitOf(value: unknown): string {
  const first = Value.Errors(DesiredConfig, value).First();
  return `${first?.path || "/"}: ${first?.message ?? "does not fit the schema"}`;
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

const variablesName = "launch-environment.json";

/** attach.json of a session: bootstrap state that any gateway can rebuild from the manifest. Pure. */
function toAttachContract(manifest: Manifest, manifestPath: string): AttachContract {
  const { session_id: sessionId, agent_def_dir: definition } = manifest.runtime;
  return {
    schema_version: 1,
    attach_identity: sessionId,
    backend: manifest.backend,
    tmux_session_name: manifest.tmux_session_name,
    working_directory: manifest.working_directory,
    backend_metadata: { session_id: sessionId, tool: manifest.tool },
    manifest_path: manifestPath,
    ...(definition === null ? {} : { agent_def_dir: definition }),
    runtime_session_id: sessionId,
  };
}

/**
 * gateway_manifest.json: derived bookkeeping with the live process in it, or without one (contract 2.8).
 * Pure.
 */
export function toGatewayManifest(
  manifest: Manifest,
  manifestPath: string,
  instance: CurrentInstance | null,
): GatewayManifest {
  return {
    ...toAttachContract(manifest, manifestPath),
    ...(instance && {
      gateway_pid: instance.pid,
      gateway_host: instance.host,
      gateway_port: instance.port,
      gateway_protocol_version: instance.protocol_version,
      gateway_execution_mode: instance.execution_mode,
    }),
    ...(instance?.tmux_window_id === undefined ? {} : { gateway_tmux_window_id: instance.tmux_window_id }),
    ...(instance?.tmux_window_index === undefined
      ? {}
      : { gateway_tmux_window_index: instance.tmux_window_index }),
    ...(instance?.tmux_pane_id === undefined ? {} : { gateway_tmux_pane_id: instance.tmux_pane_id }),
  };
}

const noStatus: LastStatus = {
  queue_depth: 0,
  managed_agent_instance_epoch: 0,
  managed_agent_recovery: "idle",
};
