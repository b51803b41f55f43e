import { describe, expect, test } from "bun:test";
import { createCallerLookup } from "../../../src/system/callers.ts";
import {
  askKernel,
  findInTables,
  findRow,
  isStillOpen,
  listConnections,
  parseAddress,
  sameAddress,
} from "../../../src/system/linux-sockets.ts";

const at = (address: string, port: number) => ({ address: parseAddress(address) ?? new Uint8Array(), port });

describe("addresses", () => {
  test.each([
    { text: "127.0.0.1", bytes: [127, 0, 0, 1] },
    { text: "::ffff:127.0.0.1", bytes: [127, 0, 0, 1] },
    { text: "::ffff:7f00:1", bytes: [127, 0, 0, 1] },
    { text: "[::1]", bytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] },
    { text: "fe80::1%lo", bytes: [254, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] },
    { text: "1:2:3:4:5:6:7:8", bytes: [0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8] },
    { text: "256.0.0.1", bytes: null },
    { text: "1::2::3", bytes: null },
    { text: "1:2:3", bytes: null },
    { text: "localhost", bytes: null },
  ])("$text", ({ text, bytes }) => {
    expect(parseAddress(text)).toEqual(bytes === null ? null : new Uint8Array(bytes));
  });
});

test("a row of the tables is found by both addresses, a listener by its own", () => {
  const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 12 1
   2: 0000000000000000FFFF00000100007F:C351 0000000000000000FFFF00000100007F:1F90 01 0:0 00:0 0 1002 0 13 1
   3: 00000000000000000000000000000000:2328 00000000000000000000000000000000:0000 0A 0:0 00:0 0 1003 0 14 1`;
  const server = at("127.0.0.1", 8080);
  const nobody = at("127.0.0.1", 0);
  expect(findRow(table, at("127.0.0.1", 50_000), server)).toEqual({ uid: 1001, inode: 12 });
  expect(findRow(table, at("127.0.0.1", 50_001), server)).toEqual({ uid: 1002, inode: 13 });
  expect(findRow(table, at("127.0.0.2", 50_000), server)).toBe("absent");
  expect(findRow(table, server, nobody)).toEqual({ uid: 1000, inode: 11 });
  expect(findRow(table, at("::1", 9000), at("::1", 0))).toEqual({ uid: 1003, inode: 14 });
});

test.each([
  { host: "127.0.0.1", name: "127.0.0.1" },
  { host: "::1", name: "[::1]" },
  { host: "0.0.0.0", name: "127.0.0.2" },
  { host: "::", name: "127.0.0.1" },
  { host: "::", name: "[::1]" },
])("the kernel and its tables say the same of a connection to $name at $host", async ({ host, name }) => {
  const seen: unknown[] = [];
  const server = Bun.serve({
    hostname: host,
    port: 0,
    fetch(request, self) {
      const ip = self.requestIP(request);
      const remote = at(ip?.address ?? "", ip?.port ?? 0);
      const found = listConnections(self.port ?? 0)?.find((one) => sameAddress(one.remote, remote));
      if (!found) throw new Error("the connection was not found");
      const both = [askKernel(remote, found.local), findInTables(remote, found.local)];
      const lookUp = createCallerLookup({ address: host, port: self.port ?? 0 });
      // The third time it is remembered.
      seen.push(...both, isStillOpen(found.connection), lookUp(ip), lookUp(ip), lookUp(ip));
      return new Response("ok");
    },
  });
  try {
    await (await fetch(`http://${name}:${server.port}/`, { proxy: false } as unknown as RequestInit)).text();
    const [kernel, tables, open, ...callers] = seen;
    expect(kernel).toMatchObject({ uid: process.getuid?.() ?? -1, inode: expect.any(Number) });
    expect([tables, open, callers]).toEqual([kernel, true, ["own", "own", "own"]]);
    const listener = at(host, server.port ?? 0);
    const nobody = { address: new Uint8Array(listener.address.length), port: 0 };
    expect(askKernel(listener, nobody)).toEqual(findInTables(listener, nobody));
    expect(askKernel(listener, nobody)).toMatchObject({ uid: process.getuid?.() ?? -1 });
  } finally {
    await server.stop(true);
  }
});

test("a connection that the peer has reset is not open any more", async () => {
  const requested = Promise.withResolvers<{ address: string; port: number }>();
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request, self) {
      requested.resolve(self.requestIP(request) ?? { address: "", port: 0 });
      return new Response("ok");
    },
  });
  const line = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port ?? 0,
    socket: { data() {}, open: (socket) => void socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n") },
  });
  const peer = await requested.promise;
  const [found] = listConnections(server.port ?? 0) ?? [];
  expect(found?.remote).toEqual(at(peer.address, peer.port));
  if (!found) throw new Error("the connection was not found");
  expect(isStillOpen(found.connection)).toBe(true);
  expect(isStillOpen({ ...found.connection, cookieLow: found.connection.cookieLow ^ 1 })).toBe(false);
  line.terminate();
  while (isStillOpen(found.connection)) await new Promise((resolve) => setImmediate(resolve));
  await server.stop(true);
});
