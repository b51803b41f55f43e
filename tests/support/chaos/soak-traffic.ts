import type { GatewayRequest } from "../../../src/protocol/gateway.ts";
import type { BuiltAgent } from "../built-agent.ts";
import type { CoordServer } from "../coord-server.ts";
import {
  archiveMail,
  driveLoad,
  type LoadAction,
  type LoadResponse,
  sendMail,
  submitToCoordinator,
  submitToGateway,
} from "../load.ts";
import type { Run } from "./engine.ts";

interface TrafficDeps {
  run: Pick<Run, "random" | "isOn" | "count" | "problem">;
  server: CoordServer;
  /** Longest pause between two acts of one agent, ms. */
  pauseMs: number;
}

/** A call may take so long on a machine that is busy with other things. */
const patience = { timeoutMs: 30_000 };

/** Counts an answer. A refusal is a right answer too, unless it says that something is broken. */
function record({ run }: TrafficDeps, act: string, reply: LoadResponse | null): void {
  const { kind, status, detail } = { status: undefined, detail: "", ...(reply ?? { kind: "unreachable" }) };
  run.count(kind === "ok" ? act : `${act} ${kind}`);
  if (kind === "unreachable" || (status ?? 0) >= 500)
    run.problem(`${act}: ${kind} ${status ?? ""} ${detail}`);
}

type Act = (number: number) => Promise<LoadResponse | null>;

/** `run` with its answer counted under `name`. */
const counted = (deps: TrafficDeps, weight: number, name: string, run: Act): LoadAction => ({
  weight,
  async run(number) {
    const response = await run(number);
    record(deps, name, response);
    return response;
  },
});

const promptOf = (prompt: string): GatewayRequest => ({ kind: "submit_prompt", payload: { prompt } });

/** Prompts, keys, mail, reminders and looks at one terminal agent. */
export async function drive(agent: BuiltAgent, neighbour: string, deps: TrafficDeps): Promise<void> {
  const { pauseMs: maxPauseMs, server } = deps;
  const { random, isOn } = deps.run;
  const client = () => agent.client();
  const to = `${neighbour}@svc.localhost`;
  const action = (weight: number, name: string, run: Act) => counted(deps, weight, name, run);
  await driveLoad({ random, isOn, maxPauseMs }, [
    action(0.35, "prompt", (n) => submitToGateway(client(), promptOf(`soak ${n}\nFAST`), patience)),
    action(0.1, "prompt through the coordinator", (n) =>
      submitToCoordinator(server, agent.name, promptOf(`soak by coordinator ${n}\nFAST`)),
    ),
    action(0.15, "mail", (n) =>
      sendMail(client(), { to, subject: `mail ${n} of ${agent.name}`, text: "text\n".repeat(20) }, patience),
    ),
    action(0.1, "archive", () => archiveOldest(agent)),
    action(0.08, "keys", async () =>
      asked(await client()?.call("sendKeys", { body: { sequence: "<[C-u]>" }, ...patience })),
    ),
    action(0.07, "reminder", async (n) => asked(await client()?.call("createReminders", reminder(n)))),
    action(0.05, "history", async () =>
      asked(await client()?.call("terminalHistory", { query: { limit: 1000 }, ...patience })),
    ),
    action(0.05, "events", async () =>
      asked(await client()?.call("listRequests", { query: { limit: 50 }, ...patience })),
    ),
    action(0.05, "state", async () => asked(await client()?.call("terminalState", patience))),
  ]);
}

const asked = (reply: { kind: LoadResponse["kind"] } | undefined): LoadResponse | null => reply ?? null;

const reminder = (number: number) => ({
  body: {
    reminders: [
      {
        title: `r${number}`,
        mode: "one_off" as const,
        prompt: `remember ${number}\nFAST`,
        ranking: 0,
        start_after_seconds: 1,
      },
    ],
  },
  ...patience,
});

/** The oldest open messages, five at most. Its own round may have put one away meanwhile. */
async function archiveOldest(agent: BuiltAgent): Promise<LoadResponse | null> {
  const client = agent.client();
  const list = await client?.call("mailList", { body: { schema_version: 1, box: "inbox" }, ...patience });
  if (list?.kind !== "ok") return asked(list);
  const refs = list.body.messages.slice(-5).map((mail) => mail.message_ref);
  return refs.length === 0 ? { kind: "ok" } : archiveMail(client ?? null, refs, patience);
}

/** Turns of one headless agent, one after the other. */
export async function driveTurns(agent: BuiltAgent, deps: TrafficDeps): Promise<void> {
  const { pauseMs: maxPauseMs } = deps;
  const { random, isOn } = deps.run;
  const turn: Act = (number) => {
    const prompt = `turn ${number}\n${random() < 0.5 ? "FAST" : "TOOL read\nSLOW 50"}`;
    return submitToGateway(agent.client(), promptOf(prompt), patience);
  };
  await driveLoad({ random, isOn, maxPauseMs, maxWaiting: 3 }, [counted(deps, 1, "turn", turn)]);
}

/** Reads an event stream, and begins it anew every `anewMs`. */
export async function follow(
  name: string,
  url: () => string,
  anewMs: number,
  deps: TrafficDeps,
): Promise<void> {
  while (deps.run.isOn()) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), deps.run.random() * anewMs);
    try {
      const reply = await fetch(url(), { signal: abort.signal, proxy: false } as unknown as RequestInit);
      record(deps, name, reply.ok ? { kind: "ok" } : { kind: "refused", status: reply.status });
      for await (const bytes of reply.body ?? []) {
        deps.run.count("streamed bytes", bytes.length);
        if (!deps.run.isOn()) abort.abort();
      }
    } catch (error) {
      if (!abort.signal.aborted) record(deps, name, { kind: "unreachable", detail: String(error) });
    } finally {
      clearTimeout(timer);
    }
  }
}
