import type { BuiltAgent } from "./built-agent.ts";
import type { CoordServer } from "./coord-server.ts";

export interface Traffic {
  /** How often each thing was asked for and done. */
  counts: Record<string, number>;
  /** Answers that must never be. */
  wrong: string[];
}

export interface TrafficDeps extends Traffic {
  server: CoordServer;
  random: () => number;
  on: () => boolean;
  /** Longest pause between two acts of one agent, ms. */
  pauseMs: number;
}

interface Reply {
  kind: "ok" | "refused" | "unreachable";
  status?: number;
  detail?: string;
}

/** A call may take so long on a machine that is busy with other things. */
const timeoutMs = 30_000;

/** Counts an answer. A refusal is a right answer too, unless it says that something is broken. */
function tell(deps: TrafficDeps, act: string, reply: Reply | undefined): void {
  const kind = reply?.kind ?? "unreachable";
  const name = kind === "ok" ? act : `${act} ${kind}`;
  deps.counts[name] = (deps.counts[name] ?? 0) + 1;
  if (kind === "unreachable" || (reply?.status ?? 0) >= 500) {
    deps.wrong.push(`${act}: ${kind} ${reply?.status ?? ""} ${reply?.detail ?? ""}`);
  }
}

/** Prompts, keys, mail, reminders and looks at one terminal agent, until `on` says no. */
export async function drive(agent: BuiltAgent, neighbour: string, deps: TrafficDeps): Promise<void> {
  const { random } = deps;
  const client = () => agent.client();
  const acts: readonly (readonly [number, string, (n: number) => Promise<Reply | undefined>])[] = [
    [
      0.35,
      "prompt",
      async (n) =>
        client()?.call("submitRequest", {
          body: { kind: "submit_prompt", payload: { prompt: `soak ${n}\nFAST` } },
          timeoutMs,
        }),
    ],
    [0.45, "prompt through the coordinator", async (n) => throughCoordinator(agent.name, n, deps)],
    [
      0.6,
      "mail",
      async (n) =>
        client()?.call("mailSend", {
          body: {
            schema_version: 1,
            to: [`${neighbour}@svc.localhost`],
            subject: `mail ${n} of ${agent.name}`,
            body_content: "text\n".repeat(20),
          },
          timeoutMs,
        }),
    ],
    [0.7, "archive", async () => archiveOldest(agent)],
    [0.78, "keys", async () => client()?.call("sendKeys", { body: { sequence: "<[C-u]>" }, timeoutMs })],
    [
      0.85,
      "reminder",
      async (n) =>
        client()?.call("createReminders", {
          body: {
            reminders: [
              {
                title: `r${n}`,
                mode: "one_off",
                prompt: `remember ${n}\nFAST`,
                ranking: 0,
                start_after_seconds: 1,
              },
            ],
          },
          timeoutMs,
        }),
    ],
    [0.9, "history", async () => client()?.call("terminalHistory", { query: { limit: 1000 }, timeoutMs })],
    [0.95, "events", async () => client()?.call("listRequests", { query: { limit: 50 }, timeoutMs })],
    [1, "state", async () => client()?.call("terminalState", { timeoutMs })],
  ];
  for (let number = 1; deps.on(); number++) {
    await Bun.sleep(random() * deps.pauseMs);
    const dice = random();
    const [, name, act] = acts.find(([below]) => dice < below) ?? acts[0] ?? [];
    if (name && act) tell(deps, name, await act(number));
  }
}

async function throughCoordinator(name: string, number: number, deps: TrafficDeps): Promise<Reply> {
  const body = { kind: "submit_prompt", payload: { prompt: `soak by coordinator ${number}\nFAST` } };
  const { status, body: answer } = await deps.server.ask(`/svc/agents/${name}/gateway/requests`, body);
  return status < 300 ? { kind: "ok" } : { kind: "refused", status, detail: JSON.stringify(answer) };
}

/** The oldest open messages, five at most. */
async function archiveOldest(agent: BuiltAgent): Promise<Reply | undefined> {
  const client = agent.client();
  const list = await client?.call("mailList", { body: { schema_version: 1, box: "inbox" }, timeoutMs });
  if (list?.kind !== "ok") return list;
  const refs = list.body.messages.slice(-5).map((mail) => mail.message_ref);
  if (refs.length === 0) return { kind: "ok" };
  const reply = await client?.call("mailArchive", {
    body: { schema_version: 1, message_refs: refs },
    timeoutMs,
  });
  // Its own round may have put one away meanwhile.
  return reply;
}

/** Turns of one headless agent, one after the other, until `on` says no. */
export async function driveTurns(agent: BuiltAgent, deps: TrafficDeps): Promise<void> {
  for (let number = 1; deps.on(); number++) {
    await Bun.sleep(deps.random() * deps.pauseMs);
    const prompt = `turn ${number}\n${deps.random() < 0.5 ? "FAST" : "TOOL read\nSLOW 50"}`;
    const reply = await agent.client()?.call("submitRequest", {
      body: { kind: "submit_prompt", payload: { prompt } },
      timeoutMs,
    });
    tell(deps, "turn", reply);
    if (reply?.kind === "ok" && reply.body.queue_depth > 3) await Bun.sleep(2000);
  }
}

/** Reads an event stream, and begins it anew every `anewMs`, until `on` says no. */
export async function follow(
  name: string,
  url: () => string,
  anewMs: number,
  deps: TrafficDeps,
): Promise<void> {
  while (deps.on()) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), deps.random() * anewMs);
    try {
      const reply = await fetch(url(), { signal: abort.signal, proxy: false } as unknown as RequestInit);
      tell(deps, name, reply.ok ? { kind: "ok" } : { kind: "refused", status: reply.status });
      for await (const bytes of reply.body ?? []) {
        deps.counts["streamed bytes"] = (deps.counts["streamed bytes"] ?? 0) + bytes.length;
        if (!deps.on()) abort.abort();
      }
    } catch (error) {
      if (!abort.signal.aborted) tell(deps, name, { kind: "unreachable", detail: String(error) });
    } finally {
      clearTimeout(timer);
    }
  }
}
