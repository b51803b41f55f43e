import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecondUser } from "../../support/second-user.ts";

const limited = (limit: number, command: readonly string[]) => [
  "sh",
  "-c",
  `ulimit -n ${limit} && exec "$0" "$@"`,
  ...command,
];
const holder = readFileSync(join(import.meta.dir, "../../support/stubborn-holder.ts"), "utf8");
const health = (port: string) => `GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`;

describe("a server that may have 1,024 descriptors answers /health beside 1,500 connections that", () => {
  test.each([
    { id: "never bring a byte", text: () => "" },
    { id: "bring half a request", text: () => "GET /hea" },
    { id: "are kept after an answer", text: health },
  ])(
    "$id",
    async ({ text }) => {
      // Not as root, who may have more descriptors than the limit says.
      await using victim = createSecondUser();
      await using other = createSecondUser();
      const serve = [...victim.command("svc-coord"), "serve", "--port", "0", "--json"];
      const server = victim.start(limited(1024, serve));
      const { api_base_url: baseUrl } = JSON.parse(await server.line()) as { api_base_url: string };
      const { port } = new URL(baseUrl);
      const held = other.start(limited(4096, other.script(holder, port, "1500", text(port))));
      expect(await held.line()).toBe("held");
      for (let asked = 0; asked < 3; asked++) {
        // Silent connections used to keep it busy for 12 s, those that were answered once for ever.
        const reply = await fetch(`${baseUrl}/health`, {
          signal: AbortSignal.timeout(7000),
          headers: { connection: "close" },
          proxy: false,
        } as unknown as RequestInit);
        expect(reply.status).toBe(200);
      }
    },
    120_000,
  );
});
