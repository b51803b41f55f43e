import type { GatewayRequest } from "../../src/protocol/gateway.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import type { Dice } from "./dice.ts";
import type { MailOracle } from "./mail-oracle.ts";
import type { SimCoordinator } from "./sim-coordinator.ts";
import type { SimHost } from "./sim-host.ts";
import type { SimWorld } from "./sim-world.ts";

export interface WorkloadDeps {
  world: SimWorld;
  hosts: readonly SimHost[];
  mail: MailOracle;
  coordinator: SimCoordinator;
  dice: Dice;
}

/** What callers of one agent's gateway do, each at moments of its own. */
export interface Workload {
  /** One thing that some caller wants of `host` now. */
  act(host: SimHost): Promise<void>;
  /** Mail is to come no more. */
  endMail(): void;
}

type Act = (host: SimHost, client: GatewayClient) => Promise<void>;

const directives = ["FAST", "FAST", "FAST", "SLOW 1500", "SILENT 4000", "FAIL no luck"] as const;
const rareDirectives = ["MENU Shall it be?", "EXIT", "CRASH", "SLOW 60000"] as const;

export function createWorkload({ world, hosts, mail, coordinator, dice }: WorkloadDeps): Workload {
  let texts = 0;
  let mailEnded = false;
  const reminders = new Map<SimHost, string[]>();

  function text(host: SimHost): string {
    texts += 1;
    const directive = dice.chance(0.12) ? dice.pick(rareDirectives) : dice.pick(directives);
    return `${host.name} prompt ${texts}\n${directive}`;
  }

  async function submit(host: SimHost, client: GatewayClient, request: GatewayRequest): Promise<void> {
    const reply = await client.call("submitRequest", { body: request });
    world.trace.note(
      host.name,
      `${request.kind}: ${reply.kind === "ok" ? reply.body.request_id : reply.detail}`,
    );
    if (reply.kind === "refused" && reply.status === 500 && !world.weather.diskFull)
      fault(host, reply.detail);
    if (reply.kind !== "ok") return world.count("requests_refused");
    world.count("requests_accepted");
    host.requests.answered(reply.body.request_id);
  }

  const fault = (host: SimHost, detail: string) => {
    // A disk may have had room again by the time of the answer.
    world.trace.note(host.name, `500: ${detail}`);
  };

  const acts: readonly [number, Act][] = [
    [
      30,
      async (host, client) => {
        const delivery = dice.pick(["turn_boundary", "turn_boundary", "immediate"] as const);
        await submit(host, client, {
          kind: "submit_prompt",
          payload: { prompt: text(host), ...(delivery === "immediate" ? { delivery } : {}) },
        });
      },
    ],
    [
      6,
      async (host, client) => {
        const prompt = text(host);
        const request = { kind: "submit_prompt", payload: { prompt } } as const;
        const twins = Array.from({ length: dice.whole(2, 4) }, () => submit(host, client, request));
        await Promise.all([...twins, submit(host, client, { kind: "interrupt" })]);
      },
    ],
    [6, (host, client) => submit(host, client, { kind: "interrupt" })],
    [
      6,
      async (host, client) => {
        const commands = ["/clear", "/compact", "/new"] as const;
        const some = Array.from({ length: dice.whole(1, 3) }, () =>
          submit(host, client, { kind: "submit_prompt", payload: { prompt: dice.pick(commands) } }),
        );
        await Promise.all(some);
      },
    ],
    [
      6,
      async (host, client) => {
        const admission_policy = dice.pick(["ready_only", "ready_only", "if_no_pending", "always"] as const);
        const prompt = text(host);
        host.allow(prompt, admission_policy === "ready_only" ? "turn_boundary" : "anything");
        const reply = await client.call("controlPrompt", { body: { prompt, admission_policy } });
        world.trace.note(
          host.name,
          `direct ${admission_policy}: ${reply.kind === "ok" ? "sent" : reply.detail}`,
        );
        world.count("direct_prompts");
      },
    ],
    [
      5,
      async (host, client) => {
        const prompt = `${host.name} reminder ${++texts}\nFAST`;
        host.allow(prompt, "turn_boundary");
        const repeats = dice.chance(0.3);
        const reply = await client.call("createReminders", {
          body: {
            reminders: [
              {
                title: `reminder ${texts}`,
                prompt,
                mode: repeats ? "repeat" : "one_off",
                ranking: dice.whole(-3, 3),
                start_after_seconds: dice.skewed(1, 1200),
                ...(repeats ? { interval_seconds: dice.skewed(60, 1800) } : {}),
              },
            ],
          },
        });
        if (reply.kind !== "ok") return;
        world.count("reminders");
        const mine = reminders.get(host) ?? [];
        reminders.set(host, [...mine, ...reply.body.reminders.map((one) => one.reminder_id)]);
      },
    ],
    [
      3,
      async (host, client) => {
        const reminder_id = reminders.get(host)?.shift();
        if (reminder_id !== undefined) await client.call("deleteReminder", { params: { reminder_id } });
      },
    ],
    [
      24,
      async (host, client) => {
        if (mailEnded) return;
        await mail.send(
          host,
          client,
          dice.chance(0.25) ? hosts : [dice.pick(hosts as [SimHost, ...SimHost[]])],
        );
      },
    ],
    [14, (host, client) => mail.poke(host, client)],
    [
      4,
      async (host, client) => {
        await mail.setNotifier(host, client, dice.chance(0.2) ? null : dice.skewed(5, 600));
      },
    ],
    [4, async (_, client) => void (await client.call("reconcile", {}))],
    [
      6,
      async (host, client) => {
        const reply = await client.call("listRequests", { query: { limit: 100 } });
        if (reply.kind !== "ok") return;
        const stored = new Set(host.requests.all().map((one) => one.id));
        for (const one of reply.body.requests) {
          if (!stored.has(one.request_id))
            world.fail(host.name, `${one.request_id} is told of and not stored`);
        }
      },
    ],
  ];
  const total = acts.reduce((sum, [weight]) => sum + weight, 0);

  return {
    async act(host) {
      const through = dice.chance(0.3) ? coordinator.clientOf(host.name) : null;
      const client = through ?? host.gateway()?.client;
      if (!client) return;
      let left = dice.next() * total;
      const chosen = acts.find(([weight]) => {
        left -= weight;
        return left < 0;
      });
      await chosen?.[1](host, client);
    },
    endMail() {
      mailEnded = true;
    },
  };
}
