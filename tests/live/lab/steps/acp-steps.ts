import { expect } from "bun:test";
import { existsSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TranscriptPage } from "../../../../src/protocol/transcript.ts";
import type { TurnProcess } from "../../../../src/protocol/turn-files.ts";
import { createProcesses } from "../../../../src/system/processes.ts";
import { quietSteps } from "../../../../src/system/steps.ts";
import { until } from "../../../support/until.ts";
import type { HeadlessSession } from "../headless-session.ts";

const processes = createProcesses({ steps: quietSteps });
const completed = { status: "completed", error: null, decided_by: "terminal_event" };

/** One process and one conversation for two turns, whose tokens are in their records. */
export async function turnsShareOneProcess(session: HeadlessSession): Promise<void> {
  expect(await session.turn("one", "Open the conversation FAST")).toMatchObject(completed);
  expect(await session.turn("two", "Still here FAST")).toMatchObject({ ...completed, history_summary: "ok" });
  const [first, second] = ["one", "two"].map((turn) => recordOf<TurnProcess>(session, turn, "process.json"));
  expect(second?.child_pid).toBe(first?.child_pid ?? -1);
  const heard = session.heard("Still here FAST");
  expect(heard).toHaveLength(1);
  expect(heard[0]?.all_user_texts.at(-2)).toContain("Open the conversation FAST");
  const [counted] = (await session.call<TranscriptPage>("/v1/transcript?limit=1")).body.turns;
  const { input, output, reasoning } = heard[0]?.usage ?? { input: 0, output: 0, reasoning: 0 };
  // gemini 0.61.0 reports no thoughts over ACP.
  const written = session.tool === "gemini" ? output - reasoning : output;
  expect(counted?.usage).toMatchObject([{ input_tokens: input, output_tokens: written }]);
}

/** The agent's processes are those of the tool that the lab installed, not of one that an adapter brings. */
export async function ownToolRuns(session: HeadlessSession): Promise<void> {
  const { pid } = await session.provider("one");
  const paths = await until("the tool's processes", async () => {
    const found = (await processes.tree(pid)).flatMap((one) => [...one.argv, executableOf(one.pid)]);
    return found.some((path) => path.startsWith(session.cliFolder)) && found;
  });
  expect(paths.filter((path) => /claude-agent-sdk-\w+|codex-acp-.*@openai/.test(path))).toEqual([]);
}

function executableOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return "";
  }
}

/** What the agent wants to do waits for a person, and is done after the answer. */
export async function permissionIsAsked(session: HeadlessSession): Promise<void> {
  const file = join(session.box.work, "tool-out.txt");
  rmSync(file, { force: true });
  await session.begin("asks", "Work RUNTOOL ESCALATE FAST");
  const decision = await until(
    "the question",
    async () => (await session.call<Status>("/v1/status")).body.awaiting_decision,
    45_000,
  );
  expect([JSON.stringify(decision), existsSync(file)]).toEqual([expect.stringContaining("touch"), false]);
  const option = decision.options.find(({ text }) => /once|^allow$|^yes/i.test(text)) ?? decision.options[0];
  const answer = await session.call("/v1/control/tui/decide", { option: option?.index, id: decision.id });
  expect(answer.status).toBe(200);
  const wait = await session.mgr(["turn", "wait", "asks", "--json", "--timeout", "60"]);
  expect([wait.json()["status"], existsSync(file)]).toEqual(["completed", true]);
}

interface Status {
  awaiting_decision?: { id: string; options: { index: number; text: string }[] };
}

/** An interrupt is a cancel: the turn is interrupted and the same process takes the next prompt. */
export async function interruptIsACancel(session: HeadlessSession): Promise<void> {
  await session.begin("stopped", "Go on LONGTURN");
  const { pid } = await session.provider("stopped");
  await session.model.next((one) => one.newest_user_text === "Go on LONGTURN", 45_000);
  const interrupt = await session.mgr(["interrupt", "--json"]);
  expect(interrupt.json()).toMatchObject({ success: true });
  expect((await session.mgr(["turn", "status", "stopped", "--json"])).json()).toMatchObject({
    status: "interrupted",
  });
  expect(await session.turn("after", "And now FAST")).toMatchObject(completed);
  expect(recordOf<TurnProcess>(session, "after", "process.json").child_pid).toBe(pid);
}

/** A process that died in mid-turn fails its turn; another process goes on with the conversation. */
export async function deathFailsTheTurn(session: HeadlessSession): Promise<void> {
  await session.begin("killed", "Go on LONGTURN");
  const { pid } = await session.provider("killed");
  await session.model.next((one) => one.newest_user_text === "Go on LONGTURN", 45_000);
  processes.signal(pid, "SIGKILL");
  const wait = await session.mgr(["turn", "wait", "killed", "--json", "--timeout", "60"]);
  expect(wait.json()).toMatchObject({ status: "failed" });
  await session.begin("again", "Remember me FAST");
  // gemini is not asked to load a conversation in the clock minute of its last use.
  const again = await session.mgr(["turn", "wait", "again", "--json", "--timeout", "120"]);
  expect(again.json()).toMatchObject(completed);
  const [heard] = session.heard("Remember me FAST");
  expect(heard?.all_user_texts.join(" ")).toContain("Open the conversation FAST");
}

function recordOf<T>(session: HeadlessSession, turnId: string, file: string): T {
  return JSON.parse(
    readFileSync(join(session.sessionRoot, "manifest.turn-artifacts", turnId, file), "utf8"),
  ) as T;
}
