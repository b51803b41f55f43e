import { resolve } from "node:path";
import type { AttachDeps } from "../services/fleet/attach-gateway.ts";
import type { StopAgentDeps } from "../services/fleet/stop-agent.ts";
import { headlessProvider } from "../services/headless/providers.ts";
import type { LaunchDeps } from "../services/sessions/launch.ts";
import { type LaunchTool, toLaunchTool } from "../services/sessions/launch-tools.ts";
import { createManifestStore } from "../services/sessions/manifest.ts";
import { createRegistry } from "../services/sessions/registry.ts";
import { findOverlay, planRoots, type Roots } from "../services/sessions/roots.ts";
import { createSessionAlive } from "../services/sessions/session-alive.ts";
import { allProfiles, compileProfile, type ProfileSet, parseProfiles } from "../services/terminal/profile.ts";
import type { Tmux } from "../services/terminal/tmux-command.ts";
import { messageOf, ServiceError } from "../system/errors.ts";
import type { Network } from "../system/network.ts";
import { createSystem, type System } from "../system/system.ts";
import type { CliIo } from "./command.ts";
import { selfCommand } from "./self-command.ts";
import { bareTmuxSocket, chooseTmuxSocket, openTmux, socketOfPane } from "./tmux-socket.ts";

/** Everything a command may need, wired once: the composition root of the command line. */
export interface World extends LaunchDeps, AttachDeps, StopAgentDeps, System {
  system: System;
  network: Network;
  roots: Roots;
  tmux: Tmux;
  /** The server of the pane that this runs in, whatever SVC_TMUX_SOCKET says; outside tmux the same as `tmux`. */
  paneTmux: Tmux;
  /** The socket that a bare `tmux` of the person's shell reaches. */
  bareTmuxSocket: string;
  tools: readonly LaunchTool[];
  /** How this very program is started as `svc-mgr`. */
  managerCommand: readonly string[];
}

/** The part of it that a gateway needs too: where things are and who is registered. */
export type Places = Pick<World, "system" | "roots" | "tmuxFor" | "sessionAlive" | "registry" | keyof System>;

/** `flags`: values of `rootFlags`; relative folders count from the working directory. */
export function openPlaces(
  io: Pick<CliIo, "env" | "cwd" | "home">,
  flags: Readonly<Record<string, unknown>>,
  system: System,
): Places {
  const { clock, files, locks } = system;
  const { env } = io;
  const folder = (name: string) => {
    const value = flags[name];
    return typeof value === "string" ? resolve(io.cwd, value) : undefined;
  };
  const roots = planRoots({
    flags: { runtimeRoot: folder("runtime-root"), registryRoot: folder("registry-root") },
    env,
    home: io.home,
    overlay: findOverlay(files, env, io.cwd),
  });
  const tmuxFor = (socket: string | undefined) => openTmux(system, socket, env).tmux;
  const sessionAlive = createSessionAlive(tmuxFor);
  return {
    ...system,
    system,
    roots,
    tmuxFor,
    sessionAlive,
    registry: createRegistry({ files, locks, clock, root: roots.registryRoot, sessionAlive }),
  };
}

/** As `openPlaces`, with everything else. */
export function openWorld(
  io: Pick<CliIo, "env" | "cwd" | "home">,
  flags: Readonly<Record<string, unknown>> = {},
  system: System = createSystem(),
): World {
  const places = openPlaces(io, flags, system);
  const { env } = io;
  const { files, locks, roots, tmuxFor } = places;
  const self = selfCommand();
  const demoCommand: [string, ...string[]] = [...self, "demo-agent"];
  return {
    ...places,
    env,
    tmux: tmuxFor(chooseTmuxSocket(env)),
    paneTmux: tmuxFor(socketOfPane(env) ?? chooseTmuxSocket(env)),
    bareTmuxSocket: bareTmuxSocket(env, files, process.getuid?.() ?? 0),
    manifests: createManifestStore({ files, locks }),
    runtimeRoot: roots.runtimeRoot,
    personEnvironment: env,
    tools: allProfiles(readProfiles(system, env)).map((profile) =>
      toLaunchTool(compileProfile(profile), demoCommand, (tool) => headlessProvider(tool) !== null),
    ),
    serveCommand: [...self, "serve", "--registry-root", roots.registryRoot],
    managerCommand: [
      ...[...self, "mgr"],
      ...["--runtime-root", roots.runtimeRoot, "--registry-root", roots.registryRoot],
    ],
  };
}

/** The tool profiles of the file that SVC_TOOL_PROFILES names; none when it names none. */
export function readProfiles(system: Pick<System, "files">, env: CliIo["env"]): ProfileSet {
  const path = env["SVC_TOOL_PROFILES"];
  if (!path) return [];
  const text = system.files.read(path);
  if (text === null) throw new ServiceError("invalid_request", `SVC_TOOL_PROFILES: there is no file ${path}`);
  try {
    return parseProfiles(text);
  } catch (error) {
    throw new ServiceError("invalid_request", `SVC_TOOL_PROFILES: ${path}: ${messageOf(error)}`);
  }
}
