import { resolve } from "node:path";
import { createBridge } from "../../services/headless/bridge.ts";
import { headlessProvider } from "../../services/headless/providers.ts";
import { messageOf } from "../../system/errors.ts";
import { outliveTerminal } from "../../system/signals.ts";
import { createSystem } from "../../system/system.ts";
import { visible } from "../../system/visible.ts";
import { extensionTurnBridge } from "../extensions.ts";

/**
 * Runs the turn of one turn directory beside its provider, for a gateway that started us in the agent's pane.
 * Exit code 0 when the turn was run, whatever it came to, 1 when it had been begun or settled before, 2 for a
 * wrong call. With the flag of an extension, such as `--acp`: runs all turns of a session.
 */
export async function runTurnBridge(argv: readonly string[]): Promise<number> {
  const [folder, ...more] = argv;
  const system = createSystem();
  const deps = {
    ...system,
    providerOf: headlessProvider,
    env: Object.fromEntries(
      Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    ),
    show: createPaneText(),
  };
  try {
    const runSession = extensionTurnBridge(folder);
    if (runSession !== undefined && more.length > 0) {
      await runSession(deps, more);
      return 0;
    }
    if (folder === undefined || more.length > 0) {
      process.stderr.write("turn-bridge: give the folder of one turn\n");
      return 2;
    }
    const bridge = createBridge(deps);
    outliveTerminal(() => bridge.interrupt("pane"));
    return (await bridge.run(resolve(folder))) === "ran" ? 0 : 1;
  } catch (error) {
    process.stderr.write(visible(`turn-bridge: ${messageOf(error)}\n`));
    return 1;
  }
}

/** A pane that is gone takes no text; the turn goes on. `process.stdout` takes 10 ms to make. */
function createPaneText(): (text: string) => void {
  const out = Bun.stdout.writer();
  return (text) => {
    try {
      for (const done of [out.write(text), out.flush()]) Promise.resolve(done).catch(() => {});
    } catch {}
  };
}
