import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { renderJson } from "../src/protocol/json.ts";
import { createProcesses } from "../src/system/processes.ts";
import { quietSteps } from "../src/system/steps.ts";
import { createCliFixture } from "../tests/support/cli-fixture.ts";
import { keep, releasedFolder } from "../tests/support/released.ts";
import { until } from "../tests/support/until.ts";
import { repositoryRoot } from "./bootstrap.ts";

// Keeps what a version leaves on disk below tests/released, so that every later version can be tested on it:
//   bun scripts/keep-release.ts NAME [SOURCE]
// SOURCE is a checkout of that version; by default this one. Runs a scripted agent with it, gives it work of
// every kind, and kills its gateway while it works. Done once for each release that has a schema of its own.

const [name, source = repositoryRoot] = process.argv.slice(2);
if (name === undefined)
  throw new Error("which name is it to have? bun scripts/keep-release.ts NAME [SOURCE]");
const entry = join(resolve(source), "src/cli/svc-mgr.ts");
const kept = join(releasedFolder, name);

await using fixture = createCliFixture();
const processes = createProcesses({ steps: quietSteps });
const one = ["agents", "single", "--agent-name", "worker"];

async function mgr(words: string[], input?: string): Promise<Record<string, unknown>> {
  const run = await processes.run([process.execPath, entry, ...words, "--json"], {
    env: fixture.env,
    cwd: fixture.workdir,
    timeoutMs: 30_000,
    ...(input === undefined ? {} : { input }),
  });
  if (run.exitCode !== 0) throw new Error(`${words.join(" ")}: ${run.stderr}`);
  return JSON.parse(run.stdout) as Record<string, unknown>;
}
const offers = async (word: string, ...words: string[]) => {
  const help = await processes.run([process.execPath, entry, ...words, "--help"], { env: fixture.env });
  return help.stdout.includes(word);
};
/** A prompt that keeps the agent at work; resolves when it is. */
async function keepBusy(): Promise<void> {
  const { request_id } = await mgr([...one, "prompt", "--prompt", "SLOW 600000"]);
  await until("the agent to be at work", async () => {
    const shown = await mgr([...one, "requests", "show", String(request_id)]);
    return JSON.stringify(shown).includes("turn_started");
  });
}

const mails = await offers("--mailbox", "agents", "launch");
const launch = [
  "agents",
  "launch",
  "--tool",
  "demo",
  "--agent-name",
  "worker",
  ...(mails ? ["--mailbox"] : []),
];
await mgr(launch);
await mgr([...one, "prompt", "--prompt", "say hello", "--wait"]);
await mgr([...one, "prompt", "--wait"], 'a "quoted" line\nwith $HOME and 日本\nFAST');
await keepBusy();
await mgr([...one, "prompt", "--prompt", "work for the agent before this one"]);
await mgr([...one, "relaunch", "--reconcile"]);
await keepBusy();
await mgr([...one, "prompt", "--prompt", "first\nFAST"]);
await mgr([...one, "prompt", "--prompt", "second\nFAST"]);
const files: Record<string, unknown> = { "requests.json": await mgr([...one, "requests", "list"]) };
if (mails) {
  const letter = ["--subject", "A harbor", "--body-content", "The bell rings at noon."];
  await mgr([...one, "mail", "send", "--to", "worker@svc.localhost", ...letter]);
  files["mail.json"] = await mgr([...one, "mail", "list"]);
  await mgr([...one, "gateway", "mail-notifier", "enable", "--interval-seconds", "3600"]);
  await mgr([...one, "gateway", "mail-notifier", "disable"]);
}
if (await offers("--headless", "agents", "launch")) {
  const batch = ["agents", "single", "--agent-name", "batch"];
  await mgr(["agents", "launch", "--tool", "demo", "--agent-name", "batch", "--headless"]);
  await mgr([...batch, "prompt", "--prompt", "describe the harbor", "--wait"]);
  files["headless.json"] = await mgr([...batch, "requests", "list"]);
}

const state = join(fixture.env["HOME"] ?? "", ".local/state/svc");
for (const path of new Bun.Glob("**/current-instance.json").scanSync({
  cwd: fixture.folder,
  absolute: true,
  dot: true,
})) {
  fixture.kill((JSON.parse(readFileSync(path, "utf8")) as { pid: number }).pid);
}
await fixture.tmux("kill-server");

rmSync(kept, { recursive: true, force: true });
mkdirSync(kept, { recursive: true });
const places = [
  ["socket", fixture.socket],
  ["home", fixture.env["HOME"] ?? ""],
  ["work", fixture.workdir],
  ["bun", process.execPath],
  ["source", resolve(source)],
] as const;
keep(state, join(kept, "state"), places);
if (mails) keep(join(fixture.workdir, ".svc"), join(kept, "project"), places);
for (const [path, content] of Object.entries(files)) writeFileSync(join(kept, path), renderJson(content));
