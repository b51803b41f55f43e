import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { createPackageFixture, type PackageFixture, repository } from "../support/package-fixture.ts";

const programs = ["svc-mgr", "svc-gateway", "svc-coord", "svc"] as const;
const minutes = 60_000;

/** Where the package is made; the programs under test run on machines of their own. */
let workshop: PackageFixture;
let tarball: string;

beforeAll(async () => {
  workshop = createPackageFixture(["node", "npm", "npx", "git"]);
  const name = await workshop.ok(
    repository,
    "npm",
    "pack",
    "--silent",
    "--pack-destination",
    workshop.folder,
  );
  tarball = join(workshop.folder, name.trim());
}, 5 * minutes);

afterAll(() => workshop[Symbol.asyncDispose]());

/** The same package under a later version. */
async function nextVersion(): Promise<string> {
  const place = workshop.place("next");
  await new Response(Bun.spawn(["tar", "-xzf", tarball, "-C", place]).stdout).text();
  const unpacked = join(place, "package");
  const later = { ...manifest, version: `${manifest.version}-later` };
  writeFileSync(join(unpacked, "package.json"), JSON.stringify(later));
  const pack = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", place];
  return join(place, (await workshop.ok(unpacked, ...pack)).trim());
}

const told = (stdout: string) => JSON.parse(stdout) as Record<string, unknown>;
/** The programs were built from this commit, and say so. */
const version = { version: manifest.version, commit: expect.stringMatching(/^[0-9a-f]{7,}(-dirty)?$/) };

describe("the package", () => {
  test("holds the programs and the documents, and nothing else", async () => {
    const listed = await new Response(Bun.spawn(["tar", "-tzf", tarball]).stdout).text();
    const paths = listed.trim().split("\n");
    const expected = [
      /^package\/(package\.json|README\.md|CHANGELOG\.md|LICENSE)$/,
      /^package\/dist\/npm\/(svc(-(mgr|gateway|coord))?(\.js)?|[\w-]+\.js|console\.assets|THIRD-PARTY-NOTICES)$/,
      /^package\/docs\/[\w./-]+\.(md|json|svg|png)$/,
      /^package\/examples\/[\w./@-]+$/,
    ];
    expect(paths.filter((path) => !expected.some((pattern) => pattern.test(path)))).toEqual([]);
    expect(paths).toEqual(
      expect.arrayContaining([
        ...programs.flatMap((name) => [`package/dist/npm/${name}`, `package/dist/npm/${name}.js`]),
        ...["LICENSE", "README.md", "CHANGELOG.md", "docs/reference.md"].map((name) => `package/${name}`),
        "package/dist/npm/THIRD-PARTY-NOTICES",
        "package/dist/npm/console.assets",
      ]),
    );
  });

  test("asks for no collection, which a start would wait for", async () => {
    const all = ["tar", "-xzOf", tarball, "--wildcards", "package/dist/npm/*.js"];
    const text = await new Response(Bun.spawn(all).stdout).text();
    expect(text.length).toBeGreaterThan(500_000);
    expect(text).not.toContain("Bun.gc(");
  });

  test("needs no other package but the Bun of its machine", () => {
    expect(manifest).not.toHaveProperty("dependencies");
    expect(manifest.optionalDependencies).toEqual({
      "@oven/bun-darwin-aarch64": Bun.version,
      "@oven/bun-linux-aarch64": Bun.version,
      "@oven/bun-linux-x64": Bun.version,
    });
  });
});

describe("on a machine with Node and without Bun", () => {
  test(
    "npm installs it, and an agent is launched, prompted, upgraded and stopped with it",
    async () => {
      await using machine = createPackageFixture(["node", "npm", "npx", "tmux"]);
      const place = machine.place("project");
      await machine.ok(place, "npm", "install", "--no-audit", "--no-fund", tarball);
      for (const name of programs) {
        expect(told(await machine.ok(place, "npx", name, "--version", "--json"))).toEqual({
          ...version,
          bun: Bun.version,
        });
      }
      const agent = ["agents", "single", "--agent-name", "first"];
      const mgr = async (...words: string[]) =>
        told(await machine.ok(place, join(place, "node_modules/.bin/svc-mgr"), ...words, "--json"));
      const profiles = join(place, "profiles.json");
      writeFileSync(profiles, JSON.stringify(await mgr("tools", "show", "--tool", "gemini")));
      expect(await mgr("tools", "check", profiles)).toMatchObject({ wrong: 0, sources: [{ source: "svc" }] });
      const launch = await mgr("agents", "launch", "--tool", "demo", "--agent-name", "first", "--mailbox");
      expect(launch).toMatchObject({ tool: "demo", gateway_port: expect.any(Number) });
      try {
        const prompt = await mgr(...agent, "prompt", "--prompt", "say hello", "--wait");
        expect(prompt).toMatchObject({ success: true });
        expect(await mgr("agents", "list")).toMatchObject({
          agents: [expect.objectContaining({ agent_name: "first", availability: "available" })],
        });
        expect(await mgr("system-skills", "install", "--tool", "claude")).toBeObject();

        // A newer version takes the place of this one while the agent lives.
        const living = await machine.agentProcesses();
        await machine.ok(place, "npm", "install", "--no-audit", "--no-fund", await nextVersion());
        await mgr(...agent, "gateway", "detach");
        await mgr(...agent, "gateway", "attach");
        const again = await mgr(...agent, "prompt", "--prompt", "say it again", "--wait");
        expect(again).toMatchObject({ success: true });
        expect(living).toHaveLength(1);
        expect(await machine.agentProcesses()).toEqual(living);
        const installed = readFileSync(join(place, "node_modules/svc-mgr/package.json"), "utf8");
        expect(told(installed)).toMatchObject({ version: `${manifest.version}-later` });
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
      const place = machine.place("empty");
      const npx = ["npx", "--yes", `--package=${tarball}`];
      const stdout = await machine.ok(place, ...npx, "svc-mgr", "--version", "--json");
      expect(told(stdout)).toEqual({ ...version, bun: Bun.version });
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
    const place = machine.place("project");
    await machine.ok(place, "bun", "add", tarball);
    for (const name of programs) {
      const stdout = await machine.ok(place, "bunx", name, "--version", "--json");
      expect(told(stdout)).toEqual({ ...version, bun: Bun.version });
    }
    const once = await machine.ok(
      machine.place("empty"),
      "bunx",
      "--package",
      tarball,
      "svc-mgr",
      "--version",
    );
    expect(once).toStartWith(`${manifest.version} (`);
  },
  6 * minutes,
);

describe("where the Bun of the package was left out", () => {
  /** A machine with a `bun` on PATH that is of this version and repeats what it is given. */
  async function unpacked(bunVersion: string | null) {
    const stub = join(workshop.folder, `bun-${bunVersion}`);
    writeFileSync(stub, `#!/bin/sh\n[ "$1" = --version ] && echo ${bunVersion} || echo "$@"\n`);
    chmodSync(stub, 0o755);
    const machine = createPackageFixture(bunVersion === null ? [] : [["bun", stub]]);
    const unpack = Bun.spawn(["tar", "-xzf", tarball, "-C", machine.folder]);
    if ((await unpack.exited) !== 0) throw new Error("tar could not unpack the package");
    const program = join(machine.folder, "package/dist/npm/svc-mgr");
    return Object.assign(machine, { start: () => machine.run(machine.folder, program, "doctor", "a b") });
  }

  test.each(["1.4.5", "1.4.10", "1.10.0", "2.0.0"])("Bun %s from PATH runs the program", async (bun) => {
    await using machine = await unpacked(bun);
    const file = join(machine.folder, "package/dist/npm/svc-mgr.js");
    expect(await machine.start()).toEqual({ exitCode: 0, stdout: `${file} doctor a b\n`, stderr: "" });
  });

  test.each([
    { bun: "1.4.4", found: "found Bun 1.4.4" },
    { bun: "0.9.9", found: "found Bun 0.9.9" },
    { bun: null, found: "found no Bun" },
  ])("with $found it says what is needed and how to get it", async ({ bun, found }) => {
    await using machine = await unpacked(bun);
    const { exitCode, stdout, stderr } = await machine.start();
    expect([exitCode, stdout]).toEqual([127, ""]);
    expect(stderr).toStartWith(`svc-mgr: needs Bun ${Bun.version} or newer, ${found}.\n`);
    expect(stderr).toContain(`npm install --global bun@${Bun.version}`);
  });
});
