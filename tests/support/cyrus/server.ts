import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { sparePorts } from "../spare-ports.ts";
import { until } from "../until.ts";
import { type CyrusPlace, cyrusConf, domain, folders, imapdConf } from "./config.ts";
import { installCyrus } from "./install.ts";
import { type Relay, startRelay } from "./relay.ts";

/** A real mail server with JMAP, IMAP and LMTP on loopback, and a relay that takes what it sends. */
export interface Cyrus extends AsyncDisposable {
  /** The address to give to a JMAP client. */
  readonly url: string;
  readonly relay: Relay;
  /** Makes `<name>@svc.localhost` with its boxes, ready for JMAP. */
  addAccount(name: string): Promise<CyrusAccount>;
  /** Ends all processes of the server in good order; its mail stays. */
  stop(): Promise<void>;
  /** The same server on the same ports. */
  start(): Promise<void>;
}

export interface CyrusAccount {
  address: string;
  password: string;
}

/** Starts one; installs it first on a machine that has none. */
export async function startCyrus(): Promise<Cyrus> {
  await installCyrus();
  const isRoot = process.getuid?.() === 0;
  // Its processes refuse to run as root, and then have to reach the folder as another user.
  const folder = realpathSync(
    mkdtempSync(join(isRoot ? "/tmp" : (process.env["TMPDIR"] ?? "/tmp"), "svc-cyrus-")),
  );
  const [http, imap, lmtp, smtp] = (await sparePorts(4)) as [number, number, number, number];
  const place: CyrusPlace = {
    folder,
    ports: { http, imap, lmtp, smtp },
    ...(isRoot ? { user: "cyrus", group: "mail" } : { user: userInfo().username, group: groupName() }),
  };
  for (const name of folders) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "imapd.conf"), imapdConf(place));
  writeFileSync(join(folder, "cyrus.conf"), cyrusConf(place));
  const accounts = createAccounts(place);
  await accounts.register("probe");
  if (isRoot) {
    await run(["chown", "-R", "cyrus:mail", folder]);
    chmodSync(folder, 0o755);
  }
  const relay = startRelay({ folder: join(folder, "relay"), port: smtp, lmtpPort: lmtp });
  let master: Bun.Subprocess | null = null;

  const url = `http://127.0.0.1:${http}/.well-known/jmap`;

  async function start(): Promise<void> {
    if (master) return;
    master = Bun.spawn(
      [
        "/usr/lib/cyrus/bin/master",
        "-D",
        "-C",
        join(folder, "imapd.conf"),
        "-M",
        join(folder, "cyrus.conf"),
        "-p",
        join(folder, "run", "master.lock"),
      ],
      // A group of its own, so that all of it can be ended.
      { stdio: ["ignore", "ignore", "ignore"], detached: true, env: serverEnv() },
    );
    await until("the mail server answers", async () => (await statusOf(url)) === 401, 60_000);
  }

  async function stop(): Promise<void> {
    if (!master) return;
    const ending = master;
    const kill = () => process.kill(-ending.pid, "SIGKILL");
    const isGone = () => ending.exitCode !== null || ending.signalCode !== null;
    ending.kill("SIGTERM");
    // The master of 3.6 may wait for ever while somebody connects to what it has stopped serving.
    await until("the mail server has ended", isGone, stopMs).catch(kill);
    await ending.exited;
    master = null;
    await until("the mail server is gone", async () => (await statusOf(url)) === null, 60_000);
  }

  await start();
  return {
    url,
    relay,
    start,
    stop,
    async addAccount(name) {
      await accounts.register(name);
      await accounts.firstLogin(name);
      return { address: `${name}@${domain}`, password: passwordOf(name) };
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await relay.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** With the mark by which what a test run leaves behind is found. */
function serverEnv(): Record<string, string> {
  const { PATH = "", SVC_TEST_RUN: mark } = process.env;
  return mark === undefined ? { PATH } : { PATH, SVC_TEST_RUN: mark };
}

const stopMs = 3000;

const passwordOf = (name: string) => `pw-${name}`;

function createAccounts({ folder, ports }: CyrusPlace) {
  let last: Promise<unknown> = Promise.resolve();
  return {
    /** One at a time: the file of logins takes one writer. */
    register(name: string): Promise<unknown> {
      const words = ["/usr/sbin/saslpasswd2", "-p", "-c", "-f", join(folder, "sasldb2"), "-u", domain, name];
      last = last.then(() => run(words, passwordOf(name)));
      return last;
    },
    /** The boxes are made at the first login by IMAP; one by JMAP would find none. */
    async firstLogin(name: string): Promise<void> {
      const said = await talk(ports.imap, `a LOGIN ${name}@${domain} ${passwordOf(name)}\r\nb LOGOUT\r\n`);
      if (!said.includes("a OK")) throw new Error(`${name} cannot log in: ${said}`);
    },
  };
}

function talk(port: number, words: string): Promise<string> {
  let said = "";
  return new Promise((resolve, reject) => {
    Bun.connect({
      hostname: "127.0.0.1",
      port,
      socket: {
        open: (socket) => void socket.write(words),
        data: (_, chunk) => {
          said += chunk.toString();
        },
        close: () => resolve(said),
        error: (_, error) => reject(error),
        connectError: (_, error) => reject(error),
      },
    }).catch(reject);
  });
}

async function statusOf(url: string): Promise<number | null> {
  try {
    const init = { proxy: false, signal: AbortSignal.timeout(20_000) } as RequestInit;
    const response = await fetch(url.replace("/.well-known/jmap", "/jmap"), init);
    await response.text();
    return response.status;
  } catch {
    return null;
  }
}

async function run(words: string[], input = ""): Promise<void> {
  const child = Bun.spawn(words, { stdin: Buffer.from(input), stdout: "pipe", stderr: "pipe" });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(`${words[0]} ended with ${code}: ${said}`);
}

function groupName(): string {
  return Bun.spawnSync(["id", "-gn"]).stdout.toString().trim();
}
