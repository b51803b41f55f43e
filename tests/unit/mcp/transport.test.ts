import { expect, test } from "bun:test";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import type { StdioMessage } from "../../../src/cli/extensions/bridges/stdio-messages.ts";
import { transportOf } from "../../../src/cli/mcp/server.ts";

const request = (id: number): StdioMessage => ({ jsonrpc: "2.0", id, method: "ping" });

test("a message that cannot be handled is answered, and the next one is served", async () => {
  const given = [
    request(1),
    { jsonrpc: "2.0", method: "notifications/cancelled" } as const,
    request(2),
    null,
  ];
  const sent: object[] = [];
  const received: JSONRPCMessage[] = [];
  const transport = transportOf({
    next: async () => given.shift() ?? null,
    send: async (message) => void sent.push(message),
    close: () => {},
  });
  const closed = Promise.withResolvers<void>();
  transport.onclose = closed.resolve;
  transport.onmessage = (message) => {
    if (received.push(message) < 3) throw new Error("a fault of the library");
  };
  await transport.start();
  await closed.promise;
  expect(received).toHaveLength(3);
  expect(sent).toEqual([
    { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "the message could not be handled" } },
  ]);
});

test("a client whose messages cannot be read is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const transport = transportOf({
    next: () => Promise.reject(new Error("a fault of the input")),
    send: async () => {},
    close: closed.resolve,
  });
  let ended = 0;
  transport.onclose = () => void ended++;
  await transport.start();
  await closed.promise;
  expect(ended).toBe(1);
});
