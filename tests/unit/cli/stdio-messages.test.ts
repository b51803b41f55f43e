import { describe, expect, test } from "bun:test";
import { createStdioMessages, stdioLimits } from "../../../src/cli/extensions/bridges/stdio-messages.ts";
import { orAborted } from "../../../src/system/lifecycle.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

/** A connection whose client sends `lines` and then ends its input, unless it `stays`. */
function connect(
  lines: readonly object[],
  options: { stays?: boolean; readerGone?: boolean; reads?: boolean } = {},
) {
  const clock = createFakeClock();
  const written: { id?: unknown; error?: { code: number } }[] = [];
  async function* input() {
    yield new TextEncoder().encode(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    if (options.stays) await new Promise(() => {});
  }
  const messages = createStdioMessages({
    clock,
    input: input(),
    nullId: true,
    async write(text) {
      if (options.readerGone) throw new Error("EPIPE");
      if (options.reads === false) await new Promise(() => {});
      written.push(JSON.parse(text));
    },
  });
  return { clock, written, messages };
}

const request = (id: number, method = "ping") => ({ jsonrpc: "2.0", id, method });
const answer = (id: number) => ({ jsonrpc: "2.0", id, result: {} });

describe("the messages of a client on standard streams", () => {
  test("what follows initialize is held until that is answered", async () => {
    const { messages, clock } = connect([request(1, "initialize"), request(2)]);
    expect(await messages.next()).toMatchObject({ id: 1 });
    let second: unknown = "held";
    void messages.next().then((message) => (second = message));
    await clock.advance(1000);
    expect(second).toBe("held");
    await messages.send(answer(1));
    await clock.advance(0);
    expect(second).toMatchObject({ id: 2 });
  });

  test("the end of the input waits for the answers, and not for ever", async () => {
    for (const answered of [true, false]) {
      const { messages, clock } = connect([request(1)]);
      await messages.next();
      const end = messages.next();
      await orAborted(new Promise(() => {}), messages.inputEnded);
      if (answered) await messages.send(answer(1));
      else await clock.advance(stdioLimits.lastAnswersMs);
      expect(await end).toBeNull();
    }
  });

  test("a request with the id of one that waits is refused; after the answer the id is free", async () => {
    const { messages, written } = connect([request(1), request(1), { jsonrpc: "2.0", method: "x" }]);
    await messages.next();
    expect(await messages.next()).toMatchObject({ method: "x" });
    expect(written).toMatchObject([{ id: null, error: { code: -32600 } }]);
    const again = connect([request(1), request(1)]);
    await again.messages.next();
    await again.messages.send(answer(1));
    expect(await again.messages.next()).toMatchObject({ id: 1 });
  });

  test("a reader that has gone ends the connection without a fault", async () => {
    const { messages } = connect([request(1)], { stays: true, readerGone: true });
    await messages.next();
    const end = messages.next();
    await messages.send(answer(1));
    expect([await end, messages.fault()]).toEqual([null, null]);
  });

  test("thousands of bad lines at once get their errors, and the next request is read", async () => {
    const bad = Array.from({ length: 5000 }, () => ({ jsonrpc: "1.0" }));
    const { messages, written } = connect([...bad, request(1)], { stays: true });
    expect(await messages.next()).toMatchObject({ id: 1 });
    expect([written.length, messages.fault()]).toEqual([5000, null]);
  });

  test("a client that never reads ends the connection with a fault", async () => {
    const bad = Array.from({ length: stdioLimits.maxUnwritten + 1 }, () => ({ jsonrpc: "1.0" }));
    const { messages, clock } = connect(bad, { stays: true, reads: false });
    const end = messages.next();
    await clock.advance(stdioLimits.lastAnswersMs);
    expect([await end, messages.fault()?.message]).toEqual([null, expect.stringContaining("does not read")]);
  });
});
