import { join } from "node:path";
import type { LedgerStore } from "../db/gateway/ledger-store.ts";
import type { Manifest } from "../protocol/files.ts";
import type { Log } from "../services/diagnostics/gateway-log.ts";
import { budgetFile } from "../services/ledger/budget.ts";
import { type BudgetWatch, createBudgetWatch, reportOnce } from "../services/ledger/budget-watch.ts";
import type { Ledger } from "../services/ledger/ledger.ts";
import { readPrices } from "../services/ledger/prices.ts";
import type { ExecutionSlot } from "../services/queue/slot.ts";
import type { Registry } from "../services/sessions/registry.ts";
import { configRootOf, type Environment, sessionPaths, stateRootOf } from "../services/sessions/roots.ts";
import type { System } from "../system/system.ts";
import { adviseInManager } from "./remedies.ts";

/** The budgets that a gateway keeps; they join its execution slot. Not started. */
export function openBudgets(core: {
  system: System;
  sessionRoot: string;
  manifest: Manifest;
  env: Environment;
  registry: Pick<Registry, "read">;
  ledger: Ledger;
  groups: LedgerStore["groups"];
  log: Log;
  slot: Pick<ExecutionSlot, "join" | "changed">;
}): BudgetWatch {
  const { system, sessionRoot, manifest, env, ledger, slot } = core;
  const { files } = system;
  const home = env["HOME"] ?? "/";
  const watch = createBudgetWatch({
    files,
    clock: system.clock,
    sessionRoot,
    groups: core.groups,
    counting: ledger.counting,
    agent: { id: manifest.agent_id, name: manifest.agent_name },
    teamsFolder: join(stateRootOf(env, home), "teams"),
    prices: () => readPrices(files, join(configRootOf(env, home), "prices.json")),
    ledgerOf(agentId) {
      const root = core.registry.read(agentId)?.runtime.session_root;
      return root == null ? null : sessionPaths(root).queue;
    },
    ownerOf: (agentId) => core.registry.read(agentId)?.team?.file,
    advise: adviseInManager,
    onChange: () => slot.changed("budget"),
    onError: reportOnce((text) => core.log.line(text)),
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
