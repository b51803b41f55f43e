import { join } from "node:path";
import type { LedgerStore } from "../../../db/gateway/ledger-store.ts";
import { budgetFile } from "../../../services/extensions/observe/ledger/budget.ts";
import {
  type BudgetWatch,
  createBudgetWatch,
  reportOnce,
} from "../../../services/extensions/observe/ledger/budget-watch.ts";
import type { Ledger } from "../../../services/extensions/observe/ledger/ledger.ts";
import { readPrices } from "../../../services/extensions/observe/ledger/prices.ts";
import { configRootOf, sessionPaths, stateRootOf } from "../../../services/sessions/roots.ts";
import { adviseInManager } from "../../command-line/remedies.ts";
import type { OpenGateway } from "../../extension.ts";

/** The budgets that a gateway keeps; they join its execution slot. Not started. */
export function openBudgets(
  gateway: OpenGateway,
  counted: { ledger: Ledger; groups: LedgerStore["groups"] },
): BudgetWatch {
  const { system, sessionRoot, manifest, env, slot } = gateway;
  const { ledger } = counted;
  const { files } = system;
  const home = env["HOME"] ?? "/";
  const watch = createBudgetWatch({
    files,
    clock: system.clock,
    sessionRoot,
    groups: counted.groups,
    counting: ledger.counting,
    agent: { id: manifest.agent_id, name: manifest.agent_name },
    teamsFolder: join(stateRootOf(env, home), "teams"),
    prices: () => readPrices(files, join(configRootOf(env, home), "prices.json")),
    ledgerOf(agentId) {
      const root = gateway.registry.read(agentId)?.runtime.session_root;
      return root == null ? null : sessionPaths(root).queue;
    },
    ownerOf: (agentId) => gateway.registry.read(agentId)?.team?.file,
    advise: adviseInManager,
    onChange: () => slot.changed("budget"),
    onError: reportOnce((text) => gateway.log.line(text)),
  });
  slot.join("budget", {
    report(all) {
      all.budget = watch.holds();
      all.budgetState = watch.state();
    },
  });
  ledger.onLook(watch.wake);
  const unwatch = system.watch.watchFolder(sessionRoot, (name) => {
    if (name === null || name === budgetFile) watch.wake();
  });
  return {
    ...watch,
    async stop() {
      unwatch();
      await watch.stop();
    },
  };
}
