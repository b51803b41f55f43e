import type { GatewayRequest } from "../../src/protocol/gateway.ts";
import type { GatewayClient } from "../../src/services/fleet/gateway-client.ts";
import type { BuiltAgent } from "./built-agent.ts";
import type { CoordServer } from "./coord-server.ts";
import type { Sent } from "./fault-story.ts";

/** `answered`: told that it is done; `refused`: told that it is not; `unknown`: no answer came. */
export type Fate = "answered" | "refused" | "unknown";

/** Everything that was asked for in a run, as its callers saw it. */
export interface Asked {
  requests: Sent[];
  mails: { subject: string; fate: Fate }[];
  /** Refs whose archiving was answered. */
  archived: string[];
  turns: { turnId: string; requestId: string | null }[];
}

export interface LoadDeps {
  worker: BuiltAgent;
  batch: BuiltAgent;
  coordinator: () => CoordServer | null;
  random: () => number;
  on: () => boolean;
  asked: Asked;
}

/** More requests than this do not wait at once: the agent takes two a second. */
const maxWaiting = 6;
const address = "worker@svc.localhost";

/** Prompts, interrupts, mail and turns, as the dice fall, to whichever gateway serves, until `on` says no. */
export async function crashLoad(deps: LoadDeps): Promise<void> {
  await Promise.all([requests(deps), mails(deps), turns(deps)]);
}

const pause = (deps: LoadDeps, maxMs: number) => Bun.sleep(deps.random() * maxMs);

async function requests(deps: LoadDeps): Promise<void> {
  const { random, asked, worker } = deps;
  for (let number = 1; deps.on(); number++) {
    await pause(deps, 120);
    const dice = random();
    const prompt =
      dice < 0.5 ? `prompt ${number}\nFAST` : dice < 0.65 ? "/clear" : dice < 0.75 ? "/new" : null;
    const body: GatewayRequest =
      prompt === null ? { kind: "interrupt" } : { kind: "submit_prompt", payload: { prompt } };
    const server = deps.coordinator();
    const client = worker.client();
    const through =
      random() < 0.35 && server ? byCoordinator(server, worker.name) : client && byGateway(client);
    if (!through) continue;
    const sent: Sent = { kind: body.kind, prompt, requestId: null };
    asked.requests.push(sent);
    const accepted = await through(body);
    sent.requestId = accepted?.requestId ?? null;
    if ((accepted?.depth ?? 0) > maxWaiting) await pause(deps, 2000);
  }
}

type Submit = (body: GatewayRequest) => Promise<{ requestId: string; depth: number } | null>;

const byGateway =
  (client: GatewayClient): Submit =>
  async (body) => {
    const reply = await client.call("submitRequest", { body });
    return reply.kind === "ok" ? { requestId: reply.body.request_id, depth: reply.body.queue_depth } : null;
  };

const byCoordinator =
  (server: CoordServer, name: string): Submit =>
  async (body) => {
    const answer = await server.ask(`/svc/agents/${name}/gateway/requests`, body).catch(() => null);
    if (answer?.status !== 202) return null;
    return { requestId: String(answer.body["request_id"]), depth: Number(answer.body["queue_depth"]) };
  };

async function mails(deps: LoadDeps): Promise<void> {
  const { asked, random } = deps;
  const refs: string[] = [];
  for (let number = 1; deps.on(); number++) {
    await pause(deps, 250);
    const client = deps.worker.client();
    if (!client) continue;
    const ref = random() < 0.3 ? refs.shift() : undefined;
    if (ref !== undefined) {
      const body = { schema_version: 1 as const, message_refs: [ref] };
      if ((await client.call("mailArchive", { body })).kind === "ok") asked.archived.push(ref);
      continue;
    }
    const mail: Asked["mails"][number] = { subject: `mail ${number}`, fate: "unknown" };
    asked.mails.push(mail);
    const reply = await client.call("mailSend", {
      body: { schema_version: 1, to: [address], subject: mail.subject, body_content: `text ${number}` },
    });
    if (reply.kind === "ok") {
      mail.fate = "answered";
      refs.push(reply.body.message.message_ref);
    } else if (reply.kind === "refused") mail.fate = "refused";
  }
}

const works = ["FAST", "SLOW 60", "SLOW 250", "TOOL read\nSLOW 30", "ERROR no", "EXIT 4"] as const;

async function turns(deps: LoadDeps): Promise<void> {
  const { asked, random } = deps;
  for (let number = 1; deps.on(); number++) {
    await pause(deps, 400);
    const client = deps.batch.client();
    if (!client) continue;
    const turnId = `turn-${number}`;
    const work = works[Math.floor(random() * works.length)];
    const turn: Asked["turns"][number] = { turnId, requestId: null };
    asked.turns.push(turn);
    const payload = { prompt: `${turnId}\n${work}`, turn_id: turnId };
    const reply = await client.call("submitRequest", { body: { kind: "submit_prompt", payload } });
    if (reply.kind !== "ok") continue;
    turn.requestId = reply.body.request_id;
    if (reply.body.queue_depth > maxWaiting) await pause(deps, 2000);
  }
}
