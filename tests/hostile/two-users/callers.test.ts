import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { createBuiltFixture } from "../../support/built-agent.ts";
import { builtPrograms, type CliFixture } from "../../support/cli-fixture.ts";
import { startCoordinator } from "../../support/coord-server.ts";
import { askAs, sendAs } from "../../support/second-caller.ts";
import { createSecondUser } from "../../support/second-user.ts";
import { sparePorts } from "../../support/spare-ports.ts";

const refusal = { detail: "this server is for another user of this machine" };

async function launch(fixture: CliFixture, env: Record<string, string> = {}, ...flags: string[]) {
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", ...flags, "--json"];
  const run = await fixture.run("svc-mgr", words, { env: { ...fixture.env, ...env } });
  if (run.exitCode !== 0) throw new Error(run.stderr);
  const baseUrl = String(run.json()["gateway_base_url"]);
  return { baseUrl, port: Number(new URL(baseUrl).port) };
}

const prompt = (text: string) => ({ schema_version: 1, kind: "submit_prompt", payload: { prompt: text } });

const requestText = (text: string, port: number) => {
  const body = JSON.stringify(prompt(text));
  const head = `POST /v1/requests HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json`;
  return `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

async function requestsAt(baseUrl: string): Promise<unknown[]> {
  const reply = await fetch(`${baseUrl}/v1/requests`, { proxy: false } as unknown as RequestInit);
  return ((await reply.json()) as { requests: unknown[] }).requests;
}

describe("a coordination server without a token", () => {
  test("launches nothing for another user, who learns only that it runs", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    await using server = await startCoordinator(fixture);
    const definition = join(other.folder, "definition");
    other.makeFolder(definition, 0o755);
    const brain = join(definition, "brain.yaml");
    other.write(brain, "schema_version: 3\ninputs:\n  tool: demo\n", 0o644);
    const role = join(definition, "roles", "planted");
    other.makeFolder(role, 0o755);
    other.write(join(role, "system-prompt.md"), "You obey.", 0o644);
    const wish = {
      tool: "demo",
      working_directory: definition,
      agent_def_dir: definition,
      brain_manifest_path: brain,
      role_name: "planted",
      agent_name: "planted",
    };
    const calls = await Promise.all([
      askAs(other, `${server.baseUrl}/svc/agents/headless/launches`, { body: wish }),
      askAs(other, `${server.baseUrl}/svc/agents`),
      askAs(other, `${server.baseUrl}/svc/coord/shutdown`, { method: "POST" }),
      askAs(other, `${server.baseUrl}/docs`),
      askAs(other, `${server.baseUrl}/no-such-route`),
    ]);
    expect(calls.map(({ status, body }) => [status, JSON.parse(body)])).toEqual(
      calls.map(() => [403, refusal]),
    );
    expect(await askAs(other, `${server.baseUrl}/health`)).toMatchObject({ status: 200 });
    expect(await server.ask("/svc/agents")).toEqual({ status: 200, body: { agents: [] } });
    expect(await fixture.sessions()).toEqual([]);
  }, 120_000);

  test("on all addresses it refuses another user over each of them", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    for (const host of ["0.0.0.0", "::"]) {
      await using server = await startCoordinator(fixture, {
        flags: ["--host", host, "--allow-unauthenticated"],
      });
      const port = new URL(server.baseUrl).port;
      const names = host === "::" ? ["127.0.0.1", "[::1]"] : ["127.0.0.1", "127.0.0.2"];
      for (const name of names) {
        const asked = await askAs(other, `http://${name}:${port}/svc/agents`);
        expect([host, name, asked.status]).toEqual([host, name, 403]);
        const own = await fetch(`http://${name}:${port}/svc/agents`, {
          proxy: false,
        } as unknown as RequestInit);
        expect([host, name, own.status]).toEqual([host, name, 200]);
      }
    }
  }, 120_000);
});

describe("a gateway", () => {
  test("refuses another user who shows the token", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    const token = "known-to-all";
    const { baseUrl } = await launch(fixture, { SVC_GATEWAY_TOKEN: token });
    const asked = await askAs(other, `${baseUrl}/v1/requests`, { body: prompt("planted"), token });
    expect([asked.status, JSON.parse(asked.body)]).toEqual([403, refusal]);
    const own = await fetch(`${baseUrl}/v1/requests`, {
      headers: { authorization: `Bearer ${token}` },
      proxy: false,
    } as unknown as RequestInit);
    expect(await own.json()).toMatchObject({ requests: [] });
  }, 120_000);

  test("queues nothing for another user who leaves at once, nor for one who takes over a known port", async () => {
    await using fixture = createBuiltFixture(builtPrograms);
    await using other = createSecondUser();
    const { baseUrl, port } = await launch(fixture);
    // A socket that nobody holds any more shows the user id of root.
    await sendAs(other, { host: "127.0.0.1", port }, requestText("planted", port), "leave");
    const [localPort = 0] = await sparePorts(1);
    const known = await keepAlive(port, localPort);
    for (let asked = 0; asked < 4; asked++) expect(await known.ask("/v1/status")).toContain(" 200 ");
    await known.reset();
    const heard = await sendAs(
      other,
      { host: "127.0.0.1", port, localPort },
      requestText("planted", port),
      "answer",
    );
    expect(heard).toContain(" 403 ");
    expect(await requestsAt(baseUrl)).toEqual([]);
  }, 120_000);
});

/** A connection of ours from a port that we choose; `reset` frees the port at once. */
async function keepAlive(port: number, localPort: number) {
  const socket: Socket = connect({ host: "127.0.0.1", port, localPort, localAddress: "127.0.0.1" });
  let heard = "";
  let wake = () => {};
  socket.on("data", (part) => {
    heard += part;
    wake();
  });
  await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
  return {
    async ask(path: string): Promise<string> {
      heard = "";
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`);
      await more;
      return heard;
    },
    reset: () =>
      new Promise<void>((resolve) => {
        socket.once("close", () => resolve());
        socket.resetAndDestroy();
      }),
  };
}
