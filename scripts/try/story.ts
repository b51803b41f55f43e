import { Database } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { tellMail } from "./mail.ts";
import { expect, step } from "./say.ts";
import { type Stage, setStage, until } from "./stage.ts";

/**
 * The main job on this machine, end to end, with the scripted agent: each line it prints was checked, against
 * the agent's own log and the disk where there is one. Returns the exit code.
 */
export async function runTry(): Promise<number> {
  const stage = setStage();
  let failure: unknown = null;
  const began = performance.now();
  try {
    await tell(stage);
    await tellMail(stage);
  } catch (error) {
    failure = error;
  }
  const left = await stage.strike();
  if (failure === null && left.length > 0) failure = new Error(`left behind: ${left.join(", ")}`);
  if (failure !== null) {
    console.error(`  FAILED  ${failure instanceof Error ? failure.message : String(failure)}`);
    return 1;
  }
  step("nothing is left: no process, no tmux session, no file");
  console.log(
    `\nAll of it took ${((performance.now() - began) / 1000).toFixed(1)} s. Now with your own agent:`,
  );
  console.log("  npx -y bun@1.4.5 run build");
  console.log("  dist/svc-mgr agents launch --tool claude --agent-name alice");
  return 0;
}

async function tell(stage: Stage): Promise<void> {
  const agent = ["agents", "single", "--agent-name", "try"];

  const launched = await stage.manager(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "try",
    "--workdir",
    stage.workdir,
    "--",
    "--log",
    stage.agentLog,
  );
  expect("the launch", launched, launched.code === 0 && launched.out.gateway_port > 0);
  const sessionRoot: string = launched.out.session_root;
  step(
    `agent "try" runs in tmux session ${launched.out.tmux_session_name}, its gateway on port ${launched.out.gateway_port}`,
  );

  await until("the agent is ready", async () => (await phase(stage, agent)) === "ready");
  const first = await stage.manager(...agent, "prompt", "--prompt", "describe the harbor\nSLOW 600000");
  expect("the first prompt", first, first.code === 0 && first.out.state === "accepted");
  expect(
    "the row on disk",
    rowOf(sessionRoot, first.out.request_id),
    rowOf(sessionRoot, first.out.request_id) !== null,
  );
  step(`prompt accepted as ${first.out.request_id}, and on disk`);

  await until("the agent is busy", async () => (await phase(stage, agent)) === "active");
  expect("the agent's own log", events(stage), submissions(stage).length === 1);
  step("the agent took it and is seen busy");

  const refused = await stage.manager(...agent, "gateway", "prompt", "--prompt", "too early");
  const refusal = refused.error?.detail ?? refused.error;
  expect("the refusal", refused, refused.code === 1 && refusal?.error_code === "not_ready");
  step(`a direct prompt is refused: ${refusal.error_code} (${refusal.detail})`);

  const second = await stage.manager(...agent, "prompt", "--prompt", "and the lighthouse\nFAST");
  expect("the second prompt", second, second.code === 0);
  const waits = await until("the queue says why it waits", async () => {
    const shown = await stage.manager(...agent, "requests", "show", second.out.request_id);
    return shown.out?.waiting?.reason ? shown.out : null;
  });
  expect("the waiting row", waits, waits.state === "accepted" && submissions(stage).length === 1);
  step(`a second prompt is queued and says why it waits: ${waits.waiting.reason}`);

  const { pid } = JSON.parse(
    readFileSync(join(sessionRoot, "gateway", "run", "current-instance.json"), "utf8"),
  );
  process.kill(pid, "SIGKILL");
  await until("the gateway is gone", () => !existsSync(`/proc/${pid}/cwd`));
  expect(
    "the row after kill -9",
    rowOf(sessionRoot, second.out.request_id),
    rowOf(sessionRoot, second.out.request_id) === "accepted",
  );
  const attached = await stage.manager(...agent, "gateway", "attach");
  expect("the new gateway", attached, attached.code === 0);
  step("the gateway was killed with SIGKILL; a new one took over the same queue");

  const interrupted = await stage.manager(...agent, "interrupt");
  expect("the interrupt", interrupted, interrupted.code === 0 && interrupted.out.disposition === "accepted");
  step("an interrupt ended the first turn");

  await until("the second prompt is delivered", async () => {
    const shown = await stage.manager(...agent, "requests", "show", second.out.request_id);
    return shown.out?.evidence?.some((one: { step: string }) => one.step === "turn_ended") ?? false;
  });
  const received = submissions(stage);
  expect(
    "what the agent received",
    received,
    received.length === 2 &&
      received[0]?.text === "describe the harbor\nSLOW 600000" &&
      received[1]?.text === "and the lighthouse\nFAST" &&
      received[1]?.while === "idle",
  );
  step("the queued prompt came at the turn's end, once, exactly as given; nothing was lost or doubled");

  const stopped = await stage.manager(...agent, "stop");
  expect("the stop", stopped, stopped.code === 0);
  const listed = await stage.manager("agents", "list");
  expect("the list", listed, listed.code === 0);
  step("agent and gateway are stopped");
}

async function phase(stage: Stage, agent: string[]): Promise<string | null> {
  const { out } = await stage.manager(...agent, "state");
  return out?.turn?.phase ?? out?.terminal?.turn?.phase ?? null;
}

/** State of the stored request, read from the file itself; null when it is not there. */
function rowOf(sessionRoot: string, requestId: string): string | null {
  const database = new Database(join(sessionRoot, "gateway", "queue.sqlite"), { readonly: true });
  try {
    const row = database.query("SELECT state FROM gateway_requests WHERE request_id = ?").get(requestId);
    return (row as { state: string } | null)?.state ?? null;
  } finally {
    database.close();
  }
}

interface AgentEvent {
  kind: string;
  text?: string;
  while?: string;
}

/** What the scripted agent says it really received and did. */
function events(stage: Stage): AgentEvent[] {
  return readFileSync(stage.agentLog, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function submissions(stage: Stage): AgentEvent[] {
  return events(stage).filter((event) => event.kind === "submitted");
}
