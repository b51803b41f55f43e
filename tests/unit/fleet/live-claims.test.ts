import { expect, test } from "bun:test";
import type { GatewayLink } from "../../../src/services/fleet/gateway-link.ts";
import { type ClaimDeps, settleClaims } from "../../../src/services/fleet/liveness.ts";
import { createScratch } from "../../support/scratch.ts";
import { sampleManifest } from "../../support/session-samples.ts";

test("variables that tmux does not take are reported, and the registry record is set all the same", async () => {
  using scratch = createScratch();
  const manifest = sampleManifest();
  const reported: string[] = [];
  const located: unknown[] = [];
  const deps = {
    files: scratch.files,
    registry: {
      read: () => ({ generation_id: manifest.registry_generation_id, gateway: null }),
      setGateway: async (_agent: string, _generation: string, locator: unknown) => located.push(locator),
    },
    tmuxFor: () => ({ environment: () => Promise.reject(new Error("tmux does not answer")) }),
    onClaimError: (what: string, error: unknown) => void reported.push(`${what}: ${String(error)}`),
  } as unknown as ClaimDeps;
  const link = { state: "healthy", instance: { host: "127.0.0.1", port: 4000 } } as unknown as GatewayLink;
  await settleClaims(deps, { manifest, sessionRoot: scratch.folder }, link);
  expect(reported).toEqual(["live variables not set: Error: tmux does not answer"]);
  expect(located).toMatchObject([{ host: "127.0.0.1", port: 4000 }]);
});
