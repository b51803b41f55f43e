import { chmodSync, writeFileSync } from "node:fs";
import type { DeliveredItem } from "../../src/protocol/delivery.ts";
import { parseRules } from "../../src/services/extensions/deliveries/rules.ts";
import { createSend, type Send } from "../../src/services/extensions/deliveries/send.ts";
import { createSystem } from "../../src/system/system.ts";
import { createScratch, type Scratch } from "./scratch.ts";

export const deliveredItem = (fields: Partial<DeliveredItem> = {}): DeliveredItem => ({
  id: "question-000000000001",
  epoch: 3,
  agent: "worker",
  reason: "question",
  since_utc: null,
  summary: '"worker" asks a question: Go on?',
  question: "Go on?",
  ...fields,
});

export const webhookSecret = `whsec_${Buffer.from("a key of thirty-two bytes, exactly").toString("base64")}`;

/**
 * A rule file in a folder with secret files, and the sender of its rules over the real network and processes.
 */
export function targetFixture(
  env: Record<string, string> = { PATH: process.env["PATH"] ?? "" },
): Disposable & {
  scratch: Scratch;
  secret(name: string, text: string): void;
  /** Sends by the one rule of this YAML, indented below its name. */
  send(rule: string, delivery?: Partial<Parameters<Send>[1]>): ReturnType<Send>;
} {
  const scratch = createScratch();
  const { clock, network, processes, ids, files } = createSystem();
  const rulesFile = scratch.path("deliveries.yaml");
  const sender = createSend({ clock, network, processes, ids, files, env, home: scratch.folder, rulesFile });
  return {
    scratch,
    secret(name, text) {
      writeFileSync(scratch.path(name), text);
      chmodSync(scratch.path(name), 0o600);
    },
    async send(rule, delivery = {}) {
      const reading = parseRules(`version: 1\nrules:\n  it:\n    ${rule}\n`);
      const [only] = reading.ok ? reading.rules : [];
      if (!only) throw new Error(JSON.stringify(reading));
      const given = { deliveryId: "dlv_1", createdMs: Date.UTC(2026, 0, 1), items: [deliveredItem()] };
      return sender(only, { ...given, ...delivery });
    },
    [Symbol.dispose]: () => scratch[Symbol.dispose](),
  };
}

/** An HTTP server on loopback that keeps what it was sent. */
export function receiver(
  answer: (request: Request, nth: number) => Response | Promise<Response> = () => new Response("ok"),
) {
  const got: { path: string; headers: Headers; body: string }[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      got.push({ path: new URL(request.url).pathname, headers: request.headers, body: await request.text() });
      return answer(request, got.length);
    },
  });
  return {
    got,
    url: `http://127.0.0.1:${server.port}`,
    async [Symbol.asyncDispose]() {
      await server.stop(true);
    },
  };
}
