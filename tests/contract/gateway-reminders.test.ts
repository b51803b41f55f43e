import { describe, expect, test } from "bun:test";
import { ReminderDefinition } from "../../src/protocol/reminders.ts";
import { createFakeAgent, notReady } from "../support/fake-agent.ts";
import { settle } from "../support/fake-clock.ts";
import { createGatewayBundle } from "../support/gateway-bundle.ts";
import { json, surfaces } from "../support/http-surface.ts";

const good = {
  mode: "one_off",
  title: "look",
  prompt: "Look again",
  ranking: 0,
  start_after_seconds: 10,
} as const;
const { prompt: _prompt, ...promptless } = good;
const { start_after_seconds: _start, ...timeless } = good;
const keys = { ...promptless, send_keys: { sequence: "/compact", ensure_enter: true } };

/** Definitions that differ from `good` in optional fields. */
const optionalFields = [
  { given: { ...good, paused: true } },
  { given: { ...good, durable: true } },
  { given: { ...good, independent: true } },
  { given: { ...good, mode: "repeat", interval_seconds: 60 } },
  { given: { ...timeless, deliver_at_utc: "2026-01-01T00:01:00Z" } },
  { given: { ...timeless, mode: "repeat", cron: "30 9 * * 1-5", time_zone: "Europe/Berlin" } },
  { given: keys },
].map(({ given }) => ({
  given,
  fields: Object.keys(given)
    .filter((field) => !(field in good))
    .join(" and "),
}));

test("the table of optional fields has each of them", () => {
  const required: readonly string[] = ReminderDefinition.required ?? [];
  const optional = Object.keys(ReminderDefinition.properties).filter((field) => !required.includes(field));
  const listed = new Set([good, ...optionalFields.map(({ given }) => given)].flatMap(Object.keys));
  expect(optional.filter((field) => !listed.has(field))).toEqual([]);
});

interface Body {
  detail: { type: string; loc: unknown[]; msg: string }[];
  effective_reminder_id: string | null;
  reminders: Record<string, unknown>[];
}

describe.each(surfaces)("reminders $surface", ({ open }) => {
  async function setup(options: Parameters<typeof createGatewayBundle>[0] = {}) {
    const bundle = createGatewayBundle(options);
    const http = open((request) => bundle.app.fetch(request));
    const ask = async (path: string, init: RequestInit = {}) => {
      const reply = await http.request(`/v1/reminders${path}`, init);
      return { status: reply.status, body: (await reply.json()) as Body & Record<string, unknown> };
    };
    return {
      ...bundle,
      ask,
      create: (...reminders: object[]) => ask("", json({ reminders })),
      async createOne(reminder: object): Promise<string> {
        return String((await ask("", json({ reminders: [reminder] }))).body.reminders[0]?.["reminder_id"]);
      },
      async [Symbol.asyncDispose]() {
        await http[Symbol.asyncDispose]();
        await bundle[Symbol.asyncDispose]();
      },
    };
  }

  test("POST answers 200 with the created records alone, in their order", async () => {
    await using gateway = await setup();
    const before = await gateway.createOne({ ...good, ranking: -3 });
    const { status, body } = await gateway.create(
      { ...good, ranking: 7 },
      {
        mode: "repeat",
        title: "tidy",
        send_keys: { sequence: "/compact" },
        ranking: 2,
        paused: true,
        deliver_at_utc: "2026-01-01T00:01:00Z",
        interval_seconds: 90.5,
      },
    );
    expect(status).toBe(200);
    const common = {
      schema_version: 1,
      reminder_id: expect.stringMatching(/^greminder-[0-9a-f]{12}$/),
      selection_state: "blocked",
      delivery_state: "scheduled",
      created_at_utc: "2026-01-01T00:00:00.000+00:00",
      last_started_at_utc: null,
      blocked_by_reminder_id: before,
    };
    expect(body).toEqual({
      schema_version: 1,
      effective_reminder_id: before,
      reminders: [
        {
          ...common,
          mode: "one_off",
          delivery_kind: "prompt",
          title: "look",
          prompt: "Look again",
          send_keys: null,
          ranking: 7,
          paused: false,
          next_due_at_utc: "2026-01-01T00:00:10.000+00:00",
          interval_seconds: null,
        },
        {
          ...common,
          mode: "repeat",
          delivery_kind: "send_keys",
          title: "tidy",
          prompt: null,
          send_keys: { sequence: "/compact", ensure_enter: true },
          ranking: 2,
          paused: true,
          next_due_at_utc: "2026-01-01T00:01:00.000+00:00",
          interval_seconds: 90.5,
        },
      ],
    } as never);
  });

  test("GET lists all by ranking, then age, and says which one is effective", async () => {
    await using gateway = await setup();
    expect((await gateway.ask("")).body).toEqual({
      schema_version: 1,
      effective_reminder_id: null,
      reminders: [],
    } as never);
    const ids = [];
    for (const ranking of [1, -1, 1]) ids.push(await gateway.createOne({ ...good, ranking }));
    const { status, body } = await gateway.ask("");
    expect([status, body.effective_reminder_id]).toEqual([200, ids[1] as string]);
    expect(body.reminders.map((one) => one["reminder_id"])).toEqual([ids[1], ids[0], ids[2]]);
    expect(body.reminders.map((one) => one["blocked_by_reminder_id"])).toEqual([null, ids[1], ids[1]]);
  });

  test("GET of one answers its record", async () => {
    await using gateway = await setup();
    const id = await gateway.createOne(good);
    const { status, body } = await gateway.ask(`/${id}`);
    expect([status, body]).toMatchObject([
      200,
      { reminder_id: id, selection_state: "effective", blocked_by_reminder_id: null },
    ]);
  });

  test("PUT replaces the whole definition and answers the record", async () => {
    await using gateway = await setup();
    const id = await gateway.createOne({ ...good, paused: true });
    await gateway.clock.advance(4_000);
    const { status, body } = await gateway.ask(
      `/${id}`,
      json({ schema_version: 1, ...keys, ranking: -2 }, "PUT"),
    );
    expect([status, body]).toMatchObject([
      200,
      {
        reminder_id: id,
        delivery_kind: "send_keys",
        prompt: null,
        ranking: -2,
        paused: false,
        created_at_utc: "2026-01-01T00:00:00.000+00:00",
        next_due_at_utc: "2026-01-01T00:00:14.000+00:00",
      },
    ]);
    expect((await gateway.ask(`/${id}`, json({ paused: true }, "PUT"))).status).toBe(422);
    expect((await gateway.ask(`/${id}`)).body["paused"]).toBe(false);
  });

  test("PUT of one that is being delivered is 409 and changes nothing", async () => {
    await using gateway = await setup();
    const { promise, resolve } = Promise.withResolvers<{ outcome: "submitted" }>();
    gateway.agent.onSubmit = () => promise;
    const id = await gateway.createOne({ ...good, mode: "repeat", interval_seconds: 5 });
    await gateway.clock.advance(10_000);
    const { status, body } = await gateway.ask(`/${id}`, json(good, "PUT"));
    expect([status, body.detail]).toMatchObject([409, expect.stringContaining("being delivered")]);
    expect((await gateway.ask(`/${id}`)).body).toMatchObject({ mode: "repeat", delivery_state: "executing" });
    resolve({ outcome: "submitted" });
    await settle();
  });

  test("DELETE says what it did, also while the reminder is delivered, and once", async () => {
    await using gateway = await setup();
    const { promise, resolve } = Promise.withResolvers<{ outcome: "submitted" }>();
    gateway.agent.onSubmit = () => promise;
    const [waiting, executing] = [
      await gateway.createOne({ ...good, ranking: 1 }),
      await gateway.createOne(good),
    ];
    await gateway.clock.advance(10_000);
    for (const id of [waiting, executing]) {
      const { status, body } = await gateway.ask(`/${id}`, { method: "DELETE" });
      expect([status, body]).toEqual([
        200,
        {
          schema_version: 1,
          status: "ok",
          action: "delete_reminder",
          reminder_id: id,
          deleted: true,
          detail: expect.any(String),
        },
      ] as never);
      expect((await gateway.ask(`/${id}`, { method: "DELETE" })).status).toBe(404);
    }
    resolve({ outcome: "submitted" });
    await settle();
    expect(gateway.agent.prompts).toEqual(["Look again"]);
  });

  test.each([
    { id: "GET", init: {} },
    { id: "PUT", init: json(good, "PUT") },
    { id: "DELETE", init: { method: "DELETE" } },
  ])("$id of an unknown id is 404", async ({ init }) => {
    await using gateway = await setup();
    const { status, body } = await gateway.ask("/greminder-000000000000", init);
    expect([status, body]).toEqual([
      404,
      { detail: "no reminder with this id lives in this gateway" },
    ] as never);
  });

  const refused: { id: string; given: object; loc: string[]; type?: string }[] = [
    { id: "neither prompt nor send_keys", given: promptless, loc: ["prompt"], type: "missing" },
    { id: "both prompt and send_keys", given: { ...good, ...keys }, loc: ["send_keys"] },
    { id: "both as null", given: { ...good, prompt: null, send_keys: null }, loc: ["prompt"] },
    { id: "no due time", given: timeless, loc: ["start_after_seconds"], type: "missing" },
    {
      id: "two due times",
      given: { ...good, deliver_at_utc: "2026-01-01T00:00:00Z" },
      loc: ["deliver_at_utc"],
    },
    {
      id: "repeat without interval",
      given: { ...good, mode: "repeat" },
      loc: ["interval_seconds"],
      type: "missing",
    },
    { id: "one_off with interval", given: { ...good, interval_seconds: 5 }, loc: ["interval_seconds"] },
    {
      id: "an interval of 0",
      given: { ...good, mode: "repeat", interval_seconds: 0 },
      loc: ["interval_seconds"],
    },
    {
      id: "a start after 0 seconds",
      given: { ...good, start_after_seconds: 0 },
      loc: ["start_after_seconds"],
    },
    { id: "a negative start", given: { ...good, start_after_seconds: -1 }, loc: ["start_after_seconds"] },
    { id: "seconds as text", given: { ...good, start_after_seconds: "5" }, loc: ["start_after_seconds"] },
    {
      id: "a start beyond all time",
      given: { ...good, start_after_seconds: 1e300 },
      loc: ["start_after_seconds"],
    },
    {
      id: "an interval that would never let the gateway rest",
      given: { ...good, mode: "repeat", interval_seconds: 0.099 },
      loc: ["interval_seconds"],
    },
    {
      id: "an interval beyond all time",
      given: { ...good, mode: "repeat", interval_seconds: 1e300 },
      loc: ["interval_seconds"],
    },
    {
      id: "a time that is none",
      given: { ...timeless, deliver_at_utc: "tomorrow" },
      loc: ["deliver_at_utc"],
    },
    {
      id: "a time before 1970",
      given: { ...timeless, deliver_at_utc: "1969-01-01T00:00:00Z" },
      loc: ["deliver_at_utc"],
    },
    { id: "no title", given: { ...good, title: undefined }, loc: ["title"], type: "missing" },
    { id: "a blank title", given: { ...good, title: " " }, loc: ["title"] },
    { id: "a blank prompt", given: { ...good, prompt: "\n" }, loc: ["prompt"] },
    {
      id: "a blank sequence",
      given: { ...keys, send_keys: { sequence: " " } },
      loc: ["send_keys", "sequence"],
    },
    {
      id: "a sequence of more than 65,536 characters",
      given: { ...keys, send_keys: { sequence: "<[Up]>".repeat(10_923) } },
      loc: ["send_keys", "sequence"],
    },
    {
      id: "an unknown key",
      given: { ...keys, send_keys: { sequence: "<[Home]>" } },
      loc: ["send_keys", "sequence"],
    },
    {
      id: "escape_special_keys",
      given: { ...keys, send_keys: { sequence: "a", escape_special_keys: true } },
      loc: ["send_keys", "escape_special_keys"],
      type: "extra_forbidden",
    },
    { id: "no ranking", given: { ...good, ranking: undefined }, loc: ["ranking"], type: "missing" },
    { id: "half a ranking", given: { ...good, ranking: 0.5 }, loc: ["ranking"] },
    { id: "a ranking as text", given: { ...good, ranking: "1" }, loc: ["ranking"] },
    { id: "another mode", given: { ...good, mode: "daily" }, loc: ["mode"] },
    {
      id: "an unknown key of the body",
      given: { ...good, reminder_id: "x" },
      loc: ["reminder_id"],
      type: "extra_forbidden",
    },
  ];

  test.each(refused)("$id is 422 and says where, on POST and PUT", async ({ given, loc, type }) => {
    await using gateway = await setup();
    const id = await gateway.createOne({ ...good, title: "kept" });
    const created = await gateway.create(good, given);
    const updated = await gateway.ask(`/${id}`, json(given, "PUT"));
    expect([created.status, updated.status]).toEqual([422, 422]);
    const shape = { type: type ?? expect.any(String), msg: expect.any(String) };
    expect(created.body.detail).toEqual([{ ...shape, loc: ["body", "reminders", 1, ...loc] }]);
    expect(updated.body.detail).toEqual([{ ...shape, loc: ["body", ...loc] }]);
    // One bad item rejects the batch.
    expect(gateway.reminders.list().reminders.map((one) => one.title)).toEqual(["kept"]);
  });

  test.each(optionalFields)(
    "PUT replaces the whole definition: without $fields they are gone",
    async ({ given }) => {
      await using gateway = await setup();
      const other = await gateway.createOne(good);
      const { body: expected } = await gateway.ask(`/${other}`);
      await gateway.ask(`/${other}`, { method: "DELETE" });
      const id = await gateway.createOne(given);
      const { status, body } = await gateway.ask(`/${id}`, json(good, "PUT"));
      expect([status, body]).toEqual([200, { ...expected, reminder_id: id }]);
    },
  );

  test("no reminder at all is 422", async () => {
    await using gateway = await setup();
    const { status, body } = await gateway.create();
    expect([status, body.detail[0]?.loc]).toEqual([422, ["body", "reminders"]]);
  });

  test("all findings of all items are reported at once", async () => {
    await using gateway = await setup();
    const { body } = await gateway.create(timeless, { ...promptless, mode: "repeat" });
    expect(body.detail.map((one) => one.loc.slice(2))).toEqual([
      [0, "start_after_seconds"],
      [1, "prompt"],
      [1, "interval_seconds"],
    ]);
  });

  test("optional fields may be null, and fractions of seconds count", async () => {
    await using gateway = await setup();
    const id = await gateway.createOne({
      ...good,
      send_keys: null,
      deliver_at_utc: null,
      interval_seconds: null,
      start_after_seconds: 0.25,
    });
    expect((await gateway.ask(`/${id}`)).body["next_due_at_utc"]).toBe("2026-01-01T00:00:00.250+00:00");
    await gateway.clock.advance(250);
    expect(gateway.agent.prompts).toHaveLength(1);
  });

  test.each(["claude_headless", "svc_server_rest", "cao_rest"])(
    "keys for a %s session are 422, a prompt is not",
    async (backend) => {
      await using gateway = await setup({ agent: { ...createFakeAgent(), backend } });
      const refusal = await gateway.create(good, keys);
      expect([refusal.status, refusal.body.detail[0]?.loc]).toEqual([
        422,
        ["body", "reminders", 1, "send_keys"],
      ]);
      const id = await gateway.createOne(good);
      expect((await gateway.ask(`/${id}`, json(keys, "PUT"))).status).toBe(422);
      expect((await gateway.ask(`/${id}`)).body["delivery_kind"]).toBe("prompt");
    },
  );

  test("a reminder can be made while the agent is busy or away, and waits for it", async () => {
    await using gateway = await setup();
    gateway.agent.setConnectivity({ connected: false, detail: "gone" });
    const id = await gateway.createOne({ ...good, start_after_seconds: 1 });
    await gateway.clock.advance(1_000);
    expect((await gateway.ask(`/${id}`)).body).toMatchObject({
      delivery_state: "overdue",
      waiting: { reason: "blocked_unavailable" },
    });
    gateway.agent.setReadiness(notReady);
    gateway.agent.setConnectivity({ connected: true });
    await settle();
    expect((await gateway.ask(`/${id}`)).body).toMatchObject({ waiting: { reason: "not_ready" } });
  });
});
