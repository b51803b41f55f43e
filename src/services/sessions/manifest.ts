import { basename, dirname, relative } from "node:path";
import { Value } from "@sinclair/typebox/value";
import type { AcpLaunch } from "../../protocol/acp-launch.ts";
import { Manifest } from "../../protocol/files.ts";
import { renderJson } from "../../protocol/json.ts";
import { ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Locks } from "../../system/locks.ts";
import type { GatewayExecution, GatewayIdentity } from "../status/project.ts";
import { localInteractive } from "./names.ts";
import type { KnownProcess } from "./process-tree.ts";
import { sessionPaths } from "./roots.ts";
import type { Resume } from "./tool-arguments.ts";
import { refuseExposed } from "./trust.ts";

/** What is known of a fresh interactive session when its manifest is built. */
export interface ManifestFacts {
  createdAtUtc: string;
  tool: string;
  agentName: string;
  agentId: string;
  sessionId: string;
  generationId: string;
  workdir: string;
  /** The program and its whole argument list, as started. */
  executable: string;
  args: readonly string[];
  /** Environment variable and folder that select another home of the tool, when one was asked for. */
  home: { envVar: string; path: string } | null;
  /** Names of the variables that the launch set on top of the person's environment. */
  envVarNames: readonly string[];
  /** Set when flags that skip permissions or sandboxes were added on request: the flags (ruling 19). */
  unattendedArgs: readonly string[] | null;
  tmux: ManifestTerminal;
  /** The tool's own process; null for a headless agent. */
  agent: KnownProcess | null;
  /** Set for a session without a terminal program. `life` names this instance of the agent. */
  headless?: {
    backend: string;
    life: string;
    displayStyle: string;
    displayDetail: string;
    model: string | undefined;
    reasoningLevel: number | undefined;
    acp?: AcpLaunch | undefined;
  };
  /** Set for an agent that we did not start: whether we know how to start it again (posture). */
  joined?: { posture: "tui_launch_options" | "headless_launch_options" | "unavailable" };
}

/** Where the agent's pane is. */
interface ManifestTerminal {
  sessionName: string;
  windowName: string;
  windowId: string;
  paneId: string;
  /**
   * Absolute path of the tmux server's socket; null for the person's own server, wherever it is asked for.
   */
  socket: string | null;
}

/**
 * The manifest, version 4, of a session that `launch` started or `join` adopted. Pure. `tmux.socket` is
 * additional: the path of the server's socket, so that the session is found from anywhere. Source:
 * spec/coordination.md "Manifest, roots, env"; rulings 16, 19, 20.
 */
export function buildManifest(facts: ManifestFacts): Manifest {
  const { tool, sessionId, generationId, workdir, tmux, headless } = facts;
  const backend = headless?.backend ?? localInteractive;
  const primary = primaryHandles(tmux);
  const progress = { turn_index: 0, working_directory: workdir, role_bootstrap_applied: false };
  return {
    schema_version: 4,
    backend,
    tool,
    role_name: null,
    created_at_utc: facts.createdAtUtc,
    working_directory: workdir,
    brain_manifest_path: null,
    agent_name: facts.agentName,
    agent_id: facts.agentId,
    tmux_session_name: tmux.sessionName,
    registry_generation_id: generationId,
    registry_launch_authority: "runtime",
    launch_plan: {
      backend,
      tool,
      executable: facts.executable,
      args: [...facts.args],
      working_directory: workdir,
      home_selector: { env_var: facts.home?.envVar ?? null, home_path: facts.home?.path ?? null },
      env_var_names: [...facts.envVarNames].sort(),
      role_injection: { method: null, role_name: null },
      metadata: headless
        ? {
            headless_output_format: "stream",
            headless_display_style: headless.displayStyle,
            headless_display_detail: headless.displayDetail,
            ...(headless.model === undefined ? {} : { headless_model: headless.model }),
            ...(headless.reasoningLevel === undefined
              ? {}
              : { headless_reasoning_level: headless.reasoningLevel }),
            ...(headless.acp ? { acp: headless.acp } : {}),
          }
        : {},
    },
    launch_policy_provenance: {
      operator_prompt_mode: facts.unattendedArgs ? "unattended" : "as_is",
      unattended_args: [...(facts.unattendedArgs ?? [])],
    },
    backend_state: {},
    runtime: {
      session_id: sessionId,
      agent_def_dir: null,
      ...toAgentProcess(facts.agent),
      registry_generation_id: generationId,
      registry_launch_authority: "runtime",
    },
    tmux: {
      session_name: tmux.sessionName,
      ...primary,
      ...(tmux.socket === null ? {} : { socket: tmux.socket }),
    },
    ...(headless
      ? {}
      : { interactive: { ...progress, terminal_id: sessionId, tmux_window_name: tmux.windowName } }),
    agent_launch_authority: {
      backend,
      tool,
      tmux_session_name: tmux.sessionName,
      ...primary,
      working_directory: workdir,
      session_id: sessionId,
      ...(facts.joined ? { session_origin: "joined_tmux" as const } : {}),
      posture_kind: facts.joined?.posture ?? "runtime_launch_plan",
      launch_args: [...facts.args],
      launch_env: [...facts.envVarNames].sort().map((name) => ({ mode: "inherit", name })),
    },
    gateway_authority: { attach: {}, control: headless ? {} : { terminal_id: sessionId } },
    ...(headless
      ? { headless: { ...progress, resume_selection_kind: "none", life: headless.life } }
      : { local_interactive: progress }),
  };
}

/** The agent's program as a manifest has it: its id alone may be another process's later. */
export function toAgentProcess(agent: KnownProcess | null) {
  return { agent_pid: agent?.pid ?? null, agent_start_token: agent?.startToken ?? null };
}

function primaryHandles(tmux: ManifestTerminal) {
  return {
    primary_window_index: "0" as const,
    primary_window_role: "managed_agent_surface" as const,
    primary_window_name: tmux.windowName,
    primary_window_id: tmux.windowId,
    primary_pane_id: tmux.paneId,
  };
}

/**
 * The manifest of an agent that was launched again. In another session than before it is a new generation,
 * and ours even if the former one was joined. Pure.
 */
export function toRelaunched(
  manifest: Manifest,
  facts: { tmux: ManifestTerminal; agent: KnownProcess | null; generationId: string },
): Manifest {
  const { tmux, agent, generationId } = facts;
  const primary = primaryHandles(tmux);
  const { session_origin: origin, ...authority } = manifest.agent_launch_authority;
  const moved = tmux.sessionName !== manifest.tmux_session_name;
  return {
    ...manifest,
    tmux_session_name: tmux.sessionName,
    registry_generation_id: generationId,
    runtime: { ...manifest.runtime, ...toAgentProcess(agent), registry_generation_id: generationId },
    tmux: {
      ...manifest.tmux,
      session_name: tmux.sessionName,
      ...primary,
      ...(tmux.socket === null ? {} : { socket: tmux.socket }),
    },
    agent_launch_authority: {
      ...authority,
      ...(origin && !moved ? { session_origin: origin } : {}),
      tmux_session_name: tmux.sessionName,
      ...primary,
    },
  };
}

/**
 * The manifest of a headless agent whose next conversation is chosen again: what earlier turns pinned is
 * forgotten, also by a gateway that sees their end later. Pure.
 */
export function toRestarted(manifest: Manifest, facts: { resume: Resume; life: string }): Manifest {
  const { resume, life } = facts;
  const {
    session_id: _pinned,
    resume_selection_value: _value,
    ...kept
  } = { ...manifest.headless } as Record<string, unknown>;
  const kinds = { new: "none", tool_last_or_new: "last", exact: "exact" } as const;
  return {
    ...manifest,
    headless: {
      ...kept,
      life,
      resume_selection_kind: kinds[resume.mode],
      ...(resume.mode === "exact" ? { resume_selection_value: resume.id } : {}),
    },
  };
}

/**
 * A manifest from its text. Throws `precondition_failed` with the problem and its path: not JSON, another
 * version than 4 (older ones are refused, never upgraded), or a missing or mistyped field.
 */
export function parseManifest(text: string, path: string): Manifest {
  const fail = (problem: string) =>
    new ServiceError("precondition_failed", `session manifest ${path}: ${problem}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw fail("not valid JSON");
  }
  const version = (value as { schema_version?: unknown } | null)?.schema_version;
  if (version !== 4) {
    throw fail(
      `schema_version ${JSON.stringify(version) ?? "missing"} is not supported; only version 4 is. Launch the agent again`,
    );
  }
  if (Value.Check(Manifest, value)) return value;
  const first = Value.Errors(Manifest, value).First();
  throw fail(`${first?.path || "/"}: ${first?.message ?? "does not fit the schema"}`);
}

/**
 * The manifest at `path`, through which everything comes to a session. Throws `not_found` when there is no
 * file, else as `refuseLinks`, `refuseExposed` and `parseManifest`.
 */
export function readManifest(files: Files, path: string): Manifest {
  refuseLinks(files, dirname(path));
  refuseExposed(files, path, "the session manifest");
  const text = files.read(path);
  if (text === null) throw new ServiceError("not_found", `there is no session manifest at ${path}`);
  return parseManifest(text, path);
}

/**
 * The manifest has three writers (launcher, gateway, coordinator): each change is one locked read and write.
 */
export type ManifestStore = ReturnType<typeof createManifestStore>;

export function createManifestStore(deps: { files: Files; locks: Locks }) {
  const { files, locks } = deps;
  const replace = (path: string, manifest: Manifest) =>
    files.write("file:manifest", path, renderJson(manifest));
  const locked = <T>(path: string, work: () => T) => locks.hold(`${path}.lock`, work);
  return {
    read: (path: string): Manifest => readManifest(files, path),
    write: (path: string, manifest: Manifest): Promise<void> => locked(path, () => replace(path, manifest)),
    /** Applies `change` to what is on disk now and returns what was written. Unknown keys are kept. */
    update: (path: string, change: (manifest: Manifest) => Manifest): Promise<Manifest> =>
      locked(path, () => {
        const changed = change(readManifest(files, path));
        replace(path, changed);
        return changed;
      }),
  };
}

/** How a gateway of this session names itself: the runtime session id (spec/gateway.md 2.7). Pure. */
export function gatewayIdentity(
  manifest: Manifest,
  execution: GatewayExecution = { executionMode: "detached_process" },
): GatewayIdentity {
  return {
    attachIdentity: manifest.runtime.session_id,
    backend: manifest.backend,
    tmuxSessionName: manifest.tmux_session_name,
    agentName: manifest.agent_name,
    ...execution,
  };
}

/** Whether the agent was launched with the flags that skip its permissions. Pure. */
export function isUnattended({ launch_policy_provenance: policy }: Manifest): boolean {
  const mode = policy !== null && typeof policy === "object" ? policy : {};
  return "operator_prompt_mode" in mode && mode.operator_prompt_mode === "unattended";
}

/**
 * Throws `precondition_failed` when the session's folder, or a folder or file of ours in it, is a symbolic
 * link: its target is not ours to read or write. Folders above it may be links: the user chooses where
 * sessions live. Each turn is looked at separately.
 */
function refuseLinks(files: Pick<Files, "isLink" | "exists">, sessionRoot: string): void {
  const paths = sessionPaths(sessionRoot);
  const isLink = (path: string) => files.isLink(path);
  const inGateway = () => [...Object.values(paths), `${paths.queue}-wal`, `${paths.queue}-shm`];
  const linked =
    [sessionRoot, paths.manifest, paths.gatewayRoot].find(isLink) ??
    (files.exists(paths.gatewayRoot) ? inGateway().find(isLink) : undefined);
  if (linked === undefined) return;
  const name = relative(dirname(sessionRoot), linked);
  throw new ServiceError(
    "precondition_failed",
    `${name} is a symbolic link and is not followed: put back the ${basename(linked)} that was there`,
  );
}
