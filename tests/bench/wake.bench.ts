import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { registerMailbox } from "../../src/services/mail/binding-register.ts";
import { initMailRoot, type MailRoot, openMailRoot } from "../../src/services/mail/filesystem/root.ts";
import type { Mailbox } from "../../src/services/mail/mailbox.ts";
import { followEvents } from "../support/gateway-events.ts";
import { everything } from "../support/mail-story.ts";
import { type Bench, durationRows } from "./bench.ts";
import { effort } from "./effort.ts";
import { type BenchFixture, createBenchFixture, type ServedGateway } from "./fixture.ts";

const rounds = effort(10, 1);
const pollMs = 2000;

/**
 * From the sending of a message to the wake-up prompt's submission in an idle agent, proved on its screen.
 * Beside a poller that lists the same kind of mailbox every two seconds and queues a prompt when it finds
 * mail.
 */
const bench: Bench = {
  name: "wake",
  async run() {
    await using fixture = await createBenchFixture();
    const root = openRoot(fixture);
    try {
      root.registrations.register({
        address: "sender@svc.localhost",
        principalId: "SVC-sender",
        mode: "safe",
      });
      const sender = root.openMailbox({ address: "sender@svc.localhost", principalId: "SVC-sender" });
      await using woken = await createReceiver(fixture, root, sender, "woken");
      await using polled = await createReceiver(fixture, root, sender, "polled");
      await woken.enableNotifier();
      const stopPolling = poll(polled);
      const durations = { woken: [] as number[], polled: [] as number[] };
      for (let round = -1; round < rounds; round++) {
        // Mail comes anywhere between two polls.
        await Bun.sleep(Math.random() * pollMs);
        const wake = await woken.receive();
        const found = await polled.receive();
        if (round < 0) continue;
        durations.woken.push(wake);
        durations.polled.push(found);
      }
      stopPolling();
      return durationRows("wake", durations.woken, durations.polled);
    } finally {
      root.close();
    }
  },
};

export default bench;

interface Receiver extends AsyncDisposable {
  gateway: ServedGateway;
  mailbox: Mailbox;
  enableNotifier(): Promise<void>;
  /**
   * Sends one message when the agent is idle; resolves with the milliseconds until its prompt was submitted.
   */
  receive(): Promise<number>;
}

function openRoot({ tmux, world }: BenchFixture): MailRoot {
  const root = join(tmux.folder, "mail");
  initMailRoot(world, root);
  return openMailRoot(world, root);
}

async function createReceiver(
  fixture: BenchFixture,
  root: MailRoot,
  sender: Mailbox,
  name: string,
): Promise<Receiver> {
  const script = join(fixture.tmux.folder, `${name}.json`);
  writeFileSync(script, JSON.stringify({ schema_version: 1, program: ["sh", "-c", "cat > /dev/null"] }));
  const agent = await fixture.launch(name, ["--script", script]);
  const { binding } = await registerMailbox(fixture.world, agent, root, { mode: "safe" });
  const mailbox = root.openMailbox({ address: binding.address, principalId: binding.principal_id });
  const gateway = await agent.serve();
  const events = await followEvents(gateway.baseUrl);
  const seen = new Set<unknown>();
  return {
    gateway,
    mailbox,
    async enableNotifier() {
      const reply = await fetch(`${gateway.baseUrl}/v1/mail-notifier`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ interval_seconds: 86_400 }),
        proxy: false,
      } as unknown as RequestInit);
      if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    },
    async receive() {
      await gateway.whenReady();
      const startedMs = performance.now();
      await sender.send({
        to: [binding.address],
        cc: [],
        subject: "wake up",
        body: "Say what you find.",
        attachments: [],
        notifyBlock: null,
        notifyAuth: null,
      });
      const { request_id } = await events.first(
        "a wake-up prompt",
        (event) =>
          event.kind === "request_evidence" &&
          event["step"] === "submitted" &&
          !seen.has(event["request_id"]),
      );
      const durationMs = performance.now() - startedMs;
      seen.add(request_id);
      await mailbox.archive((await inboxOf(mailbox)).map((message) => message.message_ref));
      return durationMs;
    },
    [Symbol.asyncDispose]: () => events[Symbol.asyncDispose](),
  };
}

/** Looks every two seconds, as a script beside an agent would. Returns the function that ends it. */
function poll({ gateway, mailbox }: Receiver): () => void {
  const told = new Set<string>();
  const timer = setInterval(async () => {
    const fresh = (await inboxOf(mailbox)).filter((message) => !told.has(message.message_ref));
    for (const { message_ref } of fresh) told.add(message_ref);
    if (fresh.length > 0) await gateway.submit(`There is mail: ${fresh[0]?.message_ref}`);
  }, pollMs);
  return () => clearInterval(timer);
}

async function inboxOf(mailbox: Mailbox) {
  const page = await mailbox.list({ ...everything, archived: false });
  return page.messages;
}
