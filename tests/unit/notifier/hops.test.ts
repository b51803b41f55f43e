import { expect, test } from "bun:test";
import { createNotifierLab, type NotifierLab } from "../../support/notifier-lab.ts";

const reply = (body: string) => ({ body, attachments: [], notifyBlock: null, notifyAuth: null });
const everything = {
  ...({ box: "inbox", readState: "any", answeredState: "any", archived: null, limit: null } as const),
  ...{ since: null, includeBody: false, cursor: null, query: null },
};

/** The worker answers what wakes it, and the other one answers each answer, until nobody is woken any more. */
async function converse(lab: NotifierLab): Promise<void> {
  const sender = lab.mail.open("sender@svc.localhost");
  for (let woken = -1; woken < lab.prompts.length; ) {
    woken = lab.prompts.length;
    const { messages } = await lab.inbox.list(everything);
    for (const { message_ref, answered } of messages) {
      if (answered) continue;
      await lab.inbox.reply(message_ref, reply("And you?"));
      await lab.inbox.archive([message_ref]);
    }
    const answers = await sender.list(everything);
    for (const { message_ref, answered } of answers.messages) {
      if (!answered) await sender.reply(message_ref, reply("And you?"));
    }
    await lab.clock.advance(1000);
  }
}

test("agents that answer each other stop at the limit; the message is there and wakes nobody until it is raised", async () => {
  await using lab = createNotifierLab({ interval_seconds: 60, wake_policy: "on_change", max_hops: 5 });
  await lab.clock.advance(0);
  await lab.arrive("How are you?");
  expect(lab.prompts).toHaveLength(1);
  await converse(lab);
  // Hops 0, 2 and 4 woke it; 6 does not.
  expect(lab.prompts).toHaveLength(3);
  const { messages } = await lab.inbox.list(everything);
  expect(messages.map(({ hops }) => hops)).toEqual([6]);
  expect(lab.notifier.audit({ limit: 1 }).rows[0]).toMatchObject({
    outcome: "wake_held",
    detail: expect.stringContaining("max_hops=5: 1 message(s)"),
  });
  expect(lab.notifier.wakesHeld()).toMatchObject({
    reason: "max_hops",
    since_utc: expect.stringMatching(/^2026-01-01T00:00:0/),
  });

  // Other mail still wakes it, and the prompt does not list what is parked.
  await lab.arrive("Something else");
  expect(lab.prompts).toHaveLength(4);
  expect(lab.prompts[3]).toContain("1 message(s) for");
  expect(lab.notifier.wakesHeld()?.reason).toBe("max_hops");

  lab.notifier.update({ max_hops: 7 });
  await lab.clock.advance(0);
  expect(lab.prompts).toHaveLength(5);
  expect(lab.notifier.wakesHeld()).toBeNull();
});

test("the limit of wake-ups an hour is reported while it holds, and not once it is over or the notifier is off", async () => {
  await using lab = createNotifierLab({ interval_seconds: 60, max_wakes_per_hour: 1 });
  await lab.clock.advance(0);
  await lab.arrive();
  expect(lab.notifier.wakesHeld()).toBeNull();
  await lab.clock.advance(61_000);
  expect(lab.notifier.wakesHeld()).toMatchObject({
    reason: "max_wakes_per_hour",
    since_utc: "2026-01-01T00:01:00.000+00:00",
  });
  await lab.clock.advance(10 * 60_000);
  expect(lab.notifier.wakesHeld()?.since_utc).toBe("2026-01-01T00:01:00.000+00:00");
  lab.notifier.disable();
  await lab.clock.advance(0);
  expect(lab.notifier.wakesHeld()).toBeNull();
});

test("without a limit, as the contract has it, answers wake for ever", async () => {
  await using lab = createNotifierLab({ interval_seconds: 60, wake_policy: "on_change" });
  await lab.clock.advance(0);
  await lab.arrive();
  const { messages } = await lab.inbox.list(everything);
  let ref = messages[0]?.message_ref ?? "";
  const sender = lab.mail.open("sender@svc.localhost");
  for (let round = 0; round < 30; round++) {
    await lab.inbox.reply(ref, reply("And you?"));
    await lab.inbox.archive([ref]);
    const [answer] = (await sender.list({ ...everything, limit: 1 })).messages;
    await sender.reply(answer?.message_ref ?? "", reply("And you?"));
    ref = (await lab.inbox.list({ ...everything, limit: 1 })).messages[0]?.message_ref ?? "";
    await lab.clock.advance(1000);
  }
  expect(lab.prompts).toHaveLength(31);
});
