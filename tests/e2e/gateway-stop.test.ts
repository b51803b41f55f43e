import { afterAll, expect, test } from "bun:test";
import { createCliLab } from "../support/cli-lab.ts";

const lab = createCliLab();
afterAll(() => lab[Symbol.asyncDispose]());

test("a gateway that is asked to stop while it starts leaves cleanly, at any moment of the start", async () => {
  const launched = await lab.mgr(
    ...["agents", "launch", "--tool", "demo", "--agent-name", "brief", "--no-gateway", "--json"],
  );
  const serve = [
    ...lab.command("svc-gateway"),
    "serve",
    "--session-root",
    String(launched.json()["session_root"]),
  ];
  for (const afterMs of [0, 40, 80, 120, 160, 200, 260, 400]) {
    const child = Bun.spawn(serve, {
      env: lab.env,
      cwd: lab.workdir,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    setTimeout(() => child.kill("SIGTERM"), afterMs);
    const said = await new Response(child.stderr).text();
    expect([said, (await child.exited) === 0 || child.signalCode === "SIGTERM"]).toEqual(["", true]);
  }
}, 120_000);
