import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import manifest from "../../package.json" with { type: "json" };
import { separator } from "../../scripts/notices.ts";
import { releaseTargets } from "../../scripts/release-targets.ts";
import { signFile } from "../../scripts/sign-release.ts";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { awaitOutcome } from "../support/await-outcome.ts";

/** What an executable file says of itself in its first bytes. */
interface ExecutableFormat {
  kind: "ELF" | "Mach-O";
  bits: 64;
  machine: "x64" | "arm64";
}

const elfMachines: Record<number, ExecutableFormat["machine"]> = { 62: "x64", 183: "arm64" };
const machMachines: Record<number, ExecutableFormat["machine"]> = {
  [0x0100_0007]: "x64",
  [0x0100_000c]: "arm64",
};
const machMagic = 0xfeed_facf;

/** Reads the header of an executable of 64 bits. Throws for anything else. */
function readExecutableFormat(file: Uint8Array): ExecutableFormat {
  const view = viewOf(file);
  if (view.getUint32(0) === 0x7f45_4c46 && view.getUint8(4) === 2) {
    return { kind: "ELF", bits: 64, machine: known(elfMachines[view.getUint16(18, true)]) };
  }
  if (view.getUint32(0, true) === machMagic) {
    return { kind: "Mach-O", bits: 64, machine: known(machMachines[view.getUint32(4, true)]) };
  }
  throw new Error("not an executable of 64 bits");
}

/**
 * The code signature of a Mach-O file: signed ad hoc, that is by no one, and the pages that differ from what
 * was signed. macOS on arm64 starts nothing that has no signature or one that differs. Throws when there is
 * none.
 */
function readMachSignature(file: Uint8Array): { adHoc: boolean; pages: number; differing: number } {
  const view = viewOf(file);
  const directory = codeDirectory(view);
  const field = (index: number) => view.getUint32(directory + index * 4);
  const [hashes, pages, limit] = [directory + field(4), field(7), field(8)];
  const [hashSize, hashType, pageBits] = [36, 37, 39].map((at) => view.getUint8(directory + at)) as [
    number,
    number,
    number,
  ];
  if (hashType !== 2) throw new Error(`signed with a hash of type ${hashType}, not SHA-256`);
  let differing = 0;
  for (let page = 0; page < pages; page++) {
    const content = file.subarray(page << pageBits, Math.min((page + 1) << pageBits, limit));
    const signed = file.subarray(hashes + page * hashSize, hashes + (page + 1) * hashSize);
    if (!createHash("sha256").update(content).digest().equals(signed)) differing++;
  }
  return { adHoc: (field(3) & 2) !== 0, pages, differing };
}

/**
 * Where the code directory begins: a load command names the signature, whose first parts say what each one
 * is.
 */
function codeDirectory(view: DataView): number {
  const commands = view.getUint32(16, true);
  for (let index = 0, at = 32; index < commands; index++, at += view.getUint32(at + 4, true)) {
    if (view.getUint32(at, true) !== 0x1d) continue;
    const signature = view.getUint32(at + 8, true);
    for (let blob = 0; blob < view.getUint32(signature + 8); blob++) {
      const start = signature + view.getUint32(signature + 12 + blob * 8 + 4);
      if (view.getUint32(start) === 0xfade_0c02) return start;
    }
  }
  throw new Error("the file is not signed");
}

function known(machine: ExecutableFormat["machine"] | undefined): ExecutableFormat["machine"] {
  if (machine === undefined) throw new Error("for a machine that we do not build for");
  return machine;
}

function viewOf(file: Uint8Array): DataView {
  return new DataView(file.buffer, file.byteOffset, file.byteLength);
}

const processes = createProcesses({ steps: quietSteps });
const folder = mkdtempSync(join(tmpdir(), "svc-release-"));
const minutes = 60_000;
const root = (target: string) => `svc-${manifest.version}-${target}`;
const archives = releaseTargets.map(({ name }) => `${root(name)}.tar.gz`);
const packages = releaseTargets.map(({ name }) => `svc-mgr-${manifest.version}-${name}.tgz`);
const programs = ["svc", "svc-coord", "svc-gateway", "svc-mgr"];
const repository = join(import.meta.dir, "../..");
const made = join(folder, "made");

async function ok(...command: string[]): Promise<string> {
  const run = await processes.run(command, { cwd: folder, timeoutMs: 8 * minutes });
  if (run.exitCode !== 0) throw new Error(`${command.join(" ")}\n${run.stdout}${run.stderr}`);
  return run.stdout;
}

const signers = join(folder, "release-signers");
const key = join(folder, "key");
const sums = `svc-${manifest.version}.sha256`;
/** As the operations guide verifies a release. */
const verify = async (trusted: string, signed: string) => {
  const line = `ssh-keygen -Y verify -f "$1" -I release -n svc-release -s ${sums}.sig < "$2"`;
  return processes.run(["sh", "-c", line, "sh", trusted, signed], { cwd: made, timeoutMs: minutes });
};
const release = (...words: string[]) =>
  processes.run([process.execPath, join(repository, "scripts/release.ts"), ...words], {
    cwd: folder,
    timeoutMs: 9 * minutes,
  });

/** A key and the file that names it as the one of releases. */
async function makeKey(path: string, trusted: string): Promise<void> {
  await ok("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path);
  const [type, text] = readFileSync(`${path}.pub`, "utf8").split(" ");
  writeFileSync(trusted, `release namespaces="svc-release" ${type} ${text}\n`);
}

beforeAll(async () => {
  await makeKey(key, signers);
  const run = await release("--key", key, "--signers", signers, made);
  expect([run.exitCode, run.stderr]).toEqual([0, ""]);
  for (const archive of archives) await ok("tar", "-xzf", join(made, archive));
}, 10 * minutes);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Reading a hundred megabytes takes its time beside other work.
setDefaultTimeout(2 * minutes);

test("a release is an archive and a package for each machine, the checksums and their signature", async () => {
  expect(readdirSync(made).sort()).toEqual([sums, `${sums}.sig`, ...archives, ...packages].sort());
  for (const [index, archive] of archives.entries()) {
    const inside = root(releaseTargets[index]?.name ?? "");
    const listed = (await ok("tar", "-tzf", join(made, archive))).trim().split("\n");
    const names = ["", "LICENSE", "THIRD-PARTY-NOTICES", "sbom.cdx.json", ...programs];
    expect(listed.sort()).toEqual(names.map((name) => `${inside}/${name}`));
  }
});

test.each(releaseTargets)(
  "the package for $name has the executable of its archive",
  async ({ name, npm }) => {
    const place = join(folder, `package-${name}`);
    mkdirSync(place);
    await ok("tar", "-xzf", join(made, `svc-mgr-${manifest.version}-${name}.tgz`), "-C", place);
    const packed = readFileSync(join(place, "package/bin/svc-gateway"));
    expect(packed.equals(readFileSync(join(folder, root(name), "svc-gateway")))).toBe(true);
    const described = JSON.parse(readFileSync(join(place, "package/package.json"), "utf8")) as object;
    expect(described).toMatchObject({ os: [npm.os], cpu: [npm.cpu], private: true });
    rmSync(place, { recursive: true });
  },
);

test("the notices have what is in the executable, and the SBOM has the same, valid", async () => {
  const at = join(folder, root("linux-x64"));
  const text = readFileSync(join(at, "sbom.cdx.json"), "utf8");
  expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot6).validate(text)).toBeNull();
  const { components } = JSON.parse(text) as {
    components: { name: string; version?: string; licenses: { expression: string }[] }[];
  };
  const notices = readFileSync(join(at, "THIRD-PARTY-NOTICES"), "utf8");
  const titles = notices.split(separator).map((part) => part.split("\n")[0] ?? "");
  expect(
    components
      .map(({ name, version, licenses: [license] }) =>
        version === undefined
          ? `${name}: ${license?.expression}`
          : `${name} ${version}: ${license?.expression}`,
      )
      .sort(),
  ).toEqual(titles.sort());
  const names = components.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(["elysia", "preact", "drizzle-orm", "bun", "BoringSSL", "libarchive", "TinyCC"]),
  );
  for (const { name } of releaseTargets)
    expect(readFileSync(join(folder, root(name), "sbom.cdx.json"), "utf8")).toBe(text);
});

test("the signature verifies; a changed file, another key and another signer are refused", async () => {
  const good = await verify(signers, join(made, sums));
  expect([good.exitCode, good.stdout]).toEqual([0, expect.stringContaining("Good ")]);

  const changed = join(folder, "changed.sha256");
  writeFileSync(changed, readFileSync(join(made, sums), "utf8").replace(/[0-9a-f]/, "x"));
  expect((await verify(signers, changed)).exitCode).not.toBe(0);

  const others = join(folder, "other-signers");
  await makeKey(join(folder, "other"), others);
  expect((await verify(others, join(made, sums))).exitCode).not.toBe(0);
  // The file of the repository names one key, in the form that verifies, and it is none of these.
  const own = join(repository, "scripts/release-signers");
  expect(readFileSync(own, "utf8")).toMatch(/^release namespaces="svc-release" ssh-ed25519 \S+$/m);
  expect((await verify(own, join(made, sums))).exitCode).not.toBe(0);
});

test(
  "a key that the signers do not have makes no release",
  async () => {
    const signed = join(folder, "signed.txt");
    writeFileSync(signed, "x");
    expect(await awaitOutcome(signFile(signed, { key: join(folder, "other"), signers }))).toThrow("verify");
    await signFile(signed, { key, signers });
    expect(readFileSync(`${signed}.sig`, "utf8")).toStartWith("-----BEGIN SSH SIGNATURE-----");
  },
  minutes,
);

test(
  "the checksums are those of the files, and a changed file is found",
  async () => {
    const check = () =>
      processes.run(["sha256sum", "--check", "--strict", sums], { cwd: made, timeoutMs: minutes });
    const checked = await check();
    expect([checked.exitCode, checked.stderr]).toEqual([0, ""]);
    expect(checked.stdout.trim().split("\n")).toHaveLength(archives.length + packages.length);
    const [tarball = ""] = packages;
    appendFileSync(join(made, tarball), "\n");
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
    for (const program of programs) {
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
