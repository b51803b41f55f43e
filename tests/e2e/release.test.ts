import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { releaseTargets } from "../../scripts/release-targets.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { readExecutableFormat, readMachSignature } from "../support/executable-format.ts";

const processes = createProcesses({ steps: quietSteps });
const folder = mkdtempSync(join(tmpdir(), "svc-release-"));
const minutes = 60_000;
const root = (target: string) => `svc-${manifest.version}-${target}`;
const archives = releaseTargets.map(({ name }) => `${root(name)}.tar.gz`);

async function ok(...command: string[]): Promise<string> {
  const run = await processes.run(command, { cwd: folder, timeoutMs: 8 * minutes });
  if (run.exitCode !== 0) throw new Error(`${command.join(" ")}\n${run.stdout}${run.stderr}`);
  return run.stdout;
}

beforeAll(async () => {
  await ok(process.execPath, join(import.meta.dir, "../../scripts/release.ts"), folder);
  for (const archive of archives) await ok("tar", "-xzf", archive);
}, 10 * minutes);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a release is an archive for each machine, the package and the checksums", async () => {
  const unpacked = releaseTargets.map(({ name }) => root(name));
  expect(readdirSync(folder).sort()).toEqual(
    ["SHA256SUMS", ...archives, ...unpacked, `svc-mgr-${manifest.version}.tgz`].sort(),
  );
  for (const [index, archive] of archives.entries()) {
    const inside = root(releaseTargets[index]?.name ?? "");
    const listed = (await ok("tar", "-tzf", archive)).trim().split("\n");
    expect(listed.sort()).toEqual(
      ["", "LICENSE", "THIRD-PARTY-NOTICES", "svc", "svc-coord", "svc-gateway", "svc-mgr"].map(
        (name) => `${inside}/${name}`,
      ),
    );
  }
});

test(
  "the checksums are those of the files, and a changed file is found",
  async () => {
    const check = () =>
      processes.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], { cwd: folder, timeoutMs: minutes });
    const checked = await check();
    expect([checked.exitCode, checked.stderr]).toEqual([0, ""]);
    expect(checked.stdout.trim().split("\n")).toHaveLength(archives.length + 1);
    const tarball = `svc-mgr-${manifest.version}.tgz`;
    appendFileSync(join(folder, tarball), "\n");
    const again = await check();
    expect([again.exitCode, again.stdout]).toEqual([1, expect.stringContaining(`${tarball}: FAILED`)]);
  },
  5 * minutes,
);

describe("the executable", () => {
  const read = (target: string) => new Uint8Array(readFileSync(join(folder, root(target), "svc-gateway")));

  test.each([
    { target: "linux-x64", kind: "ELF", machine: "x64" },
    { target: "linux-arm64", kind: "ELF", machine: "arm64" },
    { target: "macos-arm64", kind: "Mach-O", machine: "arm64" },
  ] as const)("for $target is one of that machine", ({ target, kind, machine }) => {
    expect(readExecutableFormat(read(target))).toEqual({ kind, bits: 64, machine });
  });

  test("for macOS is signed ad hoc, and every page is as it was signed", () => {
    const file = read("macos-arm64");
    const signature = readMachSignature(file);
    expect(signature).toEqual({ adHoc: true, pages: expect.any(Number), differing: 0 });
    expect(signature.pages).toBeGreaterThan(1000);
    const changed = file.slice();
    changed[1 << 20] = (changed[1 << 20] ?? 0) ^ 1;
    expect(readMachSignature(changed).differing).toBe(1);
  });

  test("for this machine says its version, under each of its names", async () => {
    const name = `${process.platform === "darwin" ? "macos" : process.platform}-${process.arch}`;
    for (const program of ["svc-gateway", "svc-mgr", "svc-coord", "svc"]) {
      const said = await ok(join(folder, root(name), program), "--version", "--json");
      expect(JSON.parse(said)).toEqual({
        version: manifest.version,
        commit: expect.stringMatching(/^[0-9a-f]{7,}(-dirty)?$/),
        bun: Bun.version,
      });
    }
    expect(await ok(join(folder, root(name), "svc-coord"), "--help")).toContain("svc-coord serve");
  });
});
