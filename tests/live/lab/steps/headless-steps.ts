import { expect } from "bun:test";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { TurnEvent, TurnEvents, TurnStatusRecord } from "../../../../src/protocol/turns.ts";
import { createProcesses } from "../../../../src/system/processes.ts";
import { quietSteps } from "../../../../src/system/steps.ts";
import { followEvents } from "../../../support/gateway-events.ts";
import { until } from "../../../support/until.ts";
import type { HeadlessSession } from "../headless-session.ts";
import type { StageStep } from "../staged-steps.ts";
import { headlessFacts } from "../tool-facts.ts";

export type HeadlessStep = StageStep<HeadlessSession, null>;

const processes = createProcesses({ steps: quietSteps });
const factsOf = ({ transport, tool }: HeadlessSession) => headlessFacts[transport][tool];

/** The record of a turn that went well. */
const completed = (session: HeadlessSession) => ({
  status: "completed",
  error: null,
  decided_by: "terminal_event",
  returncode: factsOf(session).returncode,
});

/** The id of the conversation that the session is pinned to. */
async function pinned(session: HeadlessSession): Promise<string> {
  const { body } = await session.call<{ chat_session: { current: { id: string } | null } }>(
    "/v1/control/headless/state",
  );
  return body.chat_session.current?.id ?? "none";
}

/** What the model heard of the conversation when the prompt came to it, which it did once. */
function conversationOf(session: HeadlessSession, prompt: string): readonly string[] {
  const heard = session.heard(prompt);
  expect(heard).toHaveLength(1);
  return heard[0]?.all_user_texts ?? [];
}

async function eventsOf(session: HeadlessSession, turnId: string): Promise<TurnEvent[]> {
  return (await session.mgr(["turn", "events", turnId, "--detail", "--json"])).json<TurnEvents>().entries;
}

const opening = "Open the conversation FAST";

/** No tool runs before the first turn, which opens a conversation and pins the session to it. */
export async function conversationBegins(session: HeadlessSession): Promise<void> {
  expect([await pinned(session), session.model.received()]).toEqual(["none", []]);
  const record = await session.turn("opening", opening);
  expect(record).toMatchObject({ ...completed(session), turn_index: 1, history_summary: "ok" });
  expect(conversationOf(session, opening)).toEqual([opening]);
  if (session.transport === "native") expect(session.heard(opening)[0]?.headless).not.toBe(false);
  const kinds = (await eventsOf(session, "opening")).map((event) => event.kind);
  expect([kinds.filter((kind) => kind === "session"), kinds.at(-1)]).toEqual([["session"], "completion"]);
  const [status, stdout, said] = await Promise.all([
    session.mgr(["turn", "status", "opening", "--json"]),
    session.mgr(["turn", "stdout", "opening"]),
    session.mgr(["turn", "stderr", "opening"]),
  ]);
  expect(status.json()).toMatchObject(completed(session));
  expect(stdout.stdout).toContain(await pinned(session));
  expect([stdout.exitCode, said.exitCode]).toEqual([0, 0]);
}

const difficult = `One "two"  $HOME \`x\` \\\n\n\ttab 漢字 e\u0301 👩‍👩‍👧 -- @nobody !ls\n/help #x FAST`;

/**
 * A prompt of many lines arrives character by character, in the conversation that the session is pinned to.
 */
export async function promptArrivesWhole(session: HeadlessSession): Promise<void> {
  const before = await pinned(session);
  expect(await session.turn("difficult", difficult)).toMatchObject(completed(session));
  expect(conversationOf(session, difficult)).toEqual([opening, difficult]);
  expect(await session.turn("current", "Still here FAST", ...mode("current"))).toMatchObject(
    completed(session),
  );
  expect(conversationOf(session, "Still here FAST")).toEqual([opening, difficult, "Still here FAST"]);
  expect(await pinned(session)).toBe(before);
}

/** A conversation begun anew hears nothing of the old one, which is found again by its id. */
export async function conversationsAreChosen(session: HeadlessSession): Promise<void> {
  const old = await pinned(session);
  expect(await session.turn("other", "Another one FAST", ...mode("new"))).toMatchObject(completed(session));
  expect(conversationOf(session, "Another one FAST")).toEqual(["Another one FAST"]);
  const other = await pinned(session);
  expect(other).not.toBe(old);
  const exact = [...mode("exact"), "--chat-session-id", old];
  expect(await session.turn("exact", "The old one FAST", ...exact)).toMatchObject(completed(session));
  expect(conversationOf(session, "The old one FAST").slice(0, 2)).toEqual([opening, difficult]);
  expect(await pinned(session)).toBe(old);

  expect(await session.turn("last", "The last one FAST", ...mode("tool_last_or_new"))).toMatchObject(
    completed(session),
  );
  const heard = conversationOf(session, "The last one FAST");
  const possible = [{ first: opening, before: "The old one FAST", id: old }];
  if (factsOf(session).last === "any") {
    possible.push({ first: "Another one FAST", before: "Another one FAST", id: other });
  }
  expect(possible).toContainEqual({
    first: heard[0] ?? "",
    before: heard.at(-2) ?? "",
    id: await pinned(session),
  });
}

const mode = (name: string) => ["--chat-session-mode", name];

/** A model for one prompt reaches the tool's requests, and the manifest keeps its plan. */
export async function modelIsForOneTurn(session: HeadlessSession): Promise<void> {
  const { model, level, keepsModel } = factsOf(session);
  if (model === null) return modelIsRefused(session);
  const file = join(session.sessionRoot, "manifest.json");
  const plan = () => (JSON.parse(readFileSync(file, "utf8")) as { launch_plan: unknown }).launch_plan;
  const before = plan();
  const flags = ["--model", model.flag, ...(level ? ["--reasoning-level", "2"] : [])];
  const run = await session.mgr(["prompt", "--wait", "--json", ...flags], "With a model FAST");
  expect([run.exitCode, run.stderr]).toEqual([0, ""]);
  const [request] = session.heard("With a model FAST");
  expect(request?.model).toBe(model.name);
  if (level) expect(level.read(request?.body)).toBe(level.second);
  expect(await session.turn("usual", "As usual FAST")).toMatchObject(completed(session));
  const after = session.heard("As usual FAST").map((one) => one.model === model.name);
  expect(after).toEqual([keepsModel]);
  expect(plan()).toEqual(before);
  if (level) return;
  const refused = await session.mgr(["prompt", "--reasoning-level", "2", "--json"], "Never FAST");
  expect([refused.exitCode === 0, session.heard("Never FAST")]).toEqual([false, []]);
}

async function modelIsRefused(session: HeadlessSession): Promise<void> {
  const run = await session.mgr(["prompt", "--json", "--model", "any"], "Never FAST");
  expect([run.exitCode === 0, session.heard("Never FAST")]).toEqual([false, []]);
  expect(run.stdout + run.stderr).toContain("takes its model from its own configuration");
}

/** What a tool does in a turn is told: the request, then its result; and it was done. */
export async function actionsAreTold(session: HeadlessSession): Promise<void> {
  const file = join(session.box.work, "tool-out.txt");
  rmSync(file, { force: true });
  expect(await session.turn("actions", "Work RUNTOOL FAST")).toMatchObject(completed(session));
  const answered = session.model.received().filter((one) => one.tool_answered);
  expect([existsSync(file), answered.length]).toEqual([true, 1]);
  const events = await eventsOf(session, "actions");
  const actions = events.filter((event) => event.kind.startsWith("action_"));
  expect(actions.map((event) => event.kind)).toEqual(["action_request", "action_result"]);
  const [request, result] = actions.map((event) => event.payload?.data ?? {});
  expect(JSON.stringify(request)).toContain("touch tool-out.txt");
  expect(result).toMatchObject({ status: "success" });
  expect(result?.["action_id"]).toEqual(request?.["action_id"]);
}

/** An error of the model fails the turn and its request with the cause; the next turn goes well. */
export async function modelErrorFails(session: HeadlessSession): Promise<void> {
  const { requestId } = await session.begin("refused", "Refuse this FAIL400");
  const wait = await session.mgr(["turn", "wait", "refused", "--json", "--timeout", "60"]);
  const cause = expect.stringContaining("scripted failure 400");
  expect(wait.exitCode).toBe(1);
  expect(wait.json()).toMatchObject({ status: "failed", error: cause, decided_by: "terminal_event" });
  const record = await requestSettled(session, requestId);
  expect(record).toMatchObject({ state: "failed", error_detail: cause, turn_id: "refused" });
  expect((await eventsOf(session, "refused")).at(-1)).toMatchObject({ kind: "completion" });
  expect(await session.turn("after-refusal", "And now FAST")).toMatchObject(completed(session));
}

async function requestSettled(session: HeadlessSession, requestId: string) {
  return until("the request's end", async () => {
    const record = await session.request(requestId);
    return record.state !== "accepted" && record.state !== "running" && record;
  });
}

/**
 * While a turn runs the gateway's stream tells what the tool has said so far, the outputs can be read, the
 * agent takes nothing else, and its prompt stands in no argument list.
 */
export async function runningTurnIsSeen(session: HeadlessSession): Promise<void> {
  const { saysWhileSpeaking, saysBefore } = factsOf(session);
  await using events = await followEvents(session.baseUrl());
  const prompt = saysWhileSpeaking ? "Swordfish MEDIUMTURN" : "Swordfish RUNTOOL SLEEPTOOL FAST";
  await session.begin("seen", prompt);
  const told = await events.first(
    "the first event of the turn",
    (event) => event["turn_id"] === "seen" && event.kind === "turn_event",
  );
  expect(told).toMatchObject({ turn_seq: 1, event_kind: expect.stringMatching(saysBefore) });
  const { pid } = await session.provider("seen");
  await session.model.next((one) => one.newest_user_text === prompt && one.purpose === "turn", 45_000);
  const { stdout: table } = await processes.run(["ps", "-axww", "-o", "args"]);
  expect(table).toContain("turn-bridge");
  expect(table).not.toContain("Swordfish");
  expect((await session.call("/v1/turns/seen")).body).toMatchObject({ status: "active", turn_id: "seen" });
  const refused = await session.call("/v1/control/prompt", { schema_version: 2, prompt: "Not now FAST" });
  expect(refused).toMatchObject({ status: 409, body: { detail: { error_code: "not_ready", sent: false } } });
  expect((await session.mgr(["turn", "stdout", "seen"])).stdout).not.toBe("");
  expect([processes.alive(pid), (await session.call("/v1/turns/seen")).body["status"]]).toEqual([
    true,
    "active",
  ]);
  const ended = await events.first(
    "the end of the turn",
    (event) => event.kind === "turn_finished" && event["turn_id"] === "seen",
  );
  expect([ended["status"], session.heard("Not now FAST")]).toEqual(["completed", []]);
  expect(session.heard(prompt)).toHaveLength(1);
}

/**
 * An interrupt in the middle of a command ends the tool, the command and all between them; over ACP it ends
 * the command, and the tool goes on.
 */
export async function interruptEndsAll(session: HeadlessSession): Promise<void> {
  const file = join(session.box.work, "tool-out.txt");
  rmSync(file, { force: true });
  const { requestId } = await session.begin("stopped", "Work RUNTOOL SLEEPTOOL FAST");
  const { pid } = await session.provider("stopped");
  const tree = await until(
    "the command to run",
    async () => {
      const found = await processes.tree(pid);
      return found.some((one) => one.argv.join(" ") === "sleep 8") && found;
    },
    60_000,
  );
  const interrupt = await session.mgr(["interrupt", "--json"]);
  expect([interrupt.exitCode, interrupt.json()["disposition"]]).toEqual([0, "accepted"]);
  if (session.transport === "native") expect(tree.filter((one) => processes.alive(one.pid))).toEqual([]);
  else {
    const commands = tree.filter((one) => one.argv.join(" ") === "sleep 8");
    await until("the command's end", () => !commands.some((one) => processes.alive(one.pid)), 5000);
    if (!factsOf(session).leavesCommands) expect(processes.alive(pid)).toBe(true);
  }
  const status = await session.mgr(["turn", "status", "stopped", "--json"]);
  expect(status.json<TurnStatusRecord>().status).toBe("interrupted");
  const record = await requestSettled(session, requestId);
  expect(record).toMatchObject({ state: "failed", result_json: { outcome: "interrupted" } });
  expect(existsSync(file)).toBe(false);
  const again = await session.mgr(["interrupt", "--json"]);
  expect(again.json()["disposition"]).toBe("no_op");
  expect(await session.turn("after-stop", "Go on FAST")).toMatchObject(completed(session));
}

/**
 * A gateway that is killed in mid-turn and started again finishes the turn's record; the tool was asked once.
 */
export async function gatewayDies(session: HeadlessSession): Promise<void> {
  const prompt = "Outlive the gateway LONGTURN";
  const { requestId } = await session.begin("outlived", prompt);
  const asked = await session.model.next(
    (one) => one.newest_user_text === prompt && one.purpose === "turn",
    60_000,
  );
  const { pid } = await session.provider("outlived");
  const gateway = session.gatewayPid();
  process.kill(gateway, "SIGKILL");
  await until("the gateway's death", () => !processes.alive(gateway));
  const attach = await session.mgr(["gateway", "attach", "--background", "--json"]);
  expect([attach.exitCode, attach.stderr]).toEqual([0, ""]);
  expect([session.gatewayPid() === gateway, processes.alive(pid), asked.outcome]).toEqual([
    false,
    true,
    "open",
  ]);
  expect(await session.request(requestId)).toMatchObject({ state: "running" });
  const wait = await session.mgr(["turn", "wait", "outlived", "--json", "--timeout", "60"]);
  expect(wait.json()).toMatchObject(completed(session));
  const record = await requestSettled(session, requestId);
  expect(record).toMatchObject({ state: "completed", result_json: { turn_id: "outlived" } });
  const steps = record.evidence.map((one) => one.step);
  expect(steps).toEqual([...new Set(steps)]);
  expect(session.heard(prompt).map((one) => one.outcome)).toEqual(["finished"]);
  expect(await session.turn("after-death", "All the same FAST")).toMatchObject(completed(session));
  expect(conversationOf(session, "All the same FAST")).toContain(prompt);
}
