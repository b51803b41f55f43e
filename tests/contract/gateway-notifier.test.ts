import { describe, expect, test } from "bun:test";
import type { NotifierAudit, NotifierStatus } from "../../src/protocol/notifier.ts";
import { ServiceError } from "../../src/system/errors.ts";
import { settle } from "../support/fake-clock.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

const path = "/v1/mail-notifier";
const body = async <T>(reply: Response) => (await reply.json()) as T;

describe.each(surfaces)("the mail notifier $surface", ({ open }) => {
  function setup(options: Parameters<typeof createGatewayBundle>[0] = {}) {
    const bundle = createGatewayBundle(options);
    const http = open((request) => bundle.app.fetch(request));
    return {
      ...bundle,
      get: async () => body<NotifierStatus>(await http.request(path)),
      put: (update: object) => http.request(path, json(update, "PUT")),
      remove: () => http.request(path, { method: "DELETE" }),
      audit: async (query = "") => body<NotifierAudit>(await http.request(`${path}/audit${query}`)),
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("before it was ever enabled it reports the contract's defaults", async () => {
    await using gateway = setup();
    expect(await gateway.get()).toEqual({
      schema_version: 1,
      enabled: false,
      interval_seconds: null,
      mode: "any_inbox",
      appendix_text: "",
      context_error_policy: "continue_current",
      pre_notification_context_action: "none",
      notify_block_render: "enabled",
      notify_block_auth_mode: "permissive-log",
      notify_block_auth_verifier: "none",
      notify_block_shared_tokens: [],
      notify_block_per_message_chars: 512,
      notify_block_total_chars: 2048,
      wake_policy: "every_poll",
      min_gap_seconds: 0,
      max_wakes_per_hour: 0,
      max_hops: 0,
      require_attestation: "none",
      quiet_hours: null,
      supported: true,
      support_error: null,
      last_poll_at_utc: null,
      last_notification_at_utc: null,
      last_error: null,
      wake_obstacles: [{ reason: "disabled", detail: "the mail notifier is off" }],
    });
  });

  test("a PUT preserves what it omits, tokens included, and never shows one", async () => {
    await using gateway = setup();
    await gateway.put({
      interval_seconds: 5,
      mode: "unread_only",
      appendix_text: "tick once",
      notify_block_auth_mode: "required",
      notify_block_auth_verifier: "shared-token",
      notify_block_shared_tokens: ["top-secret"],
    });
    const reply = await gateway.put({ schema_version: 1, interval_seconds: 7 });
    const status = await body<NotifierStatus>(reply);
    expect(status).toMatchObject({
      enabled: true,
      interval_seconds: 7,
      mode: "unread_only",
      appendix_text: "tick once",
      notify_block_auth_mode: "required",
    });
    expect(JSON.stringify([status, gateway.logged, gateway.events])).not.toContain("top-secret");
    const masked = await gateway.put({ notify_block_shared_tokens: status.notify_block_shared_tokens });
    expect(masked.status).toBe(422);
  });

  test("DELETE disables, keeps every setting, and is harmless to repeat", async () => {
    await using gateway = setup();
    await gateway.put({ appendix_text: "tick once", interval_seconds: 30 });
    for (const _ of [1, 2]) {
      const reply = await gateway.remove();
      expect(reply.status).toBe(200);
      expect(await body<NotifierStatus>(reply)).toMatchObject({
        enabled: false,
        interval_seconds: 30,
        appendix_text: "tick once",
      });
    }
  });

  test.each([
    { id: "DELETE", off: (gateway: ReturnType<typeof setup>) => gateway.remove() },
    { id: "PUT enabled false", off: (gateway: ReturnType<typeof setup>) => gateway.put({ enabled: false }) },
  ])("after $id a PUT of one field enables nothing and wakes nobody", async ({ off }) => {
    await using gateway = setup();
    await gateway.put({ interval_seconds: 30 });
    expect((await off(gateway)).status).toBe(200);
    await gateway.mail.open("other@svc.localhost").send({
      to: ["worker@svc.localhost"],
      cc: [],
      subject: "hello",
      body: "",
      attachments: [],
      notifyBlock: null,
      notifyAuth: null,
    });
    const changed = await body<NotifierStatus>(await gateway.put({ mode: "unread_only" }));
    expect(changed).toMatchObject({ enabled: false, interval_seconds: 30, mode: "unread_only" });
    await gateway.clock.advance(120_000);
    expect(gateway.agent.prompts).toEqual([]);
    const again = await body<NotifierStatus>(await gateway.put({ enabled: true }));
    expect(again).toMatchObject({ enabled: true, interval_seconds: 30, mode: "unread_only" });
    await gateway.clock.advance(0);
    await gateway.clock.advance(0);
    expect(gateway.agent.prompts).toHaveLength(1);
  });

  test("a notifier that was deleted before it was ever configured stays off", async () => {
    await using gateway = setup();
    await gateway.remove();
    expect(await body<NotifierStatus>(await gateway.put({ interval_seconds: 5 }))).toMatchObject({
      enabled: false,
      interval_seconds: 5,
    });
  });

  test.each([
    { id: "an unknown key", update: { every: 5 }, at: "every" },
    { id: "an interval below a second", update: { interval_seconds: 0.5 }, at: "interval_seconds" },
    { id: "an interval above a day", update: { interval_seconds: 86_401 }, at: "interval_seconds" },
    { id: "a number as text", update: { interval_seconds: "5" }, at: "interval_seconds" },
    { id: "enabled as text", update: { enabled: "no" }, at: "enabled" },
    { id: "an unknown mode", update: { mode: "all" }, at: "mode" },
    { id: "a cap of no characters", update: { notify_block_per_message_chars: 0 }, at: "per_message_chars" },
    { id: "a negative total", update: { notify_block_total_chars: -1 }, at: "total_chars" },
    { id: "another schema version", update: { schema_version: 2 }, at: "schema_version" },
    {
      id: "hours of no clock",
      update: { quiet_hours: { start: "25:00", end: "07:00", time_zone: "UTC" } },
      at: "quiet_hours",
    },
    {
      id: "quiet hours that begin when they end",
      update: { quiet_hours: { start: "22:00", end: "22:00", time_zone: "UTC" } },
      at: "start and end",
    },
    {
      id: "compaction of a tool without it",
      update: { pre_notification_context_action: "compact" },
      at: "compact",
    },
  ])("$id is 422, says where, and changes nothing", async ({ update, at }) => {
    await using gateway = setup();
    const reply = await gateway.put(update);
    expect([reply.status, await reply.text()]).toEqual([422, expect.stringContaining(at)]);
    expect((await gateway.get()).enabled).toBe(false);
  });

  test("enabling without a usable mailbox is 422 and the status says why", async () => {
    await using gateway = setup({ opener: { obstacle: () => "it has none" } });
    const reply = await gateway.put({ interval_seconds: 5 });
    expect([reply.status, await reply.text()]).toEqual([422, expect.stringContaining("no usable mailbox")]);
    expect(await gateway.get()).toMatchObject({ enabled: false, supported: false });
    expect((await gateway.put({ enabled: false })).status).toBe(200);
  });

  test("without a mailbox the status says what can be done", async () => {
    const data = { remedy: { code: "repair_mailboxes" } };
    await using gateway = setup({
      opener: {
        obstacle: () => {
          throw new ServiceError("precondition_failed", "its box is missing", { data });
        },
      },
    });
    expect(await gateway.get()).toMatchObject({
      support_error: expect.stringContaining("its box is missing"),
      support_remedy: data.remedy,
    });
  });

  test("a listener that serves no mail supports no notifier", async () => {
    await using gateway = setup({ mailServed: false });
    expect(await gateway.get()).toMatchObject({
      supported: false,
      support_error: expect.stringContaining("loopback"),
    });
    expect((await gateway.put({})).status).toBe(422);
  });

  test("mail becomes a prompt through the queue, of a kind that is not public", async () => {
    await using gateway = setup();
    await gateway.put({ interval_seconds: 60 });
    await settle();
    await gateway.mail.open("other@svc.localhost").send({
      to: ["worker@svc.localhost"],
      cc: [],
      subject: "please look",
      body: "the whole body",
      attachments: [],
      notifyBlock: { text: "short notice", placement: "append" },
      notifyAuth: null,
    });
    await gateway.clock.advance(0);
    await gateway.clock.advance(0);
    expect(gateway.agent.prompts).toHaveLength(1);
    expect(gateway.agent.prompts[0]).toContain('subject: "please look"');
    expect(gateway.agent.prompts[0]).toContain("> short notice");
    expect(gateway.agent.prompts[0]).not.toContain("the whole body");
    const { rows } = await gateway.audit("?limit=1");
    expect(rows[0]).toMatchObject({
      trigger: "doorbell",
      outcome: "enqueued",
      unread_count: 1,
      rendered_block_entries: [{ rendered: true, block_chars: 12, auth_outcome: "skipped" }],
      prompt_chars: gateway.agent.prompts[0]?.length,
    });
    const record = gateway.queue.record(rows[0]?.enqueued_request_id ?? "");
    expect(record).toMatchObject({ request_kind: "mail_notifier_prompt", state: "completed" });
    expect(gateway.events.map((event) => event.kind)).toContain("accepted_internal");
  });

  test("the audit pages backwards; a bad page is 422", async () => {
    await using gateway = setup();
    await gateway.put({ interval_seconds: 1 });
    await gateway.clock.advance(5_000);
    const first = await gateway.audit("?limit=2");
    const second = await gateway.audit(`?limit=100&before=${first.next_before}`);
    const ids = [...first.rows, ...second.rows].map((row) => row.audit_id);
    expect([ids, second.next_before]).toEqual([ids.map((_, index) => ids.length - index), null]);
    expect((await gateway.audit("?limit=0")) as unknown).toMatchObject({
      detail: [{ loc: ["query", "limit"] }],
    });
  });
});
