import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { checkDeliveries } from "../../../src/cli/commands/doctor.ts";
import { openDeliveryStore } from "../../../src/db/coordinator/delivery-store.ts";
import { toDelivered } from "../../../src/services/extensions/deliveries/decide.ts";
import { deliveryPaths } from "../../../src/services/extensions/deliveries/delivery.ts";
import { defaultRulesFile, stateRootOf } from "../../../src/services/sessions/roots.ts";
import { createLocks } from "../../../src/system/locks.ts";
import { quietSteps } from "../../../src/system/steps.ts";
import { attentionItem } from "../../support/attention-items.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { createScratch } from "../../support/scratch.ts";

const hourMs = 3_600_000;
const rules = "version: 1\nrules:\n  desk: { command: { argv: [cat] } }\n";

test("doctor names rules with mistakes, and deliveries that fail for an hour or were given up today", async () => {
  using scratch = createScratch();
  const clock = createFakeClock();
  const io = { env: {}, home: scratch.folder, program: "svc-mgr" };
  const roots = { registryRoot: scratch.path("registry") };
  const locks = createLocks({ clock });
  const runtimeRoot = scratch.path("runtime");
  const check = () =>
    checkDeliveries({ files: scratch.files, clock, locks, roots, runtimeRoot } as never, io).map(
      ({ verdict, detail }) => `${verdict}: ${detail}`,
    );
  expect(check()).toEqual([]);

  const rulesFile = defaultRulesFile(io.env, io.home);
  mkdirSync(dirname(rulesFile), { recursive: true });
  writeFileSync(rulesFile, `${rules}    digest: 5\n`, { mode: 0o600 });
  expect(check()).toEqual([expect.stringMatching(/^warning: nothing is delivered: .*deliveries\.yaml:4: /)]);
  writeFileSync(rulesFile, rules, { mode: 0o600 });
  const unserved = `warning: nothing is delivered: no coordination server runs: ${rulesFile}`;
  expect(check()).toEqual([unserved]);

  const paths = deliveryPaths(stateRootOf(io.env, io.home), roots.registryRoot);
  mkdirSync(paths.folder, { recursive: true });
  const lock = locks.tryTake(paths.lock);
  expect(check()).toEqual([`ok: ${rulesFile}`]);
  const store = openDeliveryStore({ path: paths.store, clock, steps: quietSteps, makeId: () => "dlv_1" });
  const entry = {
    rule: "desk",
    target: "command",
    item: toDelivered(attentionItem()),
    gathers: false,
    mayRecur: false,
  } as const;
  store.enqueue([{ ...entry, dueMs: 0 }], clock.nowMs());
  const beganMs = clock.nowMs();
  store.begin(1, { nowMs: beganMs, retryMs: beganMs, withdrawn: [], gathers: false });
  store.settle(1, { state: "pending", dueMs: beganMs, error: "exit status 3" });
  await clock.advance(hourMs - 1);
  expect(check()).toEqual([`ok: ${rulesFile}`]);
  await clock.advance(1);
  const since = 'warning: rule "desk": ';
  expect(check()).toEqual([`${since}1 wait since 2026-01-01T00:00:00.000+00:00, 0 given up: exit status 3`]);
  store.settle(1, { state: "given_up", atMs: clock.nowMs(), error: "exit status 4" });
  expect(check()).toEqual([`${since}0 wait since 2026-01-01T00:00:00.000+00:00, 1 given up: exit status 4`]);
  await clock.advance(25 * hourMs);
  expect(check()).toEqual([`ok: ${rulesFile}`]);
  store.close();

  lock?.release();
  expect(check()).toEqual([unserved]);
  locks.tryTake(paths.lock);
  writeFileSync(paths.store, "no database");
  expect(check()).toEqual([expect.stringMatching(/^warning: their file cannot be read: /)]);
});
