import { dirname, join } from "node:path";
import {
  createServiceManager,
  type ServiceManager,
  type ServiceState,
  serviceNames,
} from "../../services/extensions/boot/boot-services.ts";
import type { ServicePlan } from "../../services/extensions/boot/unit-text.ts";
import { runningCoordinators } from "../../services/fleet/coordinator-files.ts";
import { openRecordOrNull } from "../../services/sessions/find.ts";
import { configRootOf, stateRootOf } from "../../services/sessions/roots.ts";
import { refuseExposed } from "../../services/sessions/trust.ts";
import { childPath } from "../../system/contained-path.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import type { Caller, CliIo } from "../command-line/command.ts";
import { rootFlags } from "../command-line/shared-flags.ts";
import { selfCommand } from "../command-line/version.ts";

export interface ServiceWish {
  /** Agents that are gone are brought back after a start of the machine. */
  isResuming: boolean;
  atOnce: number | undefined;
}

interface PlannedService extends ServicePlan {
  path: string;
  text: string;
}

export interface ServicePlans {
  manager: ServiceManager;
  services: PlannedService[];
  /** What the services will lack, as sentences. */
  lacks: string[];
}

export function openServiceManager(context: CliContext, io: Pick<CliIo, "env" | "home">): ServiceManager {
  return createServiceManager(context, {
    platform: process.platform,
    uid: process.getuid?.() ?? 0,
    home: io.home,
    configFolder: dirname(configRootOf(io.env, io.home)),
  });
}

/**
 * What an installation writes. It has nothing of the environment or of the working folder: the program by its own
 * path, a fixed PATH, and roots that flags name. Throws `precondition_failed` where another user could change
 * the program.
 */
export function planServices({ io, inherited }: Caller, wish: ServiceWish): ServicePlans {
  const context = openCliContext(io, inherited);
  const { files, roots } = context;
  const self = selfCommand();
  const [program] = self;
  for (const word of self) if (word.startsWith("/")) refuseExposed(files, word, word);
  const rootOf = { "runtime-root": roots.runtimeRoot, "registry-root": roots.registryRoot };
  const flags = Object.keys(rootFlags).flatMap((name) =>
    inherited[name] === undefined ? [] : [`--${name}`, rootOf[name as keyof typeof rootOf]],
  );
  const atOnce = wish.atOnce === undefined ? [] : ["--at-once", String(wish.atOnce)];
  const common = {
    searchPath: searchPathOf(program, io.home),
    environmentFile: join(configRootOf(io.env, io.home), "coord.env"),
  };
  const logOf = (name: string) => childPath(stateRootOf(io.env, io.home), `${name}.log`);
  const plans: ServicePlan[] = [
    {
      ...common,
      name: "svc-coord",
      description: "svc: one address for all coding agents of this user",
      command: [...self, "coord", "serve", ...flags],
      isServer: true,
      logPath: logOf("svc-coord"),
    },
    {
      ...common,
      name: "svc-resume",
      description: "svc: bring back the agents that went with the machine",
      command: [...self, "mgr", "resume", ...atOnce, ...flags],
      isServer: false,
      logPath: logOf("svc-resume"),
    },
  ];
  const manager = openServiceManager(context, io);
  return {
    manager,
    services: plans
      .filter(({ isServer }) => isServer || wish.isResuming)
      .map((plan) => ({ ...plan, path: manager.pathOf(plan.name), text: manager.render(plan) })),
    lacks: findLacks(context, io, common),
  };
}

function searchPathOf(program: string, home: string): string[] {
  const homebrew = process.platform === "darwin" ? ["/opt/homebrew/bin"] : [];
  const usual = [join(home, ".local", "bin"), ...homebrew, "/usr/local/bin", "/usr/bin", "/bin"];
  return [...new Set([dirname(program), ...usual])];
}

/** Where svc looks for what is its user's. */
const placeVariables = [
  "XDG_STATE_HOME",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "SVC_GLOBAL_RUNTIME_DIR",
  "SVC_GLOBAL_REGISTRY_DIR",
  "SVC_GLOBAL_MAILBOX_DIR",
  "SVC_TMUX_SOCKET",
  "SVC_TOOL_PROFILES",
  "SVC_ACP_PROFILES",
  "SVC_COORD_TOKEN",
];

function findLacks(
  context: CliContext,
  io: Pick<CliIo, "env">,
  { searchPath, environmentFile }: Pick<ServicePlan, "searchPath" | "environmentFile">,
): string[] {
  const { files, processes, registry } = context;
  const text = files.read(environmentFile) ?? "";
  const isGiven = (name: string) => new RegExp(`^${name}=`, "m").test(text);
  const unset = placeVariables.filter((name) => io.env[name] && !isGiven(name));
  const launched = registry.list().records.flatMap((record) => {
    const plan = openRecordOrNull(files, record)?.manifest.launch_plan;
    return plan ? [processes.which(plan.executable)] : [];
  });
  const programs = new Set([processes.which("tmux"), ...launched].filter((path) => path !== null));
  const unseen = [...programs].filter((path) => !searchPath.includes(dirname(path)));
  return [
    ...(unset.length === 0
      ? []
      : [`they have no ${unset.join(", ")}: write the lines into ${environmentFile}`]),
    ...(unseen.length === 0 || isGiven("PATH")
      ? []
      : [`their PATH does not lead to ${unseen.join(", ")}: write a line PATH=... into ${environmentFile}`]),
  ];
}

export interface InstalledServices {
  states: ServiceState[];
  /** Why the server was not started, as a clause; null where it was. */
  unstarted: string | null;
  endsAtLogout: boolean | null;
}

/** Writes and enables the services, and starts the server. The agents are brought back at the next start. */
export async function installServices(caller: Caller, plans: ServicePlans): Promise<InstalledServices> {
  const { manager, services } = plans;
  await manager.install(services);
  const other = await otherServer(caller, manager);
  if (other === null) await manager.start("svc-coord");
  return {
    states: await Promise.all(serviceNames.map(manager.state)),
    unstarted: other,
    endsAtLogout: await manager.endsAtLogout(),
  };
}

/** A server that somebody started by hand holds the port. */
async function otherServer({ io, inherited }: Caller, manager: ServiceManager): Promise<string | null> {
  const context = openCliContext(io, inherited);
  const { pid } = await manager.state("svc-coord");
  const other = runningCoordinators({ ...context, runtimeRoot: context.roots.runtimeRoot }).find(
    ({ instance }) => instance.pid !== pid,
  );
  if (!other) return null;
  const { instance } = other;
  return `process ${instance.pid} serves already at ${instance.api_base_url}: end it, then: ${manager.words.start}`;
}
