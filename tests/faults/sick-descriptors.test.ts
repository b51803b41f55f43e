import { expect } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { faultTest } from "../support/fault-table.ts";
import { launchSick, type SickAgent } from "../support/sick-agent.ts";
import { until } from "../support/until.ts";

/** What the gateway may open; it needs some twenty by itself. */
const most = 64;

/** A gateway that may open only so many files. */
async function serveNarrow(agent: SickAgent) {
  const words = [...agent.fixture.command("svc-gateway"), "serve", "--session-root", agent.sessionRoot];
  const command = words.map((word) => `'${word}'`).join(" ");
  const child = Bun.spawn(["sh", "-c", `ulimit -n ${most}; exec ${command}`], {
    env: agent.fixture.env,
    cwd: agent.fixture.workdir,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "inherit",
  });
  await until("it serves", () => agent.gatewayPid() === child.pid, 60_000);
  const { port } = JSON.parse(readFileSync(agent.paths.currentInstance, "utf8")) as { port: number };
  return {
    port,
    descriptors: () => readdirSync(`/proc/${child.pid}/fd`).length,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
    },
  };
}

const reach = (port: number) =>
  new Promise<Socket>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket));
    socket.on("error", reject);
  });

/** A caller that was there before the crowd: one connection, kept. Resolves with the status of a prompt. */
async function oldCaller(port: number) {
  const socket = await reach(port);
  let heard = "";
  socket.on("data", (bytes) => {
    heard += bytes.toString();
  });
  return {
    async prompt(text: string): Promise<{ status: number; text: string }> {
      heard = "";
      const body = JSON.stringify({ kind: "submit_prompt", payload: { prompt: text } });
      const head = [
        "POST /v1/requests HTTP/1.1",
        `Host: 127.0.0.1:${port}`,
        "Content-Type: application/json",
      ];
      socket.write([...head, `Content-Length: ${body.length}`, "", body].join("\r\n"));
      const status = await until("an answer", () => /^HTTP\/1\.1 (\d+) [\s\S]*\}$/.exec(heard)?.[1], 60_000);
      return { status: Number(status), text: heard };
    },
    end: () => socket.destroy(),
  };
}

const row = {
  area: "machine",
  fault: "Callers take every file descriptor that a gateway may have",
  outcome:
    "callers that are connected get a 202 that holds or a refusal; the agent is not taken for dead because nobody could look; nothing is done twice",
  seen: "new callers wait; a refusal is 503 and says that the agent cannot be seen just now, or to raise `ulimit -n`",
  recovery: "by itself within a second after connections are closed; held-back events are written",
} as const;

faultTest(
  "a gateway without a free descriptor guesses nothing, and works on when there are some",
  row,
  async () => {
    await using agent = await launchSick();
    await agent.killGateway("SIGTERM");
    await using gateway = await serveNarrow(agent);
    const caller = await oldCaller(gateway.port);
    const sent = ["before\nFAST"];
    expect((await caller.prompt("before\nFAST")).status).toBe(202);
    await until("the first prompt", () => agent.heard().length === 1, 60_000);

    const crowd: Socket[] = [];
    for (let nth = 0; nth < most + 20; nth++) {
      const socket = await reach(gateway.port);
      socket.write("GET /v1/status HTTP/1.1\r\nHost: ");
      crowd.push(socket);
    }
    await until("no descriptor is free", () => gateway.descriptors() >= most, 60_000);
    for (let nth = 1; nth <= 5; nth++) {
      const answer = await caller.prompt(`crowded ${nth}\nFAST`);
      if (answer.status === 202) sent.push(`crowded ${nth}\nFAST`);
      else {
        expect(answer.status).toBe(503);
        expect(answer.text).toMatch(/cannot be seen just now|cannot be read|ulimit -n/);
      }
      expect(answer.text).not.toContain("does not run");
    }
    for (const socket of crowd) socket.destroy();

    const accepted = await until("a prompt is taken again", async () => {
      const answer = await agent.prompt("after\nFAST");
      return answer.status === 202 ? answer : null;
    });
    sent.push("after\nFAST");
    expect(await agent.ended(accepted.body["request_id"])).toMatchObject({ state: "completed" });
    expect(agent.heard()).toEqual(sent);
    const seqs = agent.events().map((event) => event.seq);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    caller.end();
  },
  120_000,
);
