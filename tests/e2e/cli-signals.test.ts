import { expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolReport } from "../../src/protocol/tool-report.ts";
import { signalPaths } from "../../src/services/extensions/bridges/signals/spool-source.ts";
import { sha256 } from "../../src/system/digest.ts";
import { type CliAgent, launched } from "../support/cli-agent.ts";
import { until } from "../support/until.ts";

const agent = "agents single --agent-name worker";

const reports = (at: CliAgent): ToolReport[] =>
  readOrEmpty(signalPaths(at.sessionRoot).spool)
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as ToolReport);

/** How far the gateway read the spool, in bytes. */
function readUpTo(at: CliAgent): number {
  const text = readOrEmpty(signalPaths(at.sessionRoot).cursor);
  return text === "" ? 0 : ((JSON.parse(text) as { read: { offset: number }[] }).read.at(-1)?.offset ?? 0);
}

const spoolIsRead = (at: CliAgent) =>
  until("the spool to be read", () => readUpTo(at) === statSync(signalPaths(at.sessionRoot).spool).size);

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

const kinds = (at: CliAgent) => reports(at).map(({ kind }) => kind);

test("an agent's own reports reach its gateway, also those of the time when it had none", async () => {
  await using at = await launched("--", "--signals");
  expect(at.launch["signals_absence"]).toBeNull();
  const run = await at.type(`${agent} prompt --wait --json`, "--prompt", "hello\nFAST");
  expect(run.json()).toMatchObject({ success: true });
  await until("the end of the turn to be reported", () => kinds(at).includes("turn_ended"));
  const [started, submitted, ended] = reports(at);
  expect([started?.kind, submitted?.kind, ended?.kind]).toEqual([
    "session_started",
    "prompt_submitted",
    "turn_ended",
  ]);
  expect(submitted).toMatchObject({
    tool: "demo",
    prompt: "hello\nFAST",
    prompt_sha256: sha256("hello\nFAST"),
  });
  expect(ended?.turn_id).toBe(submitted?.turn_id ?? "?");
  await spoolIsRead(at);

  at.fixture.kill(at.gatewayPid());
  await at.tmux("send-keys", "-t", `=${at.session}:0`, "-l", "by hand FAST");
  await at.tmux("send-keys", "-t", `=${at.session}:0`, "Enter");
  await until(
    "the turn by hand to be reported",
    () => kinds(at).filter((kind) => kind === "turn_ended").length === 2,
  );
  expect(readUpTo(at)).toBeLessThan(statSync(signalPaths(at.sessionRoot).spool).size);
  expect((await at.type(`${agent} gateway attach`)).exitCode).toBe(0);
  await spoolIsRead(at);
});

test("what the tool was given is no part of its launch arguments, and each relaunch makes it again", async () => {
  await using at = await launched("--", "--signals");
  await until("the start to be reported", () => kinds(at).includes("session_started"));
  const { spool } = signalPaths(at.sessionRoot);
  const plan = at.file("manifest.json")["launch_plan"] as {
    args: string[];
    metadata: Record<string, unknown>;
  };
  expect(plan.metadata["signals"]).toEqual({ given: true, declined: false, why: null });
  expect(plan.args.join(" ")).not.toContain(spool);
  expect((await at.type(`${agent} relaunch --json`)).json()).toMatchObject({ signals_absence: null });
  await until(
    "the second start to be reported",
    () => kinds(at).filter((one) => one === "session_started").length === 2,
  );
});

test("--no-signals launches without them, and so does every relaunch", async () => {
  await using at = await launched("--no-signals", "--", "--signals");
  expect(at.launch["signals_absence"]).toBe("--no-signals");
  const relaunched = (await at.type(`${agent} relaunch --reconcile --json`)).json();
  expect(relaunched["signals_absence"]).toBe("--no-signals");
  const run = await at.type(`${agent} prompt --wait --json`, "--prompt", "hello\nFAST");
  expect(run.json()).toMatchObject({ success: true });
  expect(reports(at)).toEqual([]);
});

test("a spool full of lies and nonsense changes no turn, and doctor says who reports", async () => {
  await using at = await launched("--", "--signals");
  await at.ready();
  const { spool, root } = signalPaths(at.sessionRoot);
  const lie = { ...reports(at)[0], kind: "session_ended", id: "lie" };
  writeFileSync(join(root, "more"), "");
  writeFileSync(spool, `${"x".repeat(300_000)}\n{"kind":\n${JSON.stringify(lie)}\n`, { flag: "a" });
  await spoolIsRead(at);
  const run = await at.type(`${agent} prompt --wait --json`, "--prompt", "hello\nFAST");
  expect(run.json()).toMatchObject({ success: true });
  const { checks } = (await at.type("doctor --json")).json() as {
    checks: { name: string; verdict: string; detail: string }[];
  };
  expect(checks.find(({ name }) => name === "reports of tools")).toEqual({
    name: "reports of tools",
    verdict: "ok",
    remedy: null,
    detail: "worker reports",
  } as never);
});
