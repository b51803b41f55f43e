import { isAbsolute } from "node:path";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { HeadlessLaunch, HeadlessLaunched } from "../../protocol/coordinator.ts";
import type { Manifest } from "../../protocol/files.ts";
import { childPath, isOneName } from "../../system/contained-path.ts";
import { messageOf, ServiceError, type ServiceErrorCode, wrapRefusal } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { type LaunchDeps, type LaunchedSession, launchAgent, type NewSession } from "../sessions/launch.ts";
import { chooseTool, type LaunchTool } from "../sessions/launch-tools.ts";
import { nameProblem } from "../sessions/names.ts";
import { removeSession } from "../sessions/roots.ts";
import { withRole } from "../sessions/tool-arguments.ts";
import { explainExposure } from "../sessions/trust.ts";
import type { Directory } from "./directory.ts";
import { type StopAgentDeps, stopAgent } from "./stop-agent.ts";

/** Makes headless agents. */
export type FleetLaunch = ReturnType<typeof createFleetLaunch>;

export interface FleetLaunchDeps {
  directory: Directory;
  launching: LaunchDeps;
  stopping: StopAgentDeps;
  tools: readonly LaunchTool[];
  files: Files;
  ids: Ids;
  /** Where the coordinator is reached, for the manifest's `gateway_authority`. */
  apiBaseUrl: () => string;
  giveMailbox: (agent: FoundAgent, wish: NonNullable<HeadlessLaunch["mailbox"]>) => Promise<unknown>;
}

/** Of a brain manifest and of a role. */
const maxBytes = 1024 * 1024;

export function createFleetLaunch(deps: FleetLaunchDeps) {
  const { files, directory } = deps;

  /** Everything that can be refused, before anything is made. */
  function plan(wish: HeadlessLaunch) {
    const workdir = folderOf(files, "working_directory", wish.working_directory);
    const definition = folderOf(files, "agent_def_dir", wish.agent_def_dir);
    refuseForeign(files, "agent_def_dir", definition);
    const brainText = textIn(files, "brain_manifest_path", wish.brain_manifest_path);
    if (brainText === null) throw invalid("brain_manifest_path", "there is no such file");
    const brain = parseBrainManifest(brainText);
    if (brain.tool !== wish.tool) {
      throw invalid("tool", `the brain manifest is of "${brain.tool}"`);
    }
    const rolePrompt = readRole(files, definition, wish.role_name, brain);
    if (wish.mailbox?.filesystem_root !== undefined) {
      absolute("mailbox.filesystem_root", wish.mailbox.filesystem_root);
    }
    const tool = chooseTool(deps.tools, wish.tool);
    if (!tool.headless) throw invalid("tool", `${wish.tool} has no headless form that we drive`);
    const agentName = wish.agent_name ?? `${wish.role_name}-${deps.ids.hex(3)}`;
    const problem = nameProblem(agentName);
    if (problem !== null) throw invalid("agent_name", problem);
    return { workdir, definition, brain, tool, rolePrompt, agentName };
  }

  /** What the manifest says of a launch through the coordinator beyond any other launch. */
  function described(manifest: Manifest, wish: HeadlessLaunch, rolePrompt: string): Manifest {
    const { role_name } = wish;
    return {
      ...withRole(manifest, { name: role_name, text: rolePrompt }, "agent_def_dir"),
      brain_manifest_path: wish.brain_manifest_path,
      runtime: { ...manifest.runtime, agent_def_dir: wish.agent_def_dir },
      gateway_authority: {
        ...manifest.gateway_authority,
        control: { api_base_url: deps.apiBaseUrl(), managed_agent_ref: manifest.runtime.session_id },
      },
    };
  }

  async function undo(session: LaunchedSession): Promise<void> {
    try {
      await stopAgent(deps.stopping, session);
      await deps.launching.registry.remove(
        session.manifest.agent_id,
        session.manifest.registry_generation_id,
      );
      removeSession(files, deps.launching.runtimeRoot, session.sessionRoot);
    } finally {
      directory.refresh();
    }
  }

  return {
    /**
     * Throws `invalid_request` for a field that does not fit (contract 2.9), `conflict` when the agent runs
     * already or its mailbox is another's, `unavailable` when it could not be made; nothing of it is left then.
     */
    async launch(wish: HeadlessLaunch): Promise<HeadlessLaunched> {
      const { workdir, brain, tool, rolePrompt, agentName } = plan(wish);
      const session = await launchAgent(deps.launching, {
        tool,
        agentName,
        agentId: wish.agent_id,
        workdir,
        args: brain.args,
        home: brain.home ?? undefined,
        unattended: brain.unattended,
        headless: {
          displayStyle: wish.headless_display_style ?? "plain",
          displayDetail: wish.headless_display_detail ?? "concise",
          model: undefined,
          reasoningLevel: undefined,
        },
      });
      try {
        await deps.launching.manifests.update(session.manifestPath, (manifest) =>
          described(manifest, wish, rolePrompt),
        );
        if (wish.mailbox) await deps.giveMailbox(session, wish.mailbox);
      } catch (error) {
        await undo(session);
        throw wrapRefusal(error, reasonOf(error), (why) => `the agent was not made: ${why}`);
      }
      directory.refresh();
      const { identity } = directory.resolve(session.manifest.runtime.session_id);
      return {
        success: true,
        tracked_agent_id: identity.tracked_agent_id,
        identity: { ...identity, liveness: "alive" },
        manifest_path: session.manifestPath,
        session_root: session.sessionRoot,
        detail: `"${agentName}" waits for its first turn${lostSettings(session.notifier)}`,
      };
    },
  };
}

function lostSettings(kept: NewSession["notifier"]): string {
  return kept && "error" in kept ? `; its mail notifier's settings could not be kept: ${kept.error}` : "";
}

/** A mailbox that does not fit is the caller's to mend; whatever else went wrong is not. */
function reasonOf(error: unknown): ServiceErrorCode {
  const reason = error instanceof ServiceError ? error.reason : null;
  return reason === "invalid_request" || reason === "conflict" ? reason : "unavailable";
}

function readRole(files: Files, definition: string, role: string, brain: Brain): string {
  if (!/^[A-Za-z0-9][\w.-]*$/.test(role)) throw invalid("role_name", "is no name of a role");
  if (!isOneName(role)) throw invalid("role_name", "is too long");
  const path = childPath(definition, "roles", role, "system-prompt.md");
  const text = textIn(files, "role_name", path) ?? brain.rolePrompt;
  if (text === null) throw invalid("role_name", "it has no roles/<role>/system-prompt.md in agent_def_dir");
  return text;
}

/**
 * The text of a file that a caller names, or null when there is none. What is no file of ours may be a pipe.
 */
function textIn(files: Files, field: string, path: string): string | null {
  const real = looking(field, () => files.realPath(absolute(field, path)));
  if (real === null) return null;
  refuseForeign(files, field, path);
  const facts = looking(field, () => files.stat(real));
  if (facts === null || facts.directory) throw invalid(field, "is not a regular file");
  if (facts.size > maxBytes) throw invalid(field, "is larger than 1 MiB");
  const text = looking(field, () => files.read(real));
  if (text === null) throw invalid(field, "is not a regular file of this user alone");
  return text;
}

/**
 * What names programs, arguments or a role is read only where no other user can change it (security.md, rule
 * 3).
 */
function refuseForeign(files: Files, field: string, path: string): void {
  const exposure = looking(field, () => files.exposure(path));
  if (exposure) throw invalid(field, `is refused: ${explainExposure(exposure)}`);
}

function folderOf(files: Files, field: string, path: string): string {
  if (looking(field, () => files.stat(absolute(field, path)))?.directory) return path;
  throw invalid(field, "is not a folder");
}

/** A path may be too long, lead through a folder that is not ours, or hold what no path holds. */
function looking<T>(field: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw invalid(field, "cannot be read");
  }
}

function absolute(field: string, path: string): string {
  if (isAbsolute(path)) return path;
  throw invalid(field, "must be an absolute path");
}

function invalid(field: string, problem: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${problem}`);
}

const open = { additionalProperties: true } as const;

/** The parts of a brain manifest, schema 3, that a headless launch reads. Source: spec/coordination.md. */
const BrainManifest = Type.Object(
  {
    schema_version: Type.Literal(3),
    inputs: Type.Object({ tool: Type.String(), role_prompt_text: Type.Optional(Type.String()) }, open),
    launch_policy: Type.Optional(Type.Object({ operator_prompt_mode: Type.Optional(Type.String()) }, open)),
    runtime: Type.Optional(
      Type.Object(
        {
          launch_home_selector: Type.Optional(
            Type.Object({ env_var: Type.Optional(Type.String()), value: Type.Optional(Type.String()) }, open),
          ),
          launch_contract: Type.Optional(
            Type.Object(
              {
                adapter_defaults: Type.Optional(
                  Type.Object({ args: Type.Optional(Type.Array(Type.String())) }, open),
                ),
              },
              open,
            ),
          ),
        },
        open,
      ),
    ),
  },
  open,
);

/** What a brain manifest asks of a launch. */
interface Brain {
  tool: string;
  rolePrompt: string | null;
  /** Only where it says so itself: flags that skip permissions are never a default (ruling 19). */
  unattended: boolean;
  home: string | null;
  args: string[];
}

/** Reads YAML or JSON. Throws `invalid_request` with the fields that do not match. Pure. */
export function parseBrainManifest(text: string): Brain {
  let value: unknown;
  try {
    value = Bun.YAML.parse(text);
  } catch (error) {
    throw new ServiceError("invalid_request", `brain_manifest_path: ${messageOf(error)}`);
  }
  if (!Value.Check(BrainManifest, value)) {
    const first = Value.Errors(BrainManifest, value).First();
    throw new ServiceError(
      "invalid_request",
      `brain_manifest_path: not a brain manifest of schema 3, at ${first?.path || "/"}`,
    );
  }
  const { inputs, launch_policy, runtime } = value;
  return {
    tool: inputs.tool,
    rolePrompt: inputs.role_prompt_text ?? null,
    unattended: launch_policy?.operator_prompt_mode === "unattended",
    home: runtime?.launch_home_selector?.value ?? null,
    args: runtime?.launch_contract?.adapter_defaults?.args ?? [],
  };
}
