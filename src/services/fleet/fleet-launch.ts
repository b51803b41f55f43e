import { createHash } from "node:crypto";
import { isAbsolute, join } from "node:path";
import type { HeadlessLaunch, HeadlessLaunched } from "../../protocol/coordinator.ts";
import type { Manifest } from "../../protocol/files.ts";
import { messageOf, ServiceError } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { FoundAgent } from "../sessions/find.ts";
import { type LaunchDeps, type LaunchedSession, launchAgent } from "../sessions/launch.ts";
import { chooseTool, type LaunchTool } from "../sessions/launch-tools.ts";
import { nameProblem } from "../sessions/names.ts";
import { type Brain, parseBrainManifest } from "./brain-manifest.ts";
import type { Directory } from "./directory.ts";
import type { StopAgentDeps } from "./stop-agent.ts";
import { stopAgent } from "./stop-agent.ts";

/** Makes headless agents. */
export interface FleetLaunch {
  /**
   * Throws `invalid_request` for a field that does not fit (contract 2.9), `conflict` when the agent runs already,
   * `unavailable` when it could not be made; nothing of it is left then.
   */
  launch(wish: HeadlessLaunch): Promise<HeadlessLaunched>;
}

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

export function createFleetLaunch(deps: FleetLaunchDeps): FleetLaunch {
  const { files, directory } = deps;

  /** Everything that can be refused, before anything is made. */
  function plan(wish: HeadlessLaunch) {
    const workdir = folderOf(files, "working_directory", wish.working_directory);
    const definition = folderOf(files, "agent_def_dir", wish.agent_def_dir);
    const brainText = files.read(absolute("brain_manifest_path", wish.brain_manifest_path));
    if (brainText === null) throw invalid("brain_manifest_path", "there is no such file");
    const brain = parseBrainManifest(brainText);
    if (brain.tool !== wish.tool) {
      throw invalid("tool", `the brain manifest is of "${brain.tool}"`);
    }
    const tool = chooseTool(deps.tools, wish.tool);
    if (!tool.headless) throw invalid("tool", `${wish.tool} has no headless form that we drive`);
    const rolePrompt = readRole(files, definition, wish.role_name, brain);
    const agentName = wish.agent_name ?? `${wish.role_name}-${deps.ids.hex(3)}`;
    const problem = nameProblem(agentName);
    if (problem !== null) throw invalid("agent_name", problem);
    return { workdir, definition, brain, tool, rolePrompt, agentName };
  }

  /** What the manifest says of a launch through the coordinator beyond any other launch. */
  function described(manifest: Manifest, wish: HeadlessLaunch, rolePrompt: string): Manifest {
    const { role_name } = wish;
    return {
      ...manifest,
      role_name,
      brain_manifest_path: wish.brain_manifest_path,
      runtime: { ...manifest.runtime, agent_def_dir: wish.agent_def_dir },
      gateway_authority: {
        ...manifest.gateway_authority,
        control: { api_base_url: deps.apiBaseUrl(), managed_agent_ref: manifest.runtime.session_id },
      },
      system_prompt: {
        format: "text",
        role_name,
        text: rolePrompt,
        sha256: createHash("sha256").update(rolePrompt).digest("hex"),
        source: "agent_def_dir",
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
      files.remove("file:session-remove", session.sessionRoot);
    } finally {
      directory.refresh();
    }
  }

  return {
    async launch(wish) {
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
        throw new ServiceError("unavailable", `the agent was not made: ${messageOf(error)}`, {
          cause: error,
        });
      }
      directory.refresh();
      const { identity } = directory.resolve(session.manifest.runtime.session_id);
      return {
        success: true,
        tracked_agent_id: identity.tracked_agent_id,
        identity: { ...identity, liveness: "alive" },
        manifest_path: session.manifestPath,
        session_root: session.sessionRoot,
        detail: `"${agentName}" waits for its first turn`,
      };
    },
  };
}

function readRole(files: Files, definition: string, role: string, brain: Brain): string {
  if (!/^[A-Za-z0-9][\w.-]*$/.test(role)) throw invalid("role_name", "is no name of a role");
  const text = files.read(join(definition, "roles", role, "system-prompt.md")) ?? brain.rolePrompt;
  if (text === null) throw invalid("role_name", "it has no roles/<role>/system-prompt.md in agent_def_dir");
  return text;
}

function folderOf(files: Files, field: string, path: string): string {
  if (files.stat(absolute(field, path))?.directory) return path;
  throw invalid(field, "is not a folder");
}

function absolute(field: string, path: string): string {
  if (isAbsolute(path)) return path;
  throw invalid(field, "must be an absolute path");
}

function invalid(field: string, problem: string): ServiceError {
  return new ServiceError("invalid_request", `${field}: ${problem}`);
}
