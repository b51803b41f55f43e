import { describe, expect, test } from "bun:test";
import type { GatewayStatus } from "../../../src/protocol/gateway.ts";
import { showsEmptyQueue } from "../../../src/services/fleet/relaunch-agent.ts";

type Reason = NonNullable<GatewayStatus["admission_block"]>["reason"];
const shown = (depth: number, reason?: Reason) =>
  showsEmptyQueue({
    queue_depth: depth,
    ...(reason === undefined ? {} : { admission_block: { reason, detail: "why" } }),
  });

describe("a relaunch is the operator's word", () => {
  test.each<Reason | undefined>([
    undefined,
    "reconciliation_required",
    // The gateway saw the new pane and not yet the program in it.
    "agent_unavailable",
  ])("for an empty queue whose block is %p", (reason) => {
    expect(shown(0, reason)).toBe(true);
    expect(shown(1, reason)).toBe(false);
  });

  test.each<Reason>(["gateway_unreachable", "database_damaged"])(
    "and not for a queue that was not read: %p",
    (reason) => {
      expect(shown(0, reason)).toBe(false);
    },
  );
});
