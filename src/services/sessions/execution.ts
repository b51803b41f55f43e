import { ServiceError } from "../../system/errors.ts";
import type { GatewayExecution } from "../status/project.ts";
import type { Environment } from "./roots.ts";

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
