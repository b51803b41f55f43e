import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Socket } from "bun";
import { deliver, type OutgoingMessage } from "./lmtp.ts";

/** Takes mail by SMTP and hands it on by LMTP. What it took stands on disk until it is delivered. */
export interface Relay {
  readonly port: number;
  /** Letters that were taken and not delivered yet. */
  waiting(): number;
  /** What a recipient's server refused for good, a line each. */
  readonly bounced: string[];
  /** Stops; a relay on the same folder goes on where this one stopped. */
  stop(): Promise<void>;
}

const retryMs = 50;

interface Talk {
  buffer: string;
  message: OutgoingMessage;
  data: string[] | null;
}

const nothing = (): OutgoingMessage => ({ from: "", to: [], data: "" });

/** `port`: 0 for any; `lmtpPort`: where messages go, on loopback. */
export function startRelay(options: { folder: string; port: number; lmtpPort: number }): Relay {
  const { folder, lmtpPort } = options;
  mkdirSync(folder, { recursive: true });
  const bounced: string[] = [];
  let running = true;
  let count = 0;
  let timer: Timer | null = null;
  let working: Promise<void> = Promise.resolve();

  const spooled = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".json"))
      .sort();

  function spool(message: OutgoingMessage): void {
    const name = `${Date.now().toString().padStart(15, "0")}-${String(count++).padStart(6, "0")}.json`;
    const path = join(folder, name);
    const handle = openSync(`${path}.tmp`, "w", 0o600);
    writeSync(handle, JSON.stringify(message));
    fsyncSync(handle);
    closeSync(handle);
    renameSync(`${path}.tmp`, path);
  }

  /** One after the other, in the order in which they came. */
  async function work(): Promise<void> {
    for (const name of spooled()) {
      if (!running) return;
      const path = join(folder, name);
      const outcome = await deliver(lmtpPort, JSON.parse(readFileSync(path, "utf8")));
      if (outcome.kind === "later") return;
      if (outcome.kind === "refused") bounced.push(outcome.why);
      rmSync(path);
    }
  }

  function look(): void {
    if (timer) clearTimeout(timer);
    timer = null;
    working = working.then(work).then(() => {
      if (running && spooled().length > 0) timer ??= setTimeout(look, retryMs);
    });
  }

  function command(socket: Socket<Talk>, line: string): void {
    const talk = socket.data;
    const upper = line.toUpperCase();
    const path = /<([^>]*)>/.exec(line)?.[1] ?? "";
    const say = (reply: string) => void socket.write(`${reply}\r\n`);
    if (upper.startsWith("EHLO") || upper.startsWith("HELO")) {
      say("250-localhost\r\n250-8BITMIME\r\n250 ENHANCEDSTATUSCODES");
    } else if (upper.startsWith("MAIL FROM:")) {
      talk.message = { ...nothing(), from: path };
      say("250 2.1.0 ok");
    } else if (upper.startsWith("RCPT TO:")) {
      talk.message.to.push(path);
      say("250 2.1.5 ok");
    } else if (upper === "DATA") {
      talk.data = [];
      say("354 go on");
    } else if (upper === "RSET" || upper === "NOOP") say("250 2.0.0 ok");
    else if (upper === "QUIT") {
      say("221 2.0.0 bye");
      socket.end();
    } else say("502 5.5.1 not known");
  }

  function take(socket: Socket<Talk>, line: string): void {
    const talk = socket.data;
    if (talk.data === null) {
      command(socket, line);
      return;
    }
    if (line !== ".") {
      talk.data.push(line);
      return;
    }
    spool({ ...talk.message, data: talk.data.map((one) => `${one}\r\n`).join("") });
    talk.data = null;
    // Before it is delivered: the server holds the sender's mailbox until it has this answer.
    socket.write("250 2.0.0 queued\r\n");
    look();
  }

  const server = Bun.listen<Talk>({
    hostname: "127.0.0.1",
    port: options.port,
    socket: {
      open(socket) {
        socket.data = { buffer: "", message: nothing(), data: null };
        socket.write("220 localhost ESMTP\r\n");
      },
      data(socket, chunk) {
        const talk = socket.data;
        const lines = (talk.buffer + chunk.toString("latin1")).split("\r\n");
        talk.buffer = lines.pop() ?? "";
        for (const line of lines) take(socket, line);
      },
    },
  });
  look();

  return {
    port: server.port,
    waiting: () => spooled().length,
    bounced,
    async stop() {
      running = false;
      if (timer) clearTimeout(timer);
      server.stop(true);
      await working;
    },
  };
}
