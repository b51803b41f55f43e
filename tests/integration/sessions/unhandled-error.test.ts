import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { launchAgent } from "../../../src/services/sessions/launch.ts";
import { sessionPaths } from "../../../src/services/sessions/roots.ts";
import { createSessionFixture } from "../../support/session-fixture.ts";

const program = resolve(import.meta.dir, "../../support/stray-gateway.ts");

test.each([
  ["a rejected promise", "SIGUSR1", "nobody awaits this"],
  ["an exception", "SIGUSR2", "nobody catches this"],
] as const)(
  "%s that reaches nobody ends the gateway with a line in its log and exit code 1",
  async (_, signal, message) => {
    await using fixture = await createSessionFixture();
    const { sessionRoot } = await launchAgent(fixture.deps, fixture.request());
    const gateway = Bun.spawn([process.execPath, program, sessionRoot], {
      stdout: "pipe",
      stderr: "pipe",
      env: { ...process.env, ...fixture.deps.env },
    });
    const { value } = await gateway.stdout.getReader().read();
    expect(new TextDecoder().decode(value)).toStartWith("ready ");
    gateway.kill(signal);
    expect(await gateway.exited).toBe(1);
    expect(await new Response(gateway.stderr).text()).toBe(
      `unexpected fault, the process ends: ${message}\n`,
    );
    const log = readFileSync(sessionPaths(sessionRoot).gatewayLog, "utf8");
    expect(log).toContain("unhandled error, the gateway ends");
    expect(log).toContain(message);
  },
);
