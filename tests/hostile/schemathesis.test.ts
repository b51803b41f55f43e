import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { installSchemathesis } from "../support/schemathesis/install.ts";
import { type ForeignTargets, openForeignTargets } from "../support/schemathesis/targets.ts";

/** Of each server. A longer run: `bun run fuzz --schemathesis`. */
const seconds = 6;
const seed = 20_261_123;

let foreign: ForeignTargets;
beforeAll(async () => {
  await installSchemathesis();
  foreign = await openForeignTargets(join(import.meta.dir, "../../dist"));
}, 240_000);
afterAll(() => foreign?.[Symbol.asyncDispose]());

test.each([0, 1, 2])(
  "a schema-driven fuzzer of others finds nothing that a server and its document distinguish (%i)",
  async (index) => {
    const target = foreign.targets[index];
    const { failure, output } = (await target?.run({ seed, seconds })) ?? {
      failure: "no target",
      output: "",
    };
    expect([target?.name, failure]).toEqual([target?.name, null]);
    // It was at work, and the server is still there. How much it sends in its time depends on the machine:
    // hundreds as a rule, a dozen beside other work.
    const generated = Number(/(\d[\d,]*) generated/.exec(output)?.[1]?.replaceAll(",", "") ?? 0);
    expect(generated).toBeGreaterThan(0);
    expect(foreign.alive()).toBe(true);
  },
  300_000,
);
