import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { installPackages } from "./debian-packages.ts";

/** `SVC_LAB_CACHE` when set, else `.cache/live` in the repository, beside the other foreign programs. */
const cacheRoot = resolve(process.env["SVC_LAB_CACHE"] ?? join(import.meta.dir, "../../.cache/live"));

const isPythonThere = () =>
  Bun.which("python3") !== null && Bun.spawnSync(["python3", "-c", "import ensurepip, venv"]).success;

/**
 * The folder of the executables of a PyPI package, installed once for a machine into an environment of its
 * own. Installs python3 as root on Debian or Ubuntu; elsewhere throws with what to type.
 */
export async function installPythonPackage(wanted: {
  /** What needs it, for the message. */
  purpose: string;
  name: string;
  /** Exactly this one. */
  version: string;
}): Promise<string> {
  const { purpose, name, version } = wanted;
  const folder = await installOnce(`${name}-${version}`, async (folder) => {
    await installPackages({
      purpose: `${purpose} needs python3 with venv`,
      packages: ["python3", "python3-venv"],
      isThere: isPythonThere,
    });
    // Scripts of an environment name their folder, so it is made under its own name.
    await runForeign(["python3", "-m", "venv", folder]);
    const pip = [join(folder, "bin", "python"), "-m", "pip", "install", "--quiet"];
    await runForeign([...pip, `${name}==${version}`]);
  });
  return join(folder, "bin");
}

/**
 * A folder whose node_modules has exactly these npm packages, installed once for a machine. They need a
 * folder of their own where they want another version of a package than we use.
 */
export async function installNodePackages(
  name: string,
  packages: Readonly<Record<string, string>>,
): Promise<string> {
  const exact = Object.entries(packages).map(([one, version]) => `${one}@${version}`);
  return installOnce(`${name}-${Object.values(packages).join("-")}`, async (folder) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await runForeign([process.execPath, "add", "--exact", "--ignore-scripts", ...exact], { cwd: folder });
  });
}

/** Runs a command to its end. Returns what it wrote; throws with it when the command fails. */
export async function runForeign(
  command: readonly string[],
  options: { cwd?: string; env?: Record<string, string | undefined> } = {},
): Promise<string> {
  const child = Bun.spawn([...command], { ...options, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`${command.join(" ")} failed:\n${`${out}\n${err}`.slice(-4000)}`);
  return out;
}

/** A folder of the cache that `make` filled to the end, now or before. */
export async function installOnce(name: string, make: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(cacheRoot, name);
  const whole = join(folder, ".whole");
  if (existsSync(whole)) return folder;
  mkdirSync(cacheRoot, { recursive: true });
  rmSync(folder, { recursive: true, force: true });
  await make(folder);
  writeFileSync(whole, "");
  return folder;
}
