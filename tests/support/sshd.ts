import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CliFixture } from "./cli-fixture.ts";
import { installPackages } from "./debian-packages.ts";
import { runForeign } from "./foreign-packages.ts";
import { sparePorts } from "./spare-ports.ts";
import { until } from "./until.ts";

/** A real OpenSSH server on a loopback port, with keys of its own, that takes one key. */
export interface Sshd extends AsyncDisposable {
  /** For `svc-coord serve --ssh`. */
  destination: string;
  /** The same by another port of the same address. */
  destinationBy(port: number): string;
  port: number;
  /** For `--ssh-config`: the key, the known host key, the port. */
  configFile: string;
  /** Ends the connections that are open; the server stays. */
  cut(): Promise<void>;
  /**
   * Stops the processes of open connections where they are, or lets them go on: a way that carries nothing.
   */
  freeze(isFrozen: boolean): void;
  /** Ends the server and its connections. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Where Debian has it; `sbin` is not on everyone's PATH. */
const executable = "/usr/sbin/sshd";

/** `forced`: the only command that the key may run, whatever the caller asks for. */
export async function startSshd(
  folder: string,
  options: { forced?: string; listen?: string; command?: string[] } = {},
): Promise<Sshd> {
  await installPackages({
    purpose: "tests of hosts over ssh need OpenSSH",
    packages: ["openssh-server", "openssh-client"],
    isThere: () => existsSync(executable) && Bun.which("ssh") !== null,
  });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Debian's service makes it; without the service nobody has.
  if (process.getuid?.() === 0) mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
  const [hostKey, userKey] = [join(folder, "host_key"), join(folder, "user_key")];
  for (const path of [hostKey, userKey]) {
    await runForeign(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path]);
  }
  const user = (await runForeign(["id", "-un"])).trim();
  const address = options.listen ?? "127.0.0.1";
  const port = options.listen === undefined ? ((await sparePorts(1))[0] ?? 0) : 2222;
  const restricted = options.forced === undefined ? "" : `restrict,command="${options.forced}" `;
  const authorized = join(folder, "authorized_keys");
  writeFileSync(authorized, `${restricted}${readFileSync(`${userKey}.pub`, "utf8")}`, { mode: 0o600 });
  const known = join(folder, "known_hosts");
  // By whatever port a test leads to it.
  writeFileSync(known, `[${address}]:* ${readFileSync(`${hostKey}.pub`, "utf8")}`);
  const config = join(folder, "sshd_config");
  const lines = [
    `ListenAddress ${address}:${port}`,
    `HostKey ${hostKey}`,
    `AuthorizedKeysFile ${authorized}`,
    "PidFile none",
    "UsePAM no",
    "StrictModes no",
    "PasswordAuthentication no",
    "PrintMotd no",
    "KbdInteractiveAuthentication no",
    "PermitRootLogin prohibit-password",
    "UseDNS no",
  ];
  writeFileSync(config, `${lines.join("\n")}\n`);
  const configFile = join(folder, "ssh_config");
  const own = [
    "Host *",
    `IdentityFile ${userKey}`,
    "IdentitiesOnly yes",
    `UserKnownHostsFile ${known}`,
    "GlobalKnownHostsFile none",
  ];
  writeFileSync(configFile, `${own.join("\n")}\n`);

  const log = join(folder, "sshd.log");
  const launch = async () => {
    const child = Bun.spawn([...(options.command ?? []), executable, "-D", "-E", log, "-f", config], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    await until("sshd to listen", () => {
      if (child.exitCode !== null) throw new Error(`sshd ended: ${readFileSync(log, "utf8")}`);
      return existsSync(log) && readFileSync(log, "utf8").includes(`port ${port}.`);
    });
    return child;
  };
  let child = await launch();
  const connections = () => {
    const { stdout } = Bun.spawnSync(["pgrep", "-P", String(child.pid)]);
    return stdout.toString().split("\n").filter(Boolean).map(Number);
  };
  const signal = (name: NodeJS.Signals) => {
    for (const pid of connections()) {
      try {
        process.kill(pid, name);
      } catch {
        // It has just ended with its connection.
      }
    }
  };
  const stop = async () => {
    signal("SIGKILL");
    child.kill("SIGKILL");
    await child.exited;
  };
  return {
    destination: `ssh://${user}@${address}:${port}`,
    destinationBy: (other) => `ssh://${user}@${address}:${other}`,
    port,
    configFile,
    async cut() {
      signal("SIGKILL");
      await until("the connections to have ended", () => connections().length === 0);
    },
    freeze: (isFrozen) => signal(isFrozen ? "SIGSTOP" : "SIGCONT"),
    stop,
    async start() {
      writeFileSync(log, "");
      child = await launch();
    },
    [Symbol.asyncDispose]: stop,
  };
}

/**
 * A program of a fixture as a command that a login shell on another host finds: with the fixture's
 * environment alone.
 */
export function writeHostProgram(fixture: CliFixture, around: readonly string[] = []): string {
  const path = join(fixture.folder, "svc-coord-there");
  const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;
  const env = Object.entries(fixture.env).map(([name, value]) => quote(`${name}=${value}`));
  const words = [...around, ...fixture.command("svc-coord")].map(quote);
  const lines = [
    "#!/bin/sh",
    `cd ${quote(fixture.workdir)} || exit 1`,
    `exec env -i ${env.join(" ")} ${words.join(" ")} "$@"`,
  ];
  writeFileSync(path, `${lines.join("\n")}\n`, { mode: 0o755 });
  return path;
}
