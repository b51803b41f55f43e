/**
 * Makes sure that programs which tests run against are there, once for a machine. Throws, with what to type,
 * when it cannot install them itself, which it can as root on Debian or Ubuntu.
 */
export async function installPackages(wanted: {
  /** What needs them, for the message. */
  purpose: string;
  packages: readonly string[];
  isThere: () => boolean;
  /** Right before an installation. */
  prepare?: () => void;
}): Promise<void> {
  const { purpose, packages, isThere } = wanted;
  if (isThere()) return;
  const command = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  if (process.getuid?.() !== 0 || !Bun.which("apt-get")) throw new Error(`${purpose} (Debian: ${command})`);
  wanted.prepare?.();
  const wait = ["-o", "DPkg::Lock::Timeout=240"];
  await apt([...wait, "update"]);
  const said = await apt([...wait, "install", "-y", "--no-install-recommends", ...packages]);
  if (!isThere()) throw new Error(`${purpose}, and ${command} could not change that:\n${said.slice(-2000)}`);
}

async function apt(words: string[]): Promise<string> {
  // Another test file may be at it.
  const child = Bun.spawn(["flock", "/run/lock/svc-tests-apt", "apt-get", ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return out + err;
}
