import { signalsAbsence } from "../../services/signals/handover.ts";
import { createNoSource, createSpoolSource } from "../../services/signals/spool-source.ts";
import type { GatewayExtension } from "./extension.ts";

/** The reports of the agent's tool, from the first moment on, and AG-UI for clients. */
export function createBridges(): GatewayExtension {
  return {
    agent: {
      reports({ system, manifest, sessionRoot, log }) {
        const absence = signalsAbsence(manifest);
        return absence === null
          ? createSpoolSource({ ...system, log, sessionRoot })
          : createNoSource(absence);
      },
    },
    open: async (gateway) => (await import("./bridges-gateway.ts")).openAgui(gateway),
  };
}
