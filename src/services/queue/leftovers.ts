import type { RequestStore, StoredRequest } from "../../db/gateway/request-store.ts";
import type { Evidence } from "../../protocol/gateway.ts";
import { type Clock, timestampNow } from "../../system/clock.ts";
import type { Agent } from "../agent/agent.ts";
import { type End, endUnknown } from "./end.ts";

/** What a former process of this gateway left in the terminal. */
export interface Leftovers {
  /** The end of the prompt that it was typing: its text is looked for and never typed again. */
  settle(left: StoredRequest): Promise<End>;
  /** The turn of the newest prompt that was delivered may outlive the process that delivered it. */
  followLast(): void;
}

export function createLeftovers(deps: {
  store: Pick<RequestStore, "list">;
  agent: Pick<Agent, "withdraw" | "followTurn">;
  clock: Clock;
  epoch: () => number;
  addEvidence: (requestId: string, evidence: Evidence) => void;
}): Leftovers {
  const { store, agent, addEvidence } = deps;
  return {
    async settle(left) {
      const { prompt } = left.payload;
      const sameInstance = left.epoch === deps.epoch();
      const seen =
        typeof prompt === "string" && sameInstance ? await agent.withdraw(prompt) : "nothing was looked for";
      return endUnknown(left, { step: "settled", at_utc: timestampNow(deps.clock), proof: seen });
    },
    followLast() {
      const last = store.list({ limit: 8, state: "completed" }).find((one) => one.kind !== "interrupt");
      const steps = last?.evidence.map((one) => one.step) ?? [];
      if (!last || last.epoch !== deps.epoch() || !steps.includes("submitted")) return;
      if (steps.includes("turn_ended")) return;
      agent.followTurn({
        started: steps.includes("turn_started"),
        onEvidence: (evidence) => addEvidence(last.requestId, evidence),
      });
    },
  };
}
