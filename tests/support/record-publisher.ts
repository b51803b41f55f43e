/** A process for registry tests: publishes one generation of one agent id, and says what came of it. */
import { createRegistry } from "../../src/services/sessions/registry.ts";
import { createLocks } from "../../src/system/locks.ts";
import { createSystem } from "../../src/system/system.ts";
import { sampleRecord } from "./session-samples.ts";

const [root = "", generationId = ""] = process.argv.slice(2);
const system = createSystem();
const registry = createRegistry({
  ...system,
  root,
  locks: createLocks(system),
  // Whoever published first lives on.
  sessionAlive: async () => true,
});
try {
  const record = await registry.publish(sampleRecord({ generationId }, system.clock.nowMs()));
  console.log(`published ${record.generation_id}`);
} catch (error) {
  console.log(`refused ${(error as { reason?: string }).reason}`);
}
