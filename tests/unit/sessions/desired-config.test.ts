import { describe, expect, test } from "bun:test";
import type { DesiredConfig } from "../../../src/protocol/files.ts";
import { type GatewayWish, mergeWish } from "../../../src/services/sessions/desired-config.ts";

const before: DesiredConfig = {
  schema_version: 1,
  desired_execution_mode: "tmux_auxiliary_window",
  desired_port: 4100,
  desired_tui_tracking_timings: { stability_threshold_seconds: 2 },
};

describe("a wish of an operator", () => {
  test.each<{ id: string; wish: GatewayWish; want: Partial<DesiredConfig> }>([
    { id: "without content changes nothing", wish: {}, want: before },
    {
      id: "for a port replaces the former one",
      wish: { port: 5000 },
      want: { ...before, desired_port: 5000 },
    },
    {
      id: "for another mode keeps the rest",
      wish: { executionMode: "detached_process" },
      want: { ...before, desired_execution_mode: "detached_process" },
    },
    {
      id: "for one timing keeps the others",
      wish: { timings: { completion_stability_seconds: 3 } },
      want: {
        ...before,
        desired_tui_tracking_timings: { stability_threshold_seconds: 2, completion_stability_seconds: 3 },
      },
    },
  ])("$id", ({ wish, want }) => {
    expect(mergeWish(before, wish)).toEqual(want as DesiredConfig);
  });

  test("for any port takes the former one back", () => {
    expect(mergeWish(before, { port: 0 })).not.toHaveProperty("desired_port");
  });
});
