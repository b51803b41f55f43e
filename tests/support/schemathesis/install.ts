import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { installPackages } from "../debian-packages.ts";

/** Exactly this one: another may have more checks or other random values for a seed. */
const version = "4.32.5";

/** `SVC_LAB_CACHE` when set, else `.cache/live` in the repository, beside the other foreign programs. */
const cacheRoot = resolve(process.env["SVC_LAB_CACHE"] ?? join(import.meta.dir, "../../../.cache/live"));

const isPythonThere = () =>
  Bun.which("python3") !== null && Bun.spawnSync(["python3", "-c", "import ensurepip, venv"]).success;

/**
 * The executable of schemathesis, installed once for a machine into an environment of its own. Installs python3 as root on
 * Debian or Ubuntu; elsewhere throws with what to type.
 */
export async function installSchemathesis(): Promise<string> {
  const folder = join(cacheRoot, `schemathesis-${version}`);
  const executable = join(folder, "bin", "st");
  if (existsSync(executable)) return executable;
  await installPackages({
    purpose: "the schema-driven fuzzer needs python3 with venv",
    packages: ["python3", "python3-venv"],
    isThere: isPythonThere,
  });
  mkdirSync(cacheRoot, { recursive: true });
  // Scripts of an environment name their folder, so it is made under its own name and marked when it is whole.
  const whole = join(folder, "bin", "st.new");
  rmSync(folder, { recursive: true, force: true });
  await step(["python3", "-m", "venv", folder]);
  await step([join(folder, "bin", "python"), "-m", "pip", "install", "--quiet", `schemathesis==${version}`]);
  renameSync(executable, whole);
  renameSync(whole, executable);
  return executable;
}

async function step(command: readonly string[]): Promise<void> {
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0)
    throw new Error(`${command.join(" ")} failed:\n${`${out}\n${err}`.slice(-2000)}`);
}
