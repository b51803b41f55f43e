import { afterAll, expect, test } from "bun:test";
import { createCliFixture } from "../support/cli-fixture.ts";

const fixture = createCliFixture();
afterAll(() => fixture[Symbol.asyncDispose]());

test("a gateway that is asked to stop while it starts leaves cleanly, at any moment of the start", async () => {
  const launched = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "brief",
    "--no-gateway",
    "--json",
  );
  const serve = [
    ...fixture.command("svc-gateway"),
    "serve",
    "--session-root",
    String(launched.json()["session_root"]),
  ];
  for (const afterMs of [0, 40, 80, 120, 160, 200, 260, 400]) {
    const child = Bun.spawn(serve, {
      env: fixture.env,
      cwd: fixture.workdir,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    setTimeout(() => child.kill("SIGTERM"), afterMs);
    const said = await new Response(child.stderr).text();
    expect([said, (await child.exited) === 0 || child.signalCode === "SIGTERM"]).toEqual(["", true]);
  }
}, 120_000);
