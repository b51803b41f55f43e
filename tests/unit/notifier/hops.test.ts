import { expect, test } from "bun:test";
import { createNotifierFixture, type NotifierFixture } from "../../support/notifier-fixture.ts";

const reply = (body: string) => ({ body, attachments: [], notifyBlock: null, notifyAuth: null });
const everything = {
  ...({ box: "inbox", readState: "any", answeredState: "any", archived: null, limit: null } as const),
  since: null,
  includeBody: false,
  cursor: null,
  query: null,
};

/**
 * The worker answers what wakes it, and the other one answers each answer, until nobody is woken any more.
 */
async function converse(fixture: NotifierFixture): Promise<void> {
  const sender = fixture.mail.open("sender@svc.localhost");
  for (let woken = -1; woken < fixture.prompts.length; ) {
    woken = fixture.prompts.length;
    const { messages } = await fixture.inbox.list(everything);
    for (const { message_ref, answered } of messages) {
      if (answered) continue;
      await fixture.inbox.reply(message_ref, reply("And you?"));
      await fixture.inbox.archive([message_ref]);
    }
    const answers = await sender.list(everything);
    for (const { message_ref, answered } of answers.messages) {
      if (!answered) await sender.reply(message_ref, reply("And you?"));
    }
    await fixture.clock.advance(1000);
  }
}

test("agents that answer each other stop at the limit; the message is there and wakes nobody until it is raised", async () => {
  await using fixture = createNotifierFixture({
    interval_seconds: 60,
    wake_policy: "on_change",
    max_hops: 5,
  });
  await fixture.clock.advance(0);
  await fixture.arrive("How are you?");
  expect(fixture.prompts).toHaveLength(1);
  await converse(fixture);
  // Hops 0, 2 and 4 woke it; 6 does not.
  expect(fixture.prompts).toHaveLength(3);
  const { messages } = await fixture.inbox.list(everything);
  expect(messages.map(({ hops }) => hops)).toEqual([6]);
  expect(fixture.notifier.audit({ limit: 1 }).rows[0]).toMatchObject({
    outcome: "wake_held",
    detail: expect.stringContaining("max_hops=5: 1 message(s)"),
  });
  expect(fixture.notifier.wakesHeld()).toMatchObject({
    reason: "max_hops",
    since_utc: expect.stringMatching(/^2026-01-01T00:00:0/),
  });

  // Other mail still wakes it, and the prompt does not list what is parked.
  await fixture.arrive("Something else");
  expect(fixture.prompts).toHaveLength(4);
  expect(fixture.prompts[3]).toContain("1 message(s) for");
  expect(fixture.notifier.wakesHeld()?.reason).toBe("max_hops");

  fixture.notifier.update({ max_hops: 7 });
  await fixture.clock.advance(0);
  expect(fixture.prompts).toHaveLength(5);
  expect(fixture.notifier.wakesHeld()).toBeNull();
});

test("the limit of wake-ups an hour is reported while it holds, and not once it is over or the notifier is off", async () => {
  await using fixture = createNotifierFixture({ interval_seconds: 60, max_wakes_per_hour: 1 });
  await fixture.clock.advance(0);
  await fixture.arrive();
  expect(fixture.notifier.wakesHeld()).toBeNull();
  await fixture.clock.advance(61_000);
  expect(fixture.notifier.wakesHeld()).toMatchObject({
    reason: "max_wakes_per_hour",
    since_utc: "2026-01-01T00:01:00.000+00:00",
  });
  await fixture.clock.advance(10 * 60_000);
  expect(fixture.notifier.wakesHeld()?.since_utc).toBe("2026-01-01T00:01:00.000+00:00");
  fixture.notifier.disable();
  await fixture.clock.advance(0);
  expect(fixture.notifier.wakesHeld()).toBeNull();
});

test("without a limit, as the contract has it, answers wake for ever", async () => {
  await using fixture = createNotifierFixture({ interval_seconds: 60, wake_policy: "on_change" });
  await fixture.clock.advance(0);
  await fixture.arrive();
  const { messages } = await fixture.inbox.list(everything);
  let ref = messages[0]?.message_ref ?? "";
  const sender = fixture.mail.open("sender@svc.localhost");
  for (let round = 0; round < 30; round++) {
    await fixture.inbox.reply(ref, reply("And you?"));
    await fixture.inbox.archive([ref]);
    const [answer] = (await sender.list({ ...everything, limit: 1 })).messages;
    await sender.reply(answer?.message_ref ?? "", reply("And you?"));
    ref = (await fixture.inbox.list({ ...everything, limit: 1 })).messages[0]?.message_ref ?? "";
    await fixture.clock.advance(1000);
  }
  expect(fixture.prompts).toHaveLength(31);
});
