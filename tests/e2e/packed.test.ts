import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { targetOfThisMachine } from "../../scripts/release-targets.ts";
import { gatewayEndpoints } from "../../src/protocol/endpoints.ts";
import { connect } from "../support/mcp-client.ts";
import { createPackageFixture, type PackageFixture, repository } from "../support/package-fixture.ts";
import { plantFolder, showsPlantedVariable } from "../support/planted-folder.ts";

const programs = ["svc-mgr", "svc-gateway", "svc-coord", "svc"] as const;
const minutes = 60_000;
const target = targetOfThisMachine();

/** Where the package is made; the programs under test run on machines of their own. */
let workshop: PackageFixture;
let tarball: string;
/** The files of the package. */
let unpacked: string;

beforeAll(async () => {
  workshop = createPackageFixture(["node", "npm", "git"]);
  const made = await workshop.ok(
    repository,
    process.execPath,
    join(repository, "scripts/package.ts"),
    workshop.folder,
  );
  tarball = made.trim().split("\n").at(-1) ?? "";
  await Bun.spawn(["tar", "-xzf", tarball, "-C", workshop.folder]).exited;
  unpacked = join(workshop.folder, "package");
}, 5 * minutes);

afterAll(() => workshop[Symbol.asyncDispose]());

/** The package under a later version. */
async function nextVersion(): Promise<string> {
  const next = join(workshop.place("next"), "package");
  cpSync(unpacked, next, { recursive: true });
  const text = readFileSync(join(next, "package.json"), "utf8");
  const later = { ...(JSON.parse(text) as object), version: `${manifest.version}-later` };
  writeFileSync(join(next, "package.json"), JSON.stringify(later));
  const pack = ["npm", "pack", "--silent", "--ignore-scripts"];
  return join(next, (await workshop.ok(next, ...pack)).trim());
}

/** An installer that asks a registry fails: nothing listens there. */
const noRegistry = "http://127.0.0.1:9/";
const npmInstall = ["npm", "install", "--no-audit", "--no-fund", `--registry=${noRegistry}`];

const parsed = (stdout: string) => JSON.parse(stdout) as Record<string, unknown>;
/** The programs were built from this commit, and say so. */
const version = {
  version: manifest.version,
  commit: expect.stringMatching(/^[0-9a-f]{7,}(-dirty)?$/),
  bun: Bun.version,
};

describe("the package", () => {
  test("holds the executable, the accounts of its parts and the documents, and nothing else", () => {
    expect(tarball).toEndWith(`/svc-mgr-${manifest.version}-${target.name}.tgz`);
    const paths = readdirSync(unpacked, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1));
    const expected = [
      /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|THIRD-PARTY-NOTICES|sbom\.cdx\.json)$/,
      /^bin\/svc-gateway$/,
      /^docs\/[\w./-]+\.(md|json|svg|png)$/,
      /^examples\/[\w./@-]+$/,
    ];
    expect(paths.filter((path) => !expected.some((pattern) => pattern.test(path)))).toEqual([]);
    const required = ["LICENSE", "README.md", "CHANGELOG.md", "THIRD-PARTY-NOTICES", "sbom.cdx.json"];
    expect(paths).toEqual(expect.arrayContaining(["bin/svc-gateway", "docs/reference.md", ...required]));
    const packed = readFileSync(join(unpacked, "bin/svc-gateway"));
    expect(packed.equals(readFileSync(join(repository, "dist/svc-gateway")))).toBe(true);
  });

  test("names no other package, runs no script and is for one machine", () => {
    const { os, cpu, libc } = target.npm;
    expect(parsed(readFileSync(join(unpacked, "package.json"), "utf8"))).toEqual({
      name: "svc-mgr",
      version: manifest.version,
      license: "MIT",
      description: manifest.description,
      private: true,
      os: [os],
      cpu: [cpu],
      ...(libc === undefined ? {} : { libc: [libc] }),
      bin: Object.fromEntries(programs.map((name) => [name, "bin/svc-gateway"])),
    });
  });
});

test(
  "a folder with files for Bun changes nothing that its programs do there",
  async () => {
    await using machine = createPackageFixture([
      "node",
      "npm",
      "npx",
      "tmux",
      ["bun", process.execPath],
      ["bunx", process.execPath],
    ]);
    const place = machine.place("project");
    await machine.ok(place, ...npmInstall, tarball);
    const bin = join(place, "node_modules/.bin");
    for (const name of programs) symlinkSync(join(bin, name), join(machine.folder, "bin", name));
    const planted = plantFolder(machine.place("cloned"));
    const here = (...command: string[]) => machine.ok(planted.path, ...command);
    const outputs: string[] = [];
    const doctor = async (...command: string[]) => {
      const printed = await here(...command, "doctor", "--json");
      expect(printed).toContain('"checks"');
      outputs.push(printed);
      expect([command, planted.ran()]).toEqual([command, []]);
    };

    for (const name of programs) {
      outputs.push(await here(name, "--version", "--json"));
      expect([name, planted.ran()]).toEqual([name, []]);
    }
    await doctor("svc-mgr");
    await doctor("svc");
    await doctor("svc-gateway", "mgr");
    await doctor("npx", "--yes", "--offline", `--package=${tarball}`, "svc-mgr");
    await doctor("bunx", "--package", tarball, "svc-mgr");
    await doctor("bun", "run", "svc-mgr");

    // An agent in a terminal, one in turns (its bridge) and one over ACP, each in that folder.
    const kinds = [
      { name: "typed", words: ["--tool", "demo", "--mailbox"] },
      { name: "turns", words: ["--tool", "demo", "--headless"] },
      { name: "acp", words: ["--tool", "demo-acp"] },
    ];
    try {
      for (const { name, words } of kinds) {
        outputs.push(await here("svc-mgr", "agents", "launch", "--agent-name", name, ...words));
        const prompt = [
          "agents",
          "single",
          "--agent-name",
          name,
          "prompt",
          "--prompt",
          "say hello",
          "--wait",
        ];
        outputs.push(await here("svc-mgr", ...prompt));
        expect([name, planted.ran()]).toEqual([name, []]);
      }
      const serving = await here("svc", "console", "--json");
      outputs.push(serving);
      await fetch(new URL("svc/coord/shutdown", String(parsed(serving)["url"])), { method: "POST" });
      const { client, ask } = await connect(["svc-mgr", "mcp", "serve"], machine.env, planted.path);
      expect(await ask("agents")).toMatchObject({ agents: expect.arrayContaining([]) });
      await client.close();

      const spool = join(machine.folder, "spool.jsonl");
      writeFileSync(spool, "", { mode: 0o600 });
      const payload = JSON.stringify({
        hook_event_name: "UserPromptSubmit",
        session_id: "s",
        prompt: "hello",
      });
      await here("svc-gateway", "signal", "claude", spool, payload);
      expect(readFileSync(spool, "utf8")).toContain("prompt_sha256");

      expect(planted.ran()).toEqual([]);
      expect(outputs.filter(showsPlantedVariable)).toEqual([]);
      expect(existsSync(join(machine.env["HOME"] ?? "", ".local/state/svc/runtime"))).toBe(true);
      expect(readdirSync(planted.path).filter((name) => name.startsWith("planted-by"))).toEqual([]);

      // Variables of the caller are the caller's own: they reach its command, and nothing that the command
      // starts.
      machine.env["BUN_OPTIONS"] = `--preload ${join(planted.path, "planted.ts")}`;
      await here("svc-mgr", "agents", "launch", "--tool", "demo", "--agent-name", "later");
      delete machine.env["BUN_OPTIONS"];
      await here("svc-mgr", "agents", "single", "--agent-name", "later", "prompt", "--prompt", "x", "--wait");
      expect(planted.ran()).toEqual([expect.stringMatching(/ agents launch .*--agent-name later$/)]);
    } finally {
      for (const name of [...kinds.map((kind) => kind.name), "later"])
        await machine.run(planted.path, "svc-mgr", "agents", "single", "--agent-name", name, "stop");
    }
    expect(await machine.sessions()).toBe("");
  },
  8 * minutes,
);

describe("on a machine with Node and without Bun", () => {
  test(
    "npm installs it, and an agent is launched, prompted, upgraded and stopped with it",
    async () => {
      await using machine = createPackageFixture(["node", "npm", "npx", "tmux"]);
      const place = machine.place("project");
      await machine.ok(place, ...npmInstall, tarball);
      for (const name of programs) {
        expect(parsed(await machine.ok(place, "npx", name, "--version", "--json"))).toEqual(version);
      }
      const agent = ["agents", "single", "--agent-name", "first"];
      const mgr = async (...words: string[]) =>
        parsed(await machine.ok(place, join(place, "node_modules/.bin/svc-mgr"), ...words, "--json"));
      const profiles = join(place, "profiles.json");
      writeFileSync(profiles, JSON.stringify(await mgr("tools", "show", "--tool", "gemini")));
      expect(await mgr("tools", "check", profiles)).toMatchObject({ wrong: 0, sources: [{ source: "svc" }] });
      const launch = await mgr("agents", "launch", "--tool", "demo", "--agent-name", "first", "--mailbox");
      const port = Number(launch["gateway_port"]);
      expect(launch).toMatchObject({ tool: "demo", gateway_port: expect.any(Number) });
      try {
        const prompt = await mgr(...agent, "prompt", "--prompt", "say hello", "--wait");
        expect(prompt).toMatchObject({ success: true });
        expect(await mgr("agents", "list")).toMatchObject({
          agents: [expect.objectContaining({ agent_name: "first", availability: "available" })],
        });
        expect(await mgr("system-skills", "install", "--tool", "claude")).toBeObject();

        // A newer version takes the place of this one while the agent lives and its gateway runs.
        // In between no file of the package is there, and the gateway is asked for what it never loaded.
        const living = await machine.agentProcesses();
        const later = await nextVersion();
        rmSync(join(place, "node_modules/svc-mgr"), { recursive: true });
        expect(await askAllOf(port)).toEqual([]);
        await machine.ok(place, ...npmInstall, later);
        const installed = readFileSync(join(place, "node_modules/svc-mgr/package.json"), "utf8");
        expect(parsed(installed)).toMatchObject({ version: `${manifest.version}-later` });
        expect(await askAllOf(port)).toEqual([]);
        const between = await mgr(...agent, "prompt", "--prompt", "say it again", "--wait");
        expect(between).toMatchObject({ success: true });

        await mgr(...agent, "gateway", "detach");
        await mgr(...agent, "gateway", "attach");
        const again = await mgr(...agent, "prompt", "--prompt", "say it once more", "--wait");
        expect(again).toMatchObject({ success: true });
        expect(living).toHaveLength(1);
        expect(await machine.agentProcesses()).toEqual(living);
      } finally {
        expect(await mgr(...agent, "stop")).toMatchObject({ success: true, gateway: "stopped" });
      }
      expect(await machine.sessions()).toBe("");
    },
    6 * minutes,
  );

  test(
    "npx runs it where nothing was installed",
    async () => {
      await using machine = createPackageFixture(["node", "npm", "npx"]);
      const npx = ["npx", "--yes", `--registry=${noRegistry}`, `--package=${tarball}`];
      const stdout = await machine.ok(machine.place("empty"), ...npx, "svc-mgr", "--version", "--json");
      expect(parsed(stdout)).toEqual(version);
    },
    6 * minutes,
  );
});

test(
  "with Bun and without Node, bun installs it and bunx runs it",
  async () => {
    await using machine = createPackageFixture([
      ["bun", process.execPath],
      ["bunx", process.execPath],
    ]);
    machine.env["BUN_CONFIG_REGISTRY"] = noRegistry;
    const place = machine.place("project");
    await machine.ok(place, "bun", "add", tarball);
    for (const name of programs) {
      const stdout = await machine.ok(place, "bunx", name, "--version", "--json");
      expect(parsed(stdout)).toEqual(version);
    }
    const once = ["bunx", "--package", tarball, "svc-mgr", "--version"];
    expect(await machine.ok(machine.place("empty"), ...once)).toStartWith(`${manifest.version} (`);
  },
  6 * minutes,
);

test(
  "called by a name that is on no PATH, doctor names the folder of that name",
  async () => {
    await using machine = createPackageFixture(["tmux"]);
    const folder = machine.place("links");
    symlinkSync(join(unpacked, "bin/svc-gateway"), join(folder, "svc-mgr"));
    const printed = await machine.run(machine.place("work"), join(folder, "svc-mgr"), "doctor");
    expect(printed.stdout).toContain(`export PATH="${realpathSync(folder)}:$PATH"`);
  },
  2 * minutes,
);

/**
 * Asks a gateway for each of its routes, most of them for the first time, with what is not there and with
 * nothing. Returns the answers of 500 and more that are no refusal with a reason.
 */
async function askAllOf(port: number): Promise<string[]> {
  const failed: string[] = [];
  for (const { method, path } of Object.values(gatewayEndpoints)) {
    const url = `http://127.0.0.1:${port}${path.replace(/:\w+|\{\w+\}/g, "none-such")}`;
    const body = method === "GET" ? {} : { body: "{}", headers: { "content-type": "application/json" } };
    const answer = await fetch(url, { method, ...body, signal: AbortSignal.timeout(20_000) });
    const text = await answer.text();
    if (answer.status === 500) failed.push(`${method} ${path}: ${text}`);
  }
  return failed;
}
