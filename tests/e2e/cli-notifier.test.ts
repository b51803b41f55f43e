import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";

test("the mail notifier is enabled, changed, looked into and disabled from the command line", async () => {
  await using fixture = createCliFixture();
  const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker"];
  expect((await fixture.mgr(...launch)).exitCode).toBe(0);

  const early = await fixture.mgr(
    "agents",
    "single",
    "--agent-name",
    "worker",
    "gateway",
    "mail-notifier",
    "enable",
  );
  expect([early.exitCode, early.stderr]).toEqual([1, expect.stringContaining("mailbox register")]);

  const register = ["agents", "single", "--agent-name", "worker", "mailbox", "register", "--mailbox-root"];
  expect((await fixture.mgr(...register, join(fixture.folder, "mail"))).exitCode).toBe(0);
  const enable = ["agents", "single", "--agent-name", "worker", "gateway", "mail-notifier", "enable"];
  const words = [
    "--interval-seconds",
    "300",
    "--mode",
    "unread_only",
    "--appendix-text",
    "run the tick once",
  ];
  const quiet = ["--quiet-hours", "22:00-07:00 Europe/Berlin", "--wake-policy", "on_change"];
  const enabled = await fixture.mgr(...enable, ...words, ...quiet, "--min-gap-seconds", "30", "--json");
  expect(enabled.json()).toMatchObject({
    enabled: true,
    interval_seconds: 300,
    mode: "unread_only",
    appendix_text: "run the tick once",
    quiet_hours: { start: "22:00", end: "07:00", time_zone: "Europe/Berlin" },
    wake_policy: "on_change",
    min_gap_seconds: 30,
    supported: true,
  });
  expect(enabled.json()).toMatchObject({ max_wakes_per_hour: 12 });
  const changed = await fixture.mgr(...enable, "--quiet-hours", "", "--interval-seconds", "60", "--json");
  expect(changed.json()).toMatchObject({ quiet_hours: null, interval_seconds: 60, mode: "unread_only" });
  const limits = ["--wake-policy", "every_poll", "--max-wakes-per-hour", "0", "--json"];
  const often = { wake_policy: "every_poll", max_wakes_per_hour: 0 };
  expect((await fixture.mgr(...enable, ...limits)).json()).toMatchObject(often);
  // What was set once is not set again.
  expect((await fixture.mgr(...enable, "--json")).json()).toMatchObject(often);

  writeFileSync(join(fixture.workdir, "tokens"), "secret-one\n\nsecret-two\n");
  const blocks = await fixture.mgr(
    ...enable,
    "--notify-block-render",
    "enabled",
    "--notify-block-auth-mode",
    "required",
    "--notify-block-auth-verifier",
    "shared-token",
    "--notify-block-token-file",
    "tokens",
    "--notify-block-per-message-chars",
    "200",
    "--notify-block-total-chars",
    "900",
    "--json",
  );
  expect(blocks.json()).toMatchObject({
    notify_block_render: "enabled",
    notify_block_auth_mode: "required",
    notify_block_auth_verifier: "shared-token",
    notify_block_shared_tokens: ["********", "********"],
    notify_block_per_message_chars: 200,
    notify_block_total_chars: 900,
    interval_seconds: 60,
  });
  const nowhere = await fixture.mgr(...enable, "--notify-block-token-file", "nowhere");
  expect([nowhere.exitCode, nowhere.stderr]).toEqual([
    2,
    expect.stringContaining("there is no file nowhere"),
  ]);

  const compact = await fixture.mgr(...enable, "--pre-notification-context-action", "compact");
  expect([compact.exitCode, compact.stderr]).toEqual([1, expect.stringContaining("codex")]);
  const wrong = await fixture.mgr(...enable, "--quiet-hours", "at night");
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("22:00-07:00")]);

  const status = await fixture.mgr(
    "agents",
    "single",
    "--agent-name",
    "worker",
    "gateway",
    "mail-notifier",
    "status",
  );
  expect(status.stdout).toMatch(/notifier +enabled, every 60 s/);
  const audit = await fixture.mgr(
    "agents",
    "single",
    "--agent-name",
    "worker",
    "gateway",
    "mail-notifier",
    "audit",
    "--limit",
    "5",
  );
  expect(audit.stdout).toMatch(/ID +AT +TRIGGER +OUTCOME[\s\S]*doorbell +empty/);

  for (const _ of [1, 2]) {
    const disabled = await fixture.mgr(
      "agents",
      "single",
      "--agent-name",
      "worker",
      "gateway",
      "mail-notifier",
      "disable",
      "--json",
    );
    expect(disabled.json()).toMatchObject({ enabled: false, interval_seconds: 60, mode: "unread_only" });
  }
  const why = await fixture.mgr("agents", "single", "--agent-name", "worker", "why");
  expect(why.stdout).toMatch(/^mail +does not wake the agent: the mail notifier is off$/m);
  const again = await fixture.mgr(...enable, "--json");
  expect(again.json()).toMatchObject({ enabled: true, interval_seconds: 60, mode: "unread_only" });
  const never = await fixture.mgr(...enable, "--quiet-hours", "22:00-22:00 UTC");
  expect([never.exitCode, never.stderr]).toEqual([1, expect.stringContaining("start and end are both")]);

  // The mailbox outlives the session, and so does what wakes the agent for it.
  expect((await fixture.mgr("agents", "single", "--agent-name", "worker", "stop")).exitCode).toBe(0);
  const relaunched = await fixture.mgr(...launch, "--mailbox-root", join(fixture.folder, "mail"));
  expect([relaunched.exitCode, relaunched.stdout]).toEqual([
    0,
    expect.stringContaining("keeps its settings and is enabled"),
  ]);
  const kept = await fixture.mgr(...enable.slice(0, -1), "status", "--json");
  expect(kept.json()).toMatchObject({
    enabled: true,
    interval_seconds: 60,
    mode: "unread_only",
    appendix_text: "run the tick once",
    notify_block_shared_tokens: ["********", "********"],
    supported: true,
  });
}, 120_000);
