import type { GatewayRequest } from "../../src/protocol/gateway.ts";
import type { BuiltAgent } from "./built-agent.ts";
import type { CoordServer } from "./coord-server.ts";
import type { Sent } from "./fault-story.ts";
import { archiveMail, driveLoad, sendMail, submitToCoordinator, submitToGateway } from "./load.ts";

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

interface CrashLoadDeps {
  worker: BuiltAgent;
  batch: BuiltAgent;
  coordinator: () => CoordServer | null;
  random: () => number;
  on: () => boolean;
  asked: Asked;
}

/** The agent takes two a second. */
const maxWaiting = 6;
const address = "worker@svc.localhost";

/** Prompts, interrupts, mail and turns, as the dice fall, to whichever gateway serves, until `on` says no. */
export async function crashLoad(deps: CrashLoadDeps): Promise<void> {
  const { random, on: isOn } = deps;
  const drive = (maxPauseMs: number, actions: Parameters<typeof driveLoad>[1]) =>
    driveLoad({ random, isOn, maxPauseMs, maxWaiting }, actions);
  const prompt = (text: (number: number) => string) => (number: number) =>
    submit(deps, { kind: "submit_prompt", payload: { prompt: text(number) } });
  const refs: string[] = [];
  await Promise.all([
    drive(120, [
      { weight: 0.5, run: prompt((number) => `prompt ${number}\nFAST`) },
      { weight: 0.15, run: prompt(() => "/clear") },
      { weight: 0.1, run: prompt(() => "/new") },
      { weight: 0.25, run: () => submit(deps, { kind: "interrupt" }) },
    ]),
    drive(250, [
      { weight: 0.7, run: (number) => mail(deps, refs, number) },
      { weight: 0.3, run: () => archive(deps, refs) },
    ]),
    drive(400, [{ weight: 1, run: (number) => turn(deps, number) }]),
  ]);
}

async function submit(deps: CrashLoadDeps, body: GatewayRequest) {
  const server = deps.coordinator();
  const client = deps.worker.client();
  const coordinated = deps.random() < 0.35 && server !== null;
  if (!coordinated && client === null) return null;
  const prompt = body.kind === "submit_prompt" ? body.payload.prompt : null;
  const sent: Sent = { kind: body.kind, prompt, requestId: null };
  deps.asked.requests.push(sent);
  const response = coordinated
    ? await submitToCoordinator(server, deps.worker.name, body)
    : await submitToGateway(client, body);
  sent.requestId = (response?.kind === "ok" && response.requestId) || null;
  return response;
}

async function mail({ asked, worker }: CrashLoadDeps, refs: string[], number: number) {
  const client = worker.client();
  if (!client) return null;
  const sent: Asked["mails"][number] = { subject: `mail ${number}`, fate: "unknown" };
  asked.mails.push(sent);
  const response = await sendMail(client, { to: address, subject: sent.subject, text: `text ${number}` });
  if (response?.kind === "ok") {
    sent.fate = "answered";
    refs.push(response.messageRef ?? "");
  } else if (response?.kind === "refused") sent.fate = "refused";
  return response;
}

async function archive({ asked, worker }: CrashLoadDeps, refs: string[]) {
  const client = worker.client();
  const ref = client ? refs.shift() : undefined;
  if (ref === undefined) return null;
  const response = await archiveMail(client, [ref]);
  if (response?.kind === "ok") asked.archived.push(ref);
  return response;
}

const works = ["FAST", "SLOW 60", "SLOW 250", "TOOL read\nSLOW 30", "ERROR no", "EXIT 4"] as const;

async function turn({ asked, batch, random }: CrashLoadDeps, number: number) {
  const client = batch.client();
  if (!client) return null;
  const turnId = `turn-${number}`;
  const work = works[Math.floor(random() * works.length)];
  const sent: Asked["turns"][number] = { turnId, requestId: null };
  asked.turns.push(sent);
  const payload = { prompt: `${turnId}\n${work}`, turn_id: turnId };
  const response = await submitToGateway(client, { kind: "submit_prompt", payload });
  sent.requestId = (response?.kind === "ok" && response.requestId) || null;
  return response;
}
