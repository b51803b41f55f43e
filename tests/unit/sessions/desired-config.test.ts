import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync } from "node:fs";
import type { DesiredConfig } from "../../../src/protocol/files.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import {
  type GatewayWish,
  mergeWish,
  openSessionFolder,
} from "../../../src/services/sessions/session-folder.ts";
import { createScratch } from "../../support/scratch.ts";

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

test("a wish that could not be read again is refused, and the file stays", () => {
  using scratch = createScratch();
  const { files, folder } = scratch;
  const { desiredConfig, gatewayRoot } = sessionPaths(folder);
  mkdirSync(gatewayRoot);
  const good: GatewayWish = { recorder: { enabled: true, max_bytes: 2 ** 20 } };
  openSessionFolder(files, folder).saveWish(good);
  const kept = readFileSync(desiredConfig, "utf8");
  const wishes: GatewayWish[] = [
    { recorder: { enabled: true, max_bytes: 2 ** 41 } },
    { otlpEndpoint: `http://${"a".repeat(3000)}` },
    { attachmentRoots: Array.from({ length: 65 }, () => "/tmp") },
  ];
  for (const wish of wishes)
    expect(() => openSessionFolder(files, folder).saveWish(wish)).toThrow(/^\/desired_/);
  expect(readFileSync(desiredConfig, "utf8")).toBe(kept);
});
