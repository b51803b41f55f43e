import type { Manifest } from "../../protocol/files.ts";
import type { Files } from "../../system/files.ts";
import type { Ids } from "../../system/ids.ts";
import type { Steps } from "../../system/steps.ts";
import { planEnvironment, readLaunchEnvironment, runtimeSettings } from "../sessions/environment.ts";
import { type Environment, sessionPaths } from "../sessions/roots.ts";
import type { Tmux, TmuxPane } from "../terminal/tmux-command.ts";
import { createLauncher } from "../terminal/tmux-launch.ts";

/** Puts the bridge of a turn into the agent's pane. */
export interface TurnPane {
  /** Throws when tmux refuses; nothing was started then. */
  begin(turnFolder: string, place: { pane: TmuxPane; manifest: Manifest }): Promise<void>;
}

/** Set for our own processes, and none of the tool's business. */
const ofTheGateway = new Set(Object.keys(runtimeSettings));

export function createTurnPane(deps: {
  tmux: Tmux;
  files: Files;
  ids: Ids;
  steps: Steps;
  sessionRoot: string;
  /** How this very program is started as a bridge; the folder of the turn is appended. */
  bridgeCommand: readonly string[];
  personEnvironment: Environment;
}): TurnPane {
  const { files, sessionRoot } = deps;
  const launcher = createLauncher({ ...deps, folder: sessionRoot });
  return {
    async begin(turnFolder, { pane, manifest }) {
      const { launch_plan: plan } = manifest;
      const { env_var: homeVariable, home_path: home } = plan.home_selector;
      const person = Object.fromEntries(
        Object.entries(deps.personEnvironment).filter(([name]) => !ofTheGateway.has(name)),
      );
      await launcher.respawn(pane.paneId, {
        command: [...deps.bridgeCommand, turnFolder],
        workdir: plan.working_directory,
        afterwards: "wait",
        env: planEnvironment({
          person,
          extra: {
            ...readLaunchEnvironment(files, sessionRoot),
            ...(homeVariable !== null && home !== null ? { [homeVariable]: home } : {}),
          },
          published: {
            SVC_MANIFEST_PATH: sessionPaths(sessionRoot).manifest,
            SVC_AGENT_ID: manifest.agent_id,
          },
        }),
      });
    },
  };
}
