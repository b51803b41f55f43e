import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBuiltFixture } from "../support/built-agent.ts";
import type { CliFixture } from "../support/cli-fixture.ts";
import { installNodePackages, installPythonPackage, runForeign } from "../support/foreign-packages.ts";

// Clients that others generate from the document of a live gateway, used as their users would.

const typescript = { "openapi-typescript": "7.13.0", "openapi-fetch": "0.17.0", typescript: "5.9.3" };
const python = { name: "openapi-python-client", version: "0.29.1", purpose: "the generated Python client" };
const scripts = join(import.meta.dir, "../support/generated-clients");

let fixture: CliFixture;
let baseUrl = "";
beforeAll(async () => {
  await Promise.all([installNodePackages("openapi-typescript", typescript), installPythonPackage(python)]);
  fixture = createBuiltFixture(join(import.meta.dir, "../../dist"));
  const mailbox = ["--mailbox", "--mailbox-root", join(fixture.folder, "mail")];
  const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", ...mailbox];
  const launched = await fixture.mgr(...words, "--gateway-background", "--json");
  if (launched.exitCode !== 0) throw new Error(`launch: ${launched.stderr}`);
  const record = join(String(launched.json()["session_root"]), "gateway", "run", "current-instance.json");
  baseUrl = `http://127.0.0.1:${(JSON.parse(readFileSync(record, "utf8")) as { port: number }).port}`;
  const document = await (await fetch(`${baseUrl}/openapi.json`)).text();
  writeFileSync(join(fixture.folder, "openapi.json"), document);
}, 240_000);
afterAll(() => fixture?.[Symbol.asyncDispose]());

const address = "worker@svc.localhost";
const environment = () => ({ ...process.env, NO_PROXY: "127.0.0.1", PYTHONDONTWRITEBYTECODE: "1" });

test("a client with the types of openapi-typescript compiles, prompts and mails", async () => {
  const packages = await installNodePackages("openapi-typescript", typescript);
  const bin = (name: string) => join(packages, "node_modules", ".bin", name);
  const folder = fixture.folder;
  symlinkSync(join(packages, "node_modules"), join(folder, "node_modules"));
  await runForeign([process.execPath, bin("openapi-typescript"), "openapi.json", "-o", "gateway.d.ts"], {
    cwd: folder,
  });
  copyFileSync(join(scripts, "use-client.ts.txt"), join(folder, "use-client.ts"));
  const compilerOptions = {
    noEmit: true,
    strict: true,
    skipLibCheck: true,
    target: "esnext",
    module: "preserve",
  };
  const project = { compilerOptions: { ...compilerOptions, types: [] }, files: ["use-client.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(project));
  await runForeign([process.execPath, bin("tsc"), "-p", "."], { cwd: folder });
  const said = await runForeign([process.execPath, "use-client.ts", baseUrl, address], {
    cwd: folder,
    env: environment(),
  });
  expect(JSON.parse(said)).toEqual({
    health: "healthy",
    version: 1,
    state: "completed",
    sent: "from TypeScript",
    subjects: expect.arrayContaining(["from TypeScript"]) as never,
    refused: [422, "object"],
  });
}, 240_000);

test("a client made by openapi-python-client prompts and mails, and nothing of the document was left out", async () => {
  const bin = await installPythonPackage(python);
  const folder = fixture.folder;
  const generate = [
    "generate",
    "--path",
    "openapi.json",
    "--output-path",
    "gateway_client",
    "--meta",
    "none",
  ];
  const env = { ...environment(), PATH: `${bin}:${process.env["PATH"]}` };
  const made = await runForeign([join(bin, "openapi-python-client"), ...generate, "--fail-on-warning"], {
    cwd: folder,
    env,
  });
  expect(made).not.toContain("arning");
  const script = join(scripts, "use_client.py");
  const said = await runForeign([join(bin, "python"), script, folder, baseUrl, address], {
    cwd: folder,
    env,
  });
  expect(JSON.parse(said)).toEqual({
    health: "healthy",
    version: 1,
    state: "completed",
    sent: "from Python",
    subjects: expect.arrayContaining(["from Python"]) as never,
    refused: [422, "ValidationErrorBody"],
  });
}, 240_000);
