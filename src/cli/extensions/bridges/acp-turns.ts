import { resolve } from "node:path";
import { createAcpBridge } from "../../../services/extensions/bridges/acp/bridge.ts";
import type { BridgeDeps } from "../../../services/headless/bridge.ts";
import type { System } from "../../../system/system.ts";
import { programVersion } from "../../command-line/version.ts";

/**
 * Runs all turns of a session beside its one ACP agent, until the session ends. `instance`: the id in its
 * manifest, empty without one.
 */
export async function runAcpTurns(
  deps: System & BridgeDeps,
  [sessionRoot = "", instance = ""]: readonly string[],
): Promise<void> {
  // The library writes what an agent sent it to the terminal, control characters too.
  console.error = () => {};
  const { version } = await programVersion();
  const bridge = createAcpBridge({
    ...deps,
    sessionRoot: resolve(sessionRoot),
    life: instance === "" ? null : instance,
    version,
  });
  // The session's end ends the agent; a turn that runs is finished first.
  process.on("SIGHUP", () => bridge.stop({ interrupt: false }));
  process.on("SIGTERM", () => bridge.stop({ interrupt: true }));
  // Ctrl-C of a person in the pane ends the turn alone.
  process.on("SIGINT", () => bridge.interrupt());
  await bridge.run();
}
