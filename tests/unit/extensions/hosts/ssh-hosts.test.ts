import { describe, expect, test } from "bun:test";
import type { HostRequest } from "../../../../src/services/extensions/hosts/host-link.ts";
import {
  createLineReader,
  decodeLineBody,
  encodeLine,
  encodeMessageLine,
} from "../../../../src/services/extensions/hosts/lines.ts";
import { operateSsh, sshCommand } from "../../../../src/services/extensions/hosts/ssh-hosts.ts";
import { createIds } from "../../../../src/system/ids.ts";
import type { StreamedProcess } from "../../../../src/system/processes.ts";
import { createFakeClock, settle } from "../../../support/fake-clock.ts";
import { sampleKnown } from "../../../support/fleet-fakes.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("lines", () => {
  test("a body comes through in any cut of the stream", () => {
    const body = crypto.getRandomValues(new Uint8Array(5000));
    const sent = bytes(
      `${encodeMessageLine({ kind: "call" }, body)}${encodeLine({ kind: "ping", sent: 1 })}`,
    );
    for (const size of [1, 7, 4096, sent.length]) {
      const read: unknown[] = [];
      const reader = createLineReader((line) => void read.push(line), { maxBytes: 8192 });
      for (let at = 0; at < sent.length; at += size)
        expect(reader.push(sent.subarray(at, at + size))).toBe(true);
      const [message, ping] = read as [{ body: string }, unknown];
      expect(decodeLineBody(message.body)).toEqual(body);
      expect(ping).toEqual({ kind: "ping", sent: 1 });
    }
  });

  test("a greeting is no JSON, and a broken body no base64", () => {
    const read: unknown[] = [];
    const reader = createLineReader((line) => void read.push(line), { maxBytes: 8192 });
    reader.push(bytes("Welcome!\n\n{}\n"));
    expect(read).toEqual([undefined, undefined, {}]);
    expect([decodeLineBody("a"), decodeLineBody("a b="), decodeLineBody("YQ==")]).toEqual([
      null,
      null,
      bytes("a"),
    ]);
  });

  test("a line that is too long ends the reading, with or without its end", () => {
    const part = new Uint8Array(1024 * 1024).fill(97);
    let lines = 0;
    const reader = createLineReader(
      () => {
        lines += 1;
      },
      { maxBytes: 12 * 1024 * 1024 },
    );
    let taken = 0;
    while (taken < 20 && reader.push(part)) taken += 1;
    expect(taken).toBeLessThan(13);
    expect(reader.push(bytes("\n{}\n"))).toBe(false);
    expect(lines).toBe(0);
  });
});

/** A host whose `ssh` the test speaks for. */
function setup() {
  const clock = createFakeClock();
  const children: {
    written: string[];
    say(line: object | string): Promise<void>;
    end(exitCode: number, complaint?: string): void;
    signals: string[];
  }[] = [];
  const byPid = new Map<number, (typeof children)[number]>();
  const operator = operateSsh({
    clock,
    ids: createIds(),
    log: () => {},
    targets: [{ host: "build-3", destination: "me@build-3" }],
    access: { configFile: null, program: "svc-coord", controlFolder: "/run/ssh", env: {} },
    processes: {
      which: () => "/usr/bin/ssh",
      stream() {
        const [out, err] = [new TransformStream<Uint8Array>(), new TransformStream<Uint8Array>()];
        const [toOut, toErr] = [out.writable.getWriter(), err.writable.getWriter()];
        const exit = Promise.withResolvers<{ exitCode: number | null; signal: string | null }>();
        const child = {
          written: [] as string[],
          signals: [] as string[],
          async say(line: object | string) {
            void toOut.write(bytes(typeof line === "string" ? line : encodeLine(line)));
            await settle();
          },
          end(exitCode: number, complaint = "") {
            void toErr.write(bytes(complaint)).catch(() => {});
            for (const writer of [toOut, toErr]) void writer.close().catch(() => {});
            exit.resolve({ exitCode, signal: null });
          },
        };
        children.push(child);
        byPid.set(children.length, child);
        return {
          pid: children.length,
          give() {},
          write: (text: string) => void child.written.push(text),
          stdout: out.readable as unknown as AsyncIterable<Uint8Array>,
          stderr: err.readable as unknown as AsyncIterable<Uint8Array>,
          exited: exit.promise,
        } satisfies StreamedProcess;
      },
      signal(pid, name) {
        byPid.get(pid)?.signals.push(name);
        byPid.get(pid)?.end(143);
        return true;
      },
    },
  });
  const record = (epoch: number, more: object = {}) => ({
    kind: "record",
    record: {
      schema_version: 1,
      host: "build-3",
      instance: `${epoch}`.padStart(16, "0"),
      epoch,
      version: "1",
      agents: 0,
      heartbeat_ms: 1000,
      at_utc: "2026-11-24T00:00:00.000+00:00",
      ...more,
    },
  });
  const state = () => operator.directory.hosts()[0];
  const last = () => {
    const child = children.at(-1);
    if (!child) throw new Error("no ssh was started");
    return child;
  };
  return { clock, operator, children, last, record, state };
}
const hello = { kind: "hello", protocol: 1, version: "1" };

describe("a host over ssh", () => {
  test("no secret and no option can be in the command", () => {
    const target = { host: "build-3", destination: "me@build-3" };
    const access = { configFile: "/c", program: "svc-coord", controlFolder: "/run/50%", env: {} };
    const command = sshCommand("/usr/bin/ssh", target, access);
    expect(command).toContain("ControlPath=/run/50%%/build-3");
    expect(command.slice(-3)).toEqual(["--", "me@build-3", "exec svc-coord join --stdio"]);
    const long = sshCommand("ssh", target, { ...access, controlFolder: `/${"x".repeat(90)}` });
    expect(long).toContain("ControlPath=none");
  });

  test("what a login shell writes first is skipped; another name or an older start is dropped", async () => {
    const { operator, last, record, state } = setup();
    await settle();
    expect(JSON.parse(last().written[0] ?? "")).toMatchObject({ kind: "hello", host: "build-3", epoch: 1 });
    expect(state()).toMatchObject({ state: "away", since_utc: null, detail: "no connection was made yet" });
    await last().say("Welcome to build-3\nLast login: never\n");
    await last().say(record(1));
    expect(state()?.state).toBe("away");
    await last().say(hello);
    await last().say(record(1, { host: "build-4" }));
    expect(operator.directory.hosts()).toHaveLength(1);
    expect(state()?.state).toBe("away");
    await last().say(record(1));
    expect(state()).toMatchObject({ host: "build-3", state: "live", since_utc: null });
    await operator.stop();
  });

  test("a host that falls silent is away after three heartbeats, and its connection is made again", async () => {
    const { operator, clock, children, last, record, state } = setup();
    await settle();
    await last().say(hello);
    await last().say(record(1));
    await clock.advance(2900);
    expect(state()?.state).toBe("live");
    await clock.advance(200);
    expect(state()?.state).toBe("away");
    await clock.advance(10_000);
    expect(children[0]?.signals).toContain("SIGTERM");
    expect(children).toHaveLength(2);
    expect(state()?.detail).toBe("silent for 10000 ms");
    await last().say(hello);
    await last().say(record(1));
    expect(state()?.state).toBe("away");
    await last().say(record(2));
    expect(state()?.state).toBe("live");
    await operator.stop();
  });

  test("a line that is longer than a part of an answer ends the connection", async () => {
    const { operator, clock, last, state } = setup();
    await settle();
    await last().say(hello);
    await last().say(`{"kind":"message","head":"${"x".repeat(256 * 1024)}`);
    await settle();
    await clock.advance(250);
    await settle();
    expect(state()?.detail).toBe("it sent a line that is too long");
    await operator.stop();
  });

  test("a large entry is refused, and the host's other agents stay", async () => {
    const { operator, last, record } = setup();
    const { identity } = sampleKnown("worker", { sessionId: "local_interactive-1" });
    const agent = (agent_id: string, more: object) => ({
      kind: "agent",
      agent_id,
      entry: { schema_version: 1, epoch: 1, identity: { ...identity, agent_id, ...more } },
    });
    await settle();
    await last().say(hello);
    await last().say(agent("good", {}));
    await last().say(agent("large", { tmux_window_name: "x".repeat(20_000) }));
    await last().say(agent("long", { tmux_window_name: "x".repeat(5000) }));
    await last().say(record(1));
    expect((await operator.directory.agents()).map((one) => one.identity.agent_id)).toEqual(["good"]);
    await operator.stop();
  });

  const reasons: { id: string; exitCode: number; complaint: string; detail: string }[] = [
    { id: "no program there", exitCode: 127, complaint: "sh: svc-coord", detail: "--ssh-program" },
    {
      id: "an unknown host key",
      exitCode: 255,
      complaint: "Host key verification failed.\r\n",
      detail: "connect once with ssh",
    },
    {
      id: "a refused key",
      exitCode: 255,
      complaint: "Permission denied (publickey).\u001b[31m\r\n",
      detail: "ssh ended with 255: Permission denied",
    },
  ];
  test.each(reasons)("$id is said", async ({ exitCode, complaint, detail }) => {
    const { operator, clock, last, state } = setup();
    await settle();
    last().end(exitCode, complaint);
    await settle();
    await clock.advance(250);
    await settle();
    expect(state()?.detail).toContain(detail);
    expect(state()?.detail).not.toContain("\u001b");
    await operator.stop();
  });

  test("a call goes to the process that is alive, and is not sent while there is none", async () => {
    const { operator, last, record } = setup();
    await settle();
    const request: HostRequest = {
      operation: "readAgent",
      params: { agent_ref: "w" },
      query: "",
      headers: {},
      body: null,
      signal: new AbortController().signal,
    };
    await expect(operator.linkTo("build-3").send(request)).rejects.toThrow("does not answer now");
    await last().say(hello);
    await last().say(record(1));
    const answer = operator.linkTo("build-3").send(request);
    await settle();
    const sent = last().written.map((line) => JSON.parse(line) as { kind: string; head?: { id: string } });
    const id = sent.find(({ kind }) => kind === "message")?.head?.id ?? "";
    for (const head of [
      { kind: "head", id, run: 1, seq: 0, status: 200, headers: { "content-type": "application/json" } },
      { kind: "end", id, run: 1, seq: 1 },
    ]) {
      await last().say({ kind: "message", head });
    }
    expect((await answer).status).toBe(200);
    await operator.stop();
  });
});
