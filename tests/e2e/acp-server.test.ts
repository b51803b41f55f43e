import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  type RequestPermissionRequest,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { awaitOutcome } from "../support/await-outcome.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { installPythonPackage } from "../support/foreign-packages.ts";
import { gatewayPid } from "../support/mcp-client.ts";
import { until } from "../support/until.ts";

let fixture: CliFixture;
beforeAll(async () => {
  fixture = createCliFixture();
  for (const [name, tool] of [
    ["worker", "demo-acp"],
    ["screen", "demo"],
  ] as const) {
    const { stderr, exitCode } = await fixture.run("svc", ["new", name, tool, "-w"]);
    expect({ name, stderr, exitCode }).toEqual({ name, stderr: "", exitCode: 0 });
  }
});
afterAll(() => fixture[Symbol.asyncDispose]());

interface Editor extends AsyncDisposable {
  connection: ClientConnection;
  sessionId: string;
  updates: SessionUpdate[];
  asked: RequestPermissionRequest[];
  pid: number;
  exited: Promise<number>;
  prompt(text: string): Promise<{ stopReason: string }>;
  said(): string;
}

/** The official client library beside a server of its own, as an editor starts one. */
async function edit(
  name: string,
  option: string | null = "Allow",
  env: Record<string, string> = {},
): Promise<Editor> {
  const command = [...fixture.command("svc"), "acp", "--agent", name];
  const child = Bun.spawn(command, {
    env: { ...fixture.env, ...env },
    cwd: fixture.folder,
    stdin: "pipe",
    stdout: "pipe",
  });
  const updates: SessionUpdate[] = [];
  const asked: RequestPermissionRequest[] = [];
  const input = new WritableStream<Uint8Array>({
    async write(chunk) {
      child.stdin.write(chunk);
      await child.stdin.flush();
    },
  });
  const connection = client({ name: "test" })
    .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
    .onRequest(methods.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params);
      const chosen = params.options.find(
        (one, at) => one.name === option || (option === "first" && at === 0),
      );
      if (chosen) return { outcome: { outcome: "selected", optionId: chosen.optionId } };
      await new Promise((withdrawn) => signal.addEventListener("abort", withdrawn, { once: true }));
      return { outcome: { outcome: "cancelled" } };
    })
    .connect(ndJsonStream(input, child.stdout));
  const { agent } = connection;
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await agent.request(methods.agent.session.new, {
    cwd: fixture.folder,
    mcpServers: [],
  });
  return {
    connection,
    sessionId,
    updates,
    asked,
    pid: child.pid,
    exited: child.exited,
    prompt: (text) =>
      agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] }),
    said: () =>
      updates
        .map((one) =>
          one.sessionUpdate === "agent_message_chunk" && one.content.type === "text" ? one.content.text : "",
        )
        .join(""),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await child.exited;
    },
  };
}

describe("svc acp, to the official client library", () => {
  test("streams a turn of a headless agent: text once, tool calls with their ends", async () => {
    await using editor = await edit("worker");
    expect(await editor.prompt("hello there\nTOOL look")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.said()).toBe("You said: hello there");
    const kinds = new Set(editor.updates.map((one) => one.sessionUpdate));
    expect([...kinds].sort()).toEqual(["agent_message_chunk", "tool_call", "tool_call_update"]);
  });

  test("a permission comes as a request, and its answer reaches the agent", async () => {
    await using editor = await edit("worker", "Allow");
    expect(await editor.prompt("work\nASK rm everything")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.asked).toMatchObject([
      {
        toolCall: { title: expect.stringContaining("rm everything") },
        options: [{ kind: "allow_always" }, { kind: "allow_once" }, { kind: "reject_once" }],
      },
    ]);
    expect(JSON.stringify(editor.updates)).toContain("rm everything: done");
  });

  test("a cancel interrupts the turn and withdraws its question", async () => {
    await using editor = await edit("worker", null);
    const answer = editor.prompt("work\nASK rm everything");
    await until("the question", () => editor.asked.length > 0);
    await editor.connection.agent.notify(methods.agent.session.cancel, { sessionId: editor.sessionId });
    expect(await answer).toMatchObject({ stopReason: "cancelled" });
    expect(await editor.prompt("go on")).toMatchObject({ stopReason: "end_turn" });
  });

  test("a cancel that follows its prompt at once ends the turn", async () => {
    await using editor = await edit("worker");
    const answer = editor.prompt("wait\nSLOW 60000");
    await editor.connection.agent.notify(methods.agent.session.cancel, { sessionId: editor.sessionId });
    expect(await answer).toMatchObject({ stopReason: "cancelled" });
  });

  test("a turn that fails is an error with its reason", async () => {
    await using editor = await edit("worker");
    expect(await awaitOutcome(editor.prompt("go\nERROR the model is away"))).toThrow("the model is away");
    await until("the end", async () => (await editor.prompt("still there?")).stopReason === "end_turn");
  });

  test("drives an agent in a terminal, whose dialog is a permission request", async () => {
    await using editor = await edit("screen", "first");
    expect(await editor.prompt("choose\nMENU Delete it all?")).toMatchObject({ stopReason: "end_turn" });
    expect(editor.asked).toMatchObject([{ toolCall: { title: "Delete it all?" } }]);
    expect(editor.said()).not.toBe("");
  });

  test.each([
    { agent: "worker", text: "work\nASK rm everything", asks: "(the agent asks: " },
    { agent: "screen", text: "choose\nMENU Delete it all?", asks: "(the agent asks: Delete it all?: " },
  ])("a client that may not answer gets the reason: $agent", async ({ agent, text, asks }) => {
    // As started by a tool of an agent that svc does not know.
    const stranger = { SVC_AGENT_ID: "nobody" };
    const why = "only the session of an agent that svc runs can answer";
    await using editor = await edit(agent, "first", stranger);
    const answer = editor.prompt(text);
    await until("the note", () => editor.said().includes(why));
    expect([editor.asked, editor.said()]).toEqual([[], expect.stringContaining(asks)]);
    if (agent === "screen") {
      // Its Enter would answer.
      const always = ["--admission-policy", "always", "--prompt", "x"];
      const words = ["agents", "single", "--agent-name", agent, "gateway", "prompt", ...always];
      const typed = await fixture.run("svc-mgr", words, { env: { ...fixture.env, ...stranger } });
      expect([typed.exitCode, typed.stderr]).toEqual([1, expect.stringContaining(why)]);
    }
    expect((await fixture.run("svc", ["ok", agent, "2"])).exitCode).toBe(0);
    expect(await answer).toMatchObject({ stopReason: "end_turn" });
  });

  test("a session is listed and loaded: its history is replayed, in order", async () => {
    await using editor = await edit("worker");
    const { agent } = editor.connection;
    const { sessions } = await agent.request(methods.agent.session.list, {});
    expect(sessions).toMatchObject([{ sessionId: editor.sessionId, title: "worker" }]);
    await agent.request(methods.agent.session.load, {
      sessionId: editor.sessionId,
      cwd: fixture.folder,
      mcpServers: [],
    });
    const first = editor.updates.slice(0, 2);
    expect(first.map((one) => one.sessionUpdate)).toEqual(["user_message_chunk", "agent_message_chunk"]);
    expect(JSON.stringify(first)).toContain("hello there");
    const load = agent.request(methods.agent.session.load, {
      sessionId: "svc-nobody",
      cwd: fixture.folder,
      mcpServers: [],
    });
    expect(await awaitOutcome(load)).toThrow(expect.objectContaining({ code: -32002 }));
  });

  test("a server that is killed loses nothing: the turn ends and is in the history", async () => {
    const first = await edit("worker");
    void first.prompt("finish this\nSLOW 1500").catch(() => {});
    await until("the answer's first words", () => first.said() !== "");
    process.kill(first.pid, "SIGKILL");
    await first.exited;
    await using second = await edit("worker");
    expect(await second.prompt("next")).toMatchObject({ stopReason: "end_turn" });
    await second.connection.agent.request(methods.agent.session.load, {
      sessionId: second.sessionId,
      cwd: fixture.folder,
      mcpServers: [],
    });
    expect(second.said()).toContain("You said: finish this");
  });

  test("a gateway that restarts in the middle of a turn is waited for; a stopped agent is not", async () => {
    const words = ["agents", "single", "--agent-name", "worker"];
    const pid = await gatewayPid(fixture, "worker");
    await using editor = await edit("worker");
    const answer = editor.prompt("go on\nSLOW 3000");
    await until("the answer's first words", () => editor.said() !== "");
    process.kill(pid, "SIGKILL");
    expect((await fixture.mgr(...words, "gateway", "attach")).exitCode).toBe(0);
    expect(await answer).toMatchObject({ stopReason: "end_turn" });
    expect(editor.said()).toBe("You said: go on");

    await using other = await edit("screen");
    const lost = other.prompt("wait\nSLOW 60000");
    lost.catch(() => {});
    const state = ["agents", "single", "--agent-name", "screen", "state", "--json"];
    await until("the turn", async () => {
      const { turn } = (await fixture.mgr(...state)).json() as { turn: { phase: string } };
      return turn.phase === "active";
    });
    expect((await fixture.run("svc", ["stop", "screen"])).exitCode).toBe(0);
    // Its session ends a moment before its record says so.
    expect(await awaitOutcome(lost)).toThrow(/was stopped|tmux session .* is gone/);
  });

  test("an agent that does not exist is refused at once", async () => {
    const { exitCode, stderr } = await fixture.run("svc", ["acp", "--agent", "nobody"]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining("nobody")]);
  });
});

test("a client of another library, of Python, is served the same", async () => {
  const bin = await installPythonPackage({
    purpose: "a second client of ACP",
    name: "agent-client-protocol",
    version: "0.12.1",
  });
  const script = join(import.meta.dir, "../support/acp-client.py");
  const server = [...fixture.command("svc"), "acp", "--agent", "worker"];
  const child = Bun.spawn([join(bin, "python"), script, "Reject", "work\nASK rm everything", ...server], {
    env: fixture.env,
    cwd: fixture.folder,
    stdout: "pipe",
  });
  const seen = JSON.parse(await new Response(child.stdout).text());
  expect(seen).toMatchObject({
    initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
    prompt: {
      stop: "end_turn",
      kinds: ["tool_call", "tool_call_update"],
      questions: [expect.stringContaining("rm everything")],
    },
    cancel: { stop: "cancelled" },
    listed: [true],
    load: {
      kinds: ["agent_message_chunk", "user_message_chunk"],
      text: expect.stringContaining("You said: hello there"),
    },
    refused: -32002,
    exit: 0,
  });
}, 120_000);
