import { describe, expect, test } from "bun:test";
import {
  defaultNotifierConfig,
  maskedToken,
  mergeConfig,
  toNotifierStatus,
} from "../../../src/services/notifier/config.ts";

const stored = {
  ...defaultNotifierConfig,
  enabled: true,
  interval_seconds: 30,
  mode: "unread_only",
  appendix_text: "run the tick",
  notify_block_shared_tokens: ["secret"],
  notify_block_auth_mode: "required",
} as const;

describe("the notifier's settings", () => {
  test("a PUT keeps every omitted field, trust posture included", () => {
    const merged = mergeConfig(
      { ...stored, notify_block_shared_tokens: ["secret"] },
      { schema_version: 1, interval_seconds: 5 },
    );
    expect(merged).toEqual({ ...stored, notify_block_shared_tokens: ["secret"], interval_seconds: 5 });
  });

  test("a notify field given as null is as omitted", () => {
    const merged = mergeConfig(
      { ...defaultNotifierConfig, ...stored, notify_block_shared_tokens: ["x"] },
      {
        notify_block_shared_tokens: null,
        notify_block_auth_mode: null,
      },
    );
    expect([merged.notify_block_shared_tokens, merged.notify_block_auth_mode]).toEqual([["x"], "required"]);
  });

  test("the empty guidance clears the stored one, quiet hours end with the word none", () => {
    const quiet_hours = { start: "22:00", end: "06:00", time_zone: "UTC" };
    const merged = mergeConfig(
      { ...defaultNotifierConfig, appendix_text: "old", quiet_hours },
      { appendix_text: "", quiet_hours: "none" },
    );
    expect([merged.appendix_text, merged.quiet_hours]).toEqual(["", null]);
  });

  const off = { ...defaultNotifierConfig, enabled: false, interval_seconds: 30 };
  test.each([
    { id: "never configured", before: null, update: {}, want: [true, 60] },
    { id: "never configured, told not to", before: null, update: { enabled: false }, want: [false, 60] },
    { id: "disabled, another field", before: off, update: { mode: "any_inbox" } as const, want: [false, 30] },
    { id: "disabled, enabled again", before: off, update: { enabled: true }, want: [true, 30] },
    { id: "enabled, told not to be", before: stored, update: { enabled: false }, want: [false, 30] },
    { id: "enabled, another field", before: stored, update: { appendix_text: "" }, want: [true, 30] },
  ])("enabled and interval_seconds are preserved like all: $id", ({ before, update, want }) => {
    const config = before && { ...before, notify_block_shared_tokens: [] };
    const merged = mergeConfig(config, update);
    expect([merged.enabled, merged.interval_seconds]).toEqual(want as [boolean, number]);
  });

  test("a masked token is never stored", () => {
    const put = () => mergeConfig(defaultNotifierConfig, { notify_block_shared_tokens: ["a", maskedToken] });
    expect(put).toThrow("as the status masks it");
  });

  test("an unknown time zone is refused", () => {
    const quiet_hours = { start: "22:00", end: "06:00", time_zone: "Mars/Olympus" };
    expect(() => mergeConfig(defaultNotifierConfig, { quiet_hours })).toThrow("time_zone");
  });

  test("quiet hours that begin when they end are refused: they are no hour or all", () => {
    const quiet_hours = { start: "22:00", end: "22:00", time_zone: "UTC" };
    expect(() => mergeConfig(defaultNotifierConfig, { quiet_hours })).toThrow("start and end are both 22:00");
  });

  test("the status reports how many tokens there are and no token", () => {
    const config = { ...defaultNotifierConfig, notify_block_shared_tokens: ["one", "two"] };
    const problem = { detail: "no mailbox", remedy: null };
    const status = toNotifierStatus({ config, memory: null, problem, obstacles: [] });
    expect(status.notify_block_shared_tokens).toEqual([maskedToken, maskedToken]);
    expect([status.supported, status.support_error]).toEqual([false, "no mailbox"]);
  });
});
