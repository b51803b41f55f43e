import { connect } from "node:net";

/** A message as it goes from server to server; `data` has its dots doubled and ends in a line break. */
export interface OutgoingMessage {
  from: string;
  to: string[];
  /** One character for each byte. */
  data: string;
}

export type Outcome = { kind: "delivered" } | { kind: "refused"; why: string } | { kind: "later" };

/** Hands a message to an LMTP server on loopback. Never rejects: what may work another time is `later`. */
export async function deliver(port: number, message: OutgoingMessage): Promise<Outcome> {
  const socket = connect({ host: "127.0.0.1", port });
  const replies = repliesOf(socket);
  const ask = async (line: string | Buffer) => {
    if (line !== "") socket.write(line);
    const { value, done } = await replies.next();
    if (done || value.startsWith("4")) throw new Error(value ?? "the connection ended");
    return value;
  };
  const isFine = (reply: string) => reply.startsWith("2") || reply.startsWith("3");
  const refused: string[] = [];
  try {
    await ask("");
    await ask("LHLO relay\r\n");
    await ask(`MAIL FROM:<${message.from}>\r\n`);
    let accepted = 0;
    for (const one of message.to) {
      const reply = await ask(`RCPT TO:<${one}>\r\n`);
      if (isFine(reply)) accepted += 1;
      else refused.push(reply);
    }
    if (accepted > 0) {
      await ask("DATA\r\n");
      // One reply for each recipient that was accepted.
      let line: string | Buffer = Buffer.from(`${message.data}.\r\n`, "latin1");
      for (; accepted > 0; accepted--) {
        const reply = await ask(line);
        if (!isFine(reply)) refused.push(reply);
        line = "";
      }
    }
    return refused.length === 0 ? { kind: "delivered" } : { kind: "refused", why: refused.join("; ") };
  } catch {
    return { kind: "later" };
  } finally {
    socket.end("QUIT\r\n");
    socket.destroySoon();
  }
}

/** The last line of each reply. */
async function* repliesOf(socket: ReturnType<typeof connect>): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of socket) {
    const lines = (rest + String(chunk)).split("\r\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line[3] !== "-") yield line;
  }
  return undefined;
}
