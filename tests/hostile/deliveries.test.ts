import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Delivery } from "../../src/protocol/delivery.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { receiver, webhookSecret } from "../support/delivery-targets.ts";
import { createSecondUser } from "../support/second-user.ts";
import { until } from "../support/until.ts";

const executable = join(import.meta.dir, "../../dist/svc-gateway");

function configOf(fixture: CliFixture): string {
  const folder = join(fixture.env["HOME"] ?? "", ".config/svc");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

const filesBelow = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test("secrets of targets lie in their files alone, also when each attempt fails", async () => {
  await using fixture = createCliFixture({ executable });
  const token = "tk_planted_7f3a";
  const path = "planted-path-91bc";
  // A server that sends back what it was given.
  await using server = receiver(
    ({ headers, url }) =>
      new Response(`${url} ${headers.get("authorization")} ${headers.get("webhook-signature")}`, {
        status: 500,
      }),
  );
  const folder = configOf(fixture);
  const rules = [
    "version: 1",
    "rules:",
    `  hook: { webhook: { url: "${server.url}/${path}", secret_file: hook.key } }`,
    `  gone: { webhook: { url: "http://127.0.0.1:1/${path}", secret_file: hook.key } }`,
    `  phone: { ntfy: { url: "${server.url}/${path}", token_file: token } }`,
  ];
  writeFileSync(join(folder, "deliveries.yaml"), `${rules.join("\n")}\n`, { mode: 0o600 });
  writeFileSync(join(folder, "hook.key"), webhookSecret, { mode: 0o600 });
  writeFileSync(join(folder, "token"), token, { mode: 0o600 });
  const said: string[] = [];
  const mgr = async (...words: string[]) => {
    const done = await fixture.mgr(...words);
    said.push(done.stdout, done.stderr);
    return done;
  };
  await mgr("agents", "launch", "--tool", "demo", "--agent-name", "asker");
  await using at = await startCoordinator(fixture);
  await mgr("agents", "single", "--agent-name", "asker", "prompt", "--prompt", "MENU Delete it all?");
  const failed = await until("three failures", async () => {
    const { body } = await at.ask("/svc/attention/deliveries");
    said.push(JSON.stringify(body));
    const found = body["deliveries"] as Delivery[];
    return found.filter(({ last_error }) => last_error !== null).length === 3 && found;
  });
  expect(failed.map(({ rule, last_error }) => `${rule}: ${last_error}`).sort()).toEqual([
    expect.stringMatching(/^gone: no connection \(\w+\)$/),
    "hook: status 500",
    "phone: status 500",
  ]);
  await mgr("attention", "deliveries");
  await mgr("attention", "rules", "--json");
  await mgr("attention", "deliver-test", "phone", "--json");
  await mgr("doctor", "--json");
  const commands = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .flatMap((pid) => {
      try {
        return ["cmdline", "environ"].map((file) => readFileSync(`/proc/${pid}/${file}`, "latin1"));
      } catch {
        return [];
      }
    });

  const key = webhookSecret.slice("whsec_".length);
  const letOut = (text: string) => [token, key].filter((secret) => text.includes(secret));
  expect(said.flatMap(letOut)).toEqual([]);
  expect(at.complaints()).toBe("");
  expect(commands.flatMap(letOut)).toEqual([]);
  const holders = filesBelow(fixture.folder)
    .filter((file) => [token, key, path].some((secret) => readFileSync(file, "latin1").includes(secret)))
    .map((file) => relative(folder, file));
  expect(holders.sort()).toEqual(["deliveries.yaml", "hook.key", "token"]);
}, 60_000);

test("rules and secrets of another user are refused, and nothing of them runs", async () => {
  await using fixture = createCliFixture({ executable });
  await using other = createSecondUser();
  const trace = join(fixture.folder, "trace");
  const rules = join(other.folder, "deliveries.yaml");
  other.write(rules, `version: 1\nrules:\n  evil: { command: { argv: [touch, ${trace}] } }\n`, 0o644);
  for (const words of [["rules"], ["deliver-test", "evil"]]) {
    const done = await fixture.mgr("attention", ...words, "--rules", rules);
    expect([done.exitCode, done.stderr]).toEqual([1, expect.stringContaining("belongs to user")]);
  }
  await fixture.mgr("agents", "launch", "--tool", "demo", "--agent-name", "asker");
  await using at = await startCoordinator(fixture, { flags: ["--rules", rules] });
  await fixture.mgr("agents", "single", "--agent-name", "asker", "prompt", "--prompt", "MENU Delete it all?");
  await until(
    "the question",
    async () => ((await at.ask("/svc/attention")).body["items"] as unknown[]).length === 1,
  );
  expect((await at.ask("/svc/attention/deliveries")).body["deliveries"]).toEqual([]);
  expect(at.complaints()).toContain("nothing is delivered");

  const secret = join(other.folder, "key");
  other.write(secret, webhookSecret, 0o600);
  await using server = receiver();
  const own = join(configOf(fixture), "deliveries.yaml");
  const webhook = `{ url: "${server.url}", secret_file: ${secret} }`;
  writeFileSync(own, `version: 1\nrules:\n  hook: { webhook: ${webhook} }\n`, { mode: 0o600 });
  const tested = await fixture.mgr("attention", "deliver-test", "hook");
  expect([tested.exitCode, tested.stderr]).toEqual([1, expect.stringContaining("belongs to user")]);
  expect([server.got, readdirSync(fixture.folder).includes("trace")]).toEqual([[], false]);
}, 60_000);
