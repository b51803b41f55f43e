import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createCliFixture } from "../support/cli-fixture.ts";
import { until } from "../support/until.ts";

test("what a turn still writes into is not removed, though tmux has gone and taken its session along", async () => {
  await using fixture = createCliFixture();
  const single = (...words: string[]) => ["agents", "single", "--agent-name", "batch", ...words];
  const made = await fixture.mgr(
    "agents",
    "launch",
    "--tool",
    "demo",
    "--agent-name",
    "batch",
    "--headless",
    "--gateway-background",
    "--json",
  );
  const root = String(made.json()["session_root"]);
  const submitted = await fixture.mgr(
    ...single("turn", "submit", "--turn-id", "long", "--prompt", "work\nSLOW 600000"),
  );
  expect(submitted).toMatchObject({ exitCode: 0 });
  const answer = join(root, "manifest.turn-artifacts/long/stdout.jsonl");
  await until("the turn to run", () => existsSync(answer));
  await fixture.mgr(...single("gateway", "detach"));
  await fixture.tmux("kill-session", "-t", `=${made.json()["tmux_session_name"]}`);

  const early = await fixture.mgr(...single("cleanup", "--yes", "--json"));
  expect(early).toMatchObject({ exitCode: 1, stdout: "" });
  expect(early.error()).toMatchObject({
    error: "conflict",
    detail: expect.stringMatching(/^"batch" runs long\. End it with: svc-mgr agents .* stop$/),
  });
  expect(existsSync(answer)).toBe(true);

  const stopped = await fixture.mgr(...single("stop", "--json"));
  expect(stopped.json()).toMatchObject({ success: true, turn_id: "long" });
  const removed = await fixture.mgr(...single("cleanup", "--yes", "--json"));
  expect(removed.json()).toMatchObject({ removed: true, session_root: root });
  expect(existsSync(root)).toBe(false);
}, 120_000);
