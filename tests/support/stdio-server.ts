import { closeSync, constants, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { CliFixture } from "./cli-fixture.ts";
import { createTestSignal } from "./until.ts";

interface Received {
  id?: string | number | null;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
  [field: string]: unknown;
}

/** A server on standard streams and a client that sends what it likes, byte by byte. */
export interface StdioServer extends AsyncDisposable {
  pid: number;
  exited: Promise<number>;
  /** What the server sent, in order. */
  readonly received: readonly Received[];
  stderr(): string;
  write(text: string | Uint8Array): Promise<void>;
  send(...messages: object[]): Promise<void>;
  /** Sends a request and resolves with its response. */
  request(method: string, params?: object): Promise<Received>;
  response(id: string | number): Promise<Received>;
  endInput(): Promise<void>;
  /** The most memory that it ever held, in MB. */
  peakMegabytes(): number;
}

/** `reads: false`: the client reads nothing of what it is sent. */
export function startStdioServer(
  fixture: CliFixture,
  words: readonly string[],
  { reads = true, env = fixture.env }: { reads?: boolean; env?: Record<string, string> } = {},
): StdioServer {
  const unread = reads ? null : openUnreadPipe(fixture.folder);
  const child = Bun.spawn([...fixture.command("svc"), ...words], {
    env,
    cwd: fixture.workdir,
    stdin: "pipe",
    stdout: unread ?? "pipe",
    stderr: "pipe",
  });
  const messages = createTestSignal<Received>();
  let errors = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) errors += decoder.decode(chunk, { stream: true });
  })();
  if (child.stdout instanceof ReadableStream)
    void collectLines(child.stdout, (line) => messages.emit(JSON.parse(line) as Received));

  async function write(text: string | Uint8Array): Promise<void> {
    child.stdin.write(text);
    await child.stdin.flush();
  }
  let requests = 0;
  const server: StdioServer = {
    pid: child.pid,
    exited: child.exited,
    received: messages.values,
    stderr: () => errors,
    write,
    send: (...messages) =>
      write(messages.map((one) => `${JSON.stringify({ jsonrpc: "2.0", ...one })}\n`).join("")),
    async request(method, params = {}) {
      requests += 1;
      const id = `request-${requests}`;
      await server.send({ id, method, params });
      return server.response(id);
    },
    response: (wantedId) =>
      messages.first(`the response to ${wantedId}`, ({ id }) => id === wantedId, 30_000),
    async endInput() {
      await child.stdin.end();
    },
    peakMegabytes() {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
      if (unread !== null) closeSync(unread);
    },
  };
  return server;
}

async function collectLines(stream: AsyncIterable<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream) {
    const lines = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  }
}

/** A pipe whose only reader is this process, which reads nothing. */
function openUnreadPipe(folder: string): number {
  const path = join(folder, `unread-${performance.now()}`);
  if (Bun.spawnSync(["mkfifo", path]).exitCode !== 0) throw new Error("mkfifo failed");
  return openSync(path, constants.O_RDWR);
}
