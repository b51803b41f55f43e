import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkCoordinatorPort } from "../../src/cli/checks/machine.ts";
import { openCliContext } from "../../src/cli/command-line/cli-context.ts";
import { coordinatorPaths, publishCoordinator } from "../../src/services/fleet/coordinator-files.ts";

test("doctor distinguishes a coordination server on the port from one that died and a stranger in its place", async () => {
  const home = mkdtempSync(join(tmpdir(), "svc-coord-port-"));
  const listener = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
  const port = listener.port ?? 0;
  try {
    const context = openCliContext({ env: { HOME: home }, cwd: home, home }, {});
    const paths = coordinatorPaths(context.roots.runtimeRoot, "127.0.0.1", port);
    mkdirSync(paths.runRoot, { recursive: true });
    const publish = (pid: number) =>
      publishCoordinator(
        context.files,
        paths,
        {
          schema_version: 1,
          status: "ok",
          pid,
          api_base_url: `http://127.0.0.1:${port}`,
          server_root: paths.root,
          started_at_utc: "2026-11-22T10:00:00.000+00:00",
        },
        { token: null, challengeKey: "key" },
      );
    const stranger = { verdict: "warning", detail: "another program listens here" };
    expect(await checkCoordinatorPort(context, port)).toMatchObject(stranger);
    publish(process.pid);
    expect(await checkCoordinatorPort(context, port)).toMatchObject({
      verdict: "ok",
      detail: "svc-coord serves here",
    });
    const died = Bun.spawn(["true"]);
    await died.exited;
    publish(died.pid);
    expect(await checkCoordinatorPort(context, port)).toMatchObject(stranger);
  } finally {
    await listener.stop(true);
    rmSync(home, { recursive: true });
  }
});
