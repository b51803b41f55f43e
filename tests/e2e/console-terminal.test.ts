import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { TerminalMessage, ViewerMessage } from "../../src/protocol/console.ts";
import { createBuiltFixture } from "../support/built-agent.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { until } from "../support/until.ts";

const dist = join(import.meta.dir, "../../dist");
const single = ["agents", "single", "--agent-name", "typist"];

/** A viewer of a live terminal as a browser is one. */
async function watch(url: string, headers: Record<string, string> = {}) {
  const socket = new WebSocket(url, { headers } as never);
  socket.binaryType = "arraybuffer";
  const messages: TerminalMessage[] = [];
  let text = "";
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") messages.push(JSON.parse(data) as TerminalMessage);
    else text += new TextDecoder().decode(data as ArrayBuffer);
  });
  const opened = await new Promise<boolean>((resolve) => {
    socket.addEventListener("open", () => resolve(true), { once: true });
    socket.addEventListener("error", () => resolve(false), { once: true });
  });
  return {
    opened,
    messages,
    text: () => text,
    say: (message: ViewerMessage) => socket.send(JSON.stringify(message)),
    lease: () => messages.filter((one) => one.kind === "lease").at(-1),
    [Symbol.dispose]: () => socket.close(),
  };
}

describe("the live terminal", () => {
  test("is typed into under a lease that the queue respects and that can be taken back", async () => {
    await using fixture = createBuiltFixture(dist);
    const launched = await fixture.mgr(
      "agents",
      "launch",
      "--tool",
      "demo",
      "--agent-name",
      "typist",
      "--json",
    );
    expect(launched.exitCode).toBe(0);
    await using server = await startCoordinator(fixture);
    const at = `${server.baseUrl.replace("http", "ws")}/svc/agents/typist/gateway/terminal/socket`;

    // A page of another origin gets none, and an unknown agent has none.
    for (const [url, headers] of [
      [at, { origin: "http://evil.example" }],
      [at, { host: "evil.example" }],
      [at.replace("typist", "nobody"), {}],
    ] as const) {
      using refused = await watch(url, headers);
      expect(refused.opened).toBe(false);
    }
    expect((await server.request("/svc/agents/typist/gateway/terminal/socket")).status).toBe(426);

    using ann = await watch(at, { origin: server.baseUrl });
    using bob = await watch(at);
    await until("the first pictures", () => ann.text() !== "" && bob.text() !== "");
    expect(ann.messages.find(({ kind }) => kind === "picture")).toMatchObject({ why: "first" });
    ann.say({ kind: "type", text: "unheard" });
    await until("a refusal", () => ann.messages.some(({ kind }) => kind === "refused"));

    ann.say({ kind: "take_lease", holder: "ann" });
    await until("the lease", () => ann.lease()?.mine === true && bob.lease()?.lease?.holder === "ann");
    expect(bob.lease()?.mine).toBe(false);
    bob.say({ kind: "take_lease", holder: "bob" });
    await until("bob to be refused", () => bob.messages.some(({ kind }) => kind === "refused"));
    for (const key of "draft-by-ann") ann.say({ kind: "type", text: key });
    await until("both to see it", () => [ann, bob].every((one) => one.text().includes("ann")));

    // The queue waits, says why, and goes on afterwards.
    await fixture.mgr(...single, "prompt", "--prompt", "from the queue");
    const status = async () => (await server.ask("/svc/agents/typist/gateway")).body;
    await until("the queue to wait", async () =>
      JSON.stringify(await status()).includes('"reason":"typing_lease"'),
    );
    expect(await status()).toMatchObject({ typing_lease: { holder: "ann" }, queue_depth: 1 });
    for (const _ of "draft-by-ann") ann.say({ kind: "type", text: "\x7f" });
    await until("the draft to be gone", async () => {
      const { body } = await server.ask("/svc/agents/typist/gateway/tui/state");
      return (body["surface"] as Record<string, string> | undefined)?.["editing_input"] === "no";
    });
    bob.say({ kind: "take_lease", holder: "bob", take_over: true });
    await until("bob to have it", () => bob.lease()?.mine === true && ann.lease()?.lease?.holder === "bob");
    expect(ann.lease()?.mine).toBe(false);
    bob.say({ kind: "release_lease" });
    await until("the queue to go on", async () => {
      const now = await status();
      return now["typing_lease"] === undefined && now["queue_depth"] === 0;
    });
  });

  test("a lease ends with its viewer", async () => {
    await using fixture = createBuiltFixture(dist);
    await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "typist", "--json");
    await using server = await startCoordinator(fixture);
    const at = `${server.baseUrl.replace("http", "ws")}/svc/agents/typist/gateway/terminal/socket`;
    const held = async () =>
      (await server.ask("/svc/agents/typist/gateway/control/typing-lease")).body["lease"];
    {
      using ann = await watch(at);
      ann.say({ kind: "take_lease", holder: "ann" });
      await until("the lease", async () => (await held()) !== null);
    }
    await until("the lease to end", async () => (await held()) === null);
  });
});
