import { loadGatewayExtensions } from "../../src/cli/extensions.ts";
import { createGateway, type GatewayOptions } from "../../src/cli/gateway/gateway.ts";
import { defaultTimings } from "../../src/protocol/terminal.ts";
import { endOnUnhandled, untilStopped } from "../../src/system/signals.ts";

/**
 * Serves a session on a free port until a signal ends this process; says `ready <base url>` when it does. A
 * terminal is believed sooner than usual, so that a run takes less time.
 */
export async function serveUntilTold(
  options: Pick<GatewayOptions, "system" | "sessionRoot">,
): Promise<never> {
  const createExtensions = await loadGatewayExtensions();
  const gateway = createGateway({
    ...options,
    host: "127.0.0.1",
    port: 0,
    token: null,
    profiles: [],
    env: process.env,
    extensions: createExtensions(),
    timings: { ...defaultTimings, stability_threshold_seconds: 0.15, completion_stability_seconds: 0.15 },
  });
  endOnUnhandled(gateway.logUnhandled);
  const stopped = untilStopped(() => gateway.stop());
  const { baseUrl } = await gateway.start();
  process.stdout.write(`ready ${baseUrl}\n`);
  process.exit(await stopped);
}
