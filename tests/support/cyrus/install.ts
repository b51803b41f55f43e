import { existsSync, writeFileSync } from "node:fs";

const packages = ["cyrus-imapd", "cyrus-caldav", "cyrus-admin", "sasl2-bin"];
const needed = ["/usr/lib/cyrus/bin/httpd", "/usr/lib/cyrus/bin/lmtpd", "/usr/sbin/saslpasswd2"];
const policy = "/usr/sbin/policy-rc.d";

/** Installs the mail server that tests run against, once for a machine. Throws, with what to type, when it cannot. */
export async function installCyrus(): Promise<void> {
  if (isThere()) return;
  const command = `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
  if (process.getuid?.() !== 0 || !Bun.which("apt-get")) {
    throw new Error(`the tests of JMAP need Cyrus IMAP with httpd (Debian: ${command})`);
  }
  // Without this the packages start servers of their own on all interfaces.
  if (!existsSync(policy)) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  const wait = ["-o", "DPkg::Lock::Timeout=240"];
  await apt([...wait, "update"]);
  const said = await apt([...wait, "install", "-y", "--no-install-recommends", ...packages]);
  if (!isThere()) throw new Error(`Cyrus IMAP could not be installed with ${command}:\n${said.slice(-2000)}`);
}

const isThere = () => needed.every((path) => existsSync(path));

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
