import { ServiceError } from "../../system/errors.ts";
import { runtimeOptions } from "../../system/processes.ts";
import type { GatewayExecution } from "../status/project.ts";
import { paneVariables } from "../terminal/tmux/launch.ts";
import type { Environment } from "./roots.ts";

/**
 * Variables of ours that an agent may inherit: where things are, never what a token is or who the parent is.
 */
const inherited = new Set([
  "SVC_GLOBAL_RUNTIME_DIR",
  "SVC_GLOBAL_REGISTRY_DIR",
  "SVC_GLOBAL_MAILBOX_DIR",
  "SVC_PROJECT_OVERLAY_DIR",
  "SVC_PROJECT_OVERLAY_DISCOVERY_MODE",
  "SVC_TMUX_SOCKET",
]);

/** Blanked rather than left out: a pane of an agent without a program of ours may hold them. */
const withheld = ["SVC_GATEWAY_TOKEN", "SVC_COORD_TOKEN"];

const variable = /^[A-Za-z_][A-Za-z0-9_]*$/;
const loopback = ["127.0.0.1", "localhost", "::1"];

/**
 * The environment of an agent's program: the person's own (ruling 19), then `extra`, then what we publish. No
 * token of ours is in it, nor any trace of another agent that launched this one, nor what makes the hooks and
 * servers of ours that the agent starts run other code, and loopback is exempt from proxies. Pure. Source:
 * spec/coordination.md "Env".
 */
export function planEnvironment(facts: {
  person: Environment;
  extra: Readonly<Record<string, string>>;
  published: Readonly<Record<string, string>>;
}): Record<string, string> {
  const chosen: Record<string, string> = {};
  for (const [name, value] of Object.entries(facts.person)) {
    if (value === undefined || !variable.test(name) || paneVariables.includes(name)) continue;
    if (name.startsWith("SVC_") && !inherited.has(name)) continue;
    chosen[name] = value;
  }
  Object.assign(chosen, facts.extra, facts.published);
  for (const name of withheld) chosen[name] = "";
  for (const name of runtimeOptions) chosen[name] = facts.extra[name] ?? "";
  chosen["NO_PROXY"] = exempt(chosen["NO_PROXY"] ?? chosen["no_proxy"] ?? "");
  chosen["no_proxy"] = chosen["NO_PROXY"];
  return chosen;
}

/** `list` of proxy exceptions with loopback in it; `*` exempts everything already. */
function exempt(list: string): string {
  const hosts = list
    .split(",")
    .map((host) => host.trim())
    .filter((host) => host !== "");
  if (hosts.includes("*")) return list;
  return [...hosts, ...loopback.filter((host) => !hosts.includes(host))].join(",");
}

/**
 * What a gateway's process is started with, so that it costs little beside an idle agent. The runtime reads
 * them before any code of ours runs: the parent process must set them. The agent does not get them.
 */
export const runtimeSettings = {
  // Else Bun's collector wakes an idle process every second; memory that grows is still collected.
  BUN_GC_TIMER_DISABLE: "1",
  // A hundred times the usual: what runs a few times at the start is not worth compiling, nor the memory of
  // its code.
  BUN_JSC_thresholdForJITAfterWarmUp: "50000",
  // Blocks of the heap that wait for an allocation, and the thread that makes them.
  BUN_JSC_useWarmUpMarkedBlocks: "0",
  // In ms. Pages are given back by a thread that else looks after each wake-up: a quarter of an idle minute.
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "60000",
} as const;

/** `env` without `names` and without `runtimeOptions`, for a process of ours that outlives this one. Pure. */
export function environmentWithout(env: Environment, names: readonly string[]): Record<string, string> {
  const dropped = new Set<string>([...names, ...runtimeOptions]);
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !dropped.has(entry[0]),
    ),
  );
}

/** How a gateway learns from its environment where it runs. Pure. Source: spec/gateway.md "Process". */
export function toExecutionVariables(execution: GatewayExecution): Record<string, string> {
  const { executionMode, auxiliaryWindow: window } = execution;
  return {
    SVC_GATEWAY_EXECUTION_MODE: executionMode,
    ...(window && {
      SVC_GATEWAY_TMUX_WINDOW_ID: window.windowId,
      SVC_GATEWAY_TMUX_WINDOW_INDEX: window.windowIndex,
      SVC_GATEWAY_TMUX_PANE_ID: window.paneId,
    }),
  };
}

/**
 * The reverse; nothing set is a separate process. Throws `invalid_request` for an unknown mode, and for a
 * window without all three handles or at index 0. Pure.
 */
export function parseExecutionVariables(env: Environment): GatewayExecution {
  const mode = env["SVC_GATEWAY_EXECUTION_MODE"] || "detached_process";
  if (mode === "detached_process") return { executionMode: mode };
  if (mode !== "tmux_auxiliary_window") {
    throw new ServiceError("invalid_request", `SVC_GATEWAY_EXECUTION_MODE is unknown: ${mode}`);
  }
  const handle = (name: string, pattern: RegExp) => {
    const value = env[name] ?? "";
    if (pattern.test(value)) return value;
    throw new ServiceError(
      "invalid_request",
      `${name} is no handle of a tmux window: ${JSON.stringify(value)}`,
    );
  };
  return {
    executionMode: mode,
    auxiliaryWindow: {
      windowId: handle("SVC_GATEWAY_TMUX_WINDOW_ID", /^@\d+$/),
      // Index 0 is the agent's own window.
      windowIndex: handle("SVC_GATEWAY_TMUX_WINDOW_INDEX", /^[1-9]\d*$/),
      paneId: handle("SVC_GATEWAY_TMUX_PANE_ID", /^%\d+$/),
    },
  };
}
