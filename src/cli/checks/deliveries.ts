import { openDeliveriesForReading } from "../../db/coordinator/delivery-listing.ts";
import { deliveryPaths } from "../../services/delivery/delivery.ts";
import { rulesProblem } from "../../services/delivery/rules.ts";
import { defaultRulesFile, stateRootOf } from "../../services/sessions/roots.ts";
import { toTimestamp } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { CliContext } from "../cli-context.ts";
import type { CliIo } from "../command.ts";
import { type Check, ok, warning } from "./check.ts";

const name = "deliveries";
/** Attempts that fail for less are those of a target that restarts. */
const failingMs = 3_600_000;
const recentMs = 24 * 3_600_000;

/** The rule file, and deliveries that fail for long. Nothing where this user delivers nothing. */
export function checkDeliveries(
  { files, roots, clock }: CliContext,
  io: Pick<CliIo, "env" | "home">,
): Check[] {
  const rulesFile = defaultRulesFile(io.env, io.home);
  const paths = deliveryPaths(stateRootOf(io.env, io.home), roots.registryRoot);
  const found: Check[] = [];
  if (files.exists(rulesFile)) {
    const problem = rulesProblem(files, rulesFile);
    if (problem !== null) {
      found.push(warning(name, `nothing is delivered: ${problem}`, "mend it: svc-mgr attention rules"));
    }
  }
  if (files.exists(paths.store)) {
    try {
      const store = openDeliveriesForReading(paths.store);
      const nowMs = clock.nowMs();
      const troubles = store.troubles({ pendingMs: nowMs - failingMs, givenUpMs: nowMs - recentMs });
      store.close();
      for (const { rule, pending, givenUp, sinceMs, lastError } of troubles) {
        const what = `rule "${rule}": ${pending} wait since ${toTimestamp(sinceMs)}, ${givenUp} given up`;
        const remedy = `svc-mgr attention deliver-test ${rule}`;
        found.push(warning(name, `${what}: ${lastError ?? "no reason known"}`, remedy));
      }
    } catch (error) {
      const remedy = `move it away; what waits is then sent again: ${paths.store}`;
      found.push(warning(name, `their file cannot be read: ${messageOf(error)}`, remedy));
    }
  }
  return found.length > 0 || !files.exists(rulesFile) ? found : [ok(name, rulesFile)];
}
