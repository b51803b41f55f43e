import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createProcesses } from "../../src/system/processes.ts";
import { quietSteps } from "../../src/system/steps.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";

const examples = join(import.meta.dir, "..", "..", "examples");

/** What a service manager is told to run, and with which settings. */
interface Service {
  command: string[];
  env: Record<string, string>;
  settings: Record<string, string>;
}

/**
 * A systemd unit as systemd reads it, for the user whose home is `home` and the instance `instance`.
 * `variables`: what the unit's environment file holds.
 */
function readUnit(
  name: string,
  {
    home,
    instance = "",
    variables = {},
  }: { home: string; instance?: string; variables?: Record<string, string> },
): Service {
  const lines = readFileSync(join(examples, "systemd", name), "utf8").matchAll(/^(\w+)=(.*)$/gm);
  const expand = (text: string) =>
    text
      .replaceAll("%h", home)
      .replaceAll("%i", instance)
      .replace(/\$\{(\w+)\}/g, (_, variable: string) => variables[variable] ?? "");
  const settings: Record<string, string> = {};
  const env: Record<string, string> = { HOME: home, ...variables };
  for (const [, key = "", value = ""] of lines) {
    const [variable = "", ...rest] = expand(value).split("=");
    if (key === "Environment") env[variable] = rest.join("=");
    else settings[key] = value;
  }
  return { command: (settings["ExecStart"] ?? "").split(" ").map(expand), env, settings };
}

/** A launchd property list; `settings` are its keys that are plainly true or false. */
function readPropertyList(name: string, home: string): Service {
  const text = readFileSync(join(examples, "launchd", name), "utf8");
  const under = (key: string, kind: string) =>
    new RegExp(`<key>${key}</key>\\s*<${kind}>([\\s\\S]*?)</${kind}>`).exec(text)?.[1] ?? "";
  const pairs = [
    ...under("EnvironmentVariables", "dict").matchAll(/<key>(.*)<\/key>\s*<string>(.*)<\/string>/g),
  ];
  const flags = [...text.matchAll(/<key>(\w+)<\/key>\s*<(true|false)\/>/g)];
  return {
    command: [...under("ProgramArguments", "array").matchAll(/<string>(.*)<\/string>/g)].map(
      ([, word = ""]) => word,
    ),
    env: { HOME: home, ...Object.fromEntries(pairs.map(([, key = "", value = ""]) => [key, value])) },
    settings: Object.fromEntries(flags.map(([, key = "", value = ""]) => [key, value])),
  };
}

// The examples for service managers, started as those would start them: their command, their environment, no
// shell.

const repository = join(import.meta.dir, "../..");
const processes = createProcesses({ steps: quietSteps });

/** A home with our programs in a folder that the examples name. */
function createHome(): { fixture: CliFixture; home: string } {
  const fixture = createCliFixture({ executable: join(repository, "dist/svc-gateway") });
  const home = fixture.env["HOME"] ?? "";
  const bin = join(home, ".local/bin");
  mkdirSync(bin, { recursive: true });
  for (const name of ["svc-mgr", "svc-gateway", "svc-coord"]) {
    symlinkSync(join(repository, "dist", name), join(bin, name));
  }
  return { fixture, home };
}

/** Resolves when the service has said its first word. `stop` ends it as a service manager does. */
async function start(service: Service, fixture: CliFixture) {
  const child = Bun.spawn(service.command, {
    env: { ...service.env, SVC_TMUX_SOCKET: fixture.socket },
    cwd: fixture.workdir,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(await new Response(child.stderr).text());
  return {
    said: new TextDecoder().decode(value),
    async stop(): Promise<number> {
      child.kill("SIGTERM");
      return child.exited;
    },
  };
}

const anyPort = (command: string[]) => command.map((word) => (word === "9891" ? "0" : word));

describe("the coordination server", () => {
  test.each([
    { manager: "systemd", read: (home: string) => readUnit("svc-coord.service", { home }) },
    {
      manager: "launchd",
      // Its PATH names no folder of a home: programs are installed for all users there.
      read: (home: string) => {
        const service = readPropertyList("svc-coord.plist", home);
        return { ...service, env: { ...service.env, PATH: `${home}/.local/bin:${service.env["PATH"]}` } };
      },
    },
  ])(
    "is started by $manager, serves, and ends well when stopped",
    async ({ read }) => {
      const { fixture, home } = createHome();
      await using _ = fixture;
      const service = read(home);
      expect(service.command).toContain("9891");
      const server = await start({ ...service, command: anyPort(service.command) }, fixture);
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(server.said)?.[0];
      const health = await fetch(`${url}/health`, { proxy: false } as RequestInit);
      expect(health.status).toBe(200);
      expect(await server.stop()).toBe(0);
    },
    120_000,
  );

  test("and what it launched is not ended with it", () => {
    expect(readUnit("svc-coord.service", { home: "/home" }).settings).toMatchObject({
      KillMode: "process",
      Restart: "on-failure",
      EnvironmentFile: "-%h/.config/svc/coord.env",
    });
    expect(readPropertyList("svc-coord.plist", "/home").settings).toEqual({
      RunAtLoad: "true",
      SuccessfulExit: "false",
      AbandonProcessGroup: "true",
    });
  });
});

test("systemd starts an agent with its gateway, and after a stop the gateway again beside the same agent", async () => {
  const { fixture, home } = createHome();
  await using _ = fixture;
  const variables = { AGENT_TOOL: "demo", AGENT_WORKDIR: fixture.workdir };
  const service = readUnit("svc-gateway@.service", { home, instance: "alice", variables });
  expect(service.settings).toMatchObject({ KillMode: "process", Restart: "on-failure" });
  const panes = () => fixture.tmux("list-panes", "-a", "-F", "#{pane_pid}");
  const first = await start(service, fixture);
  const before = await panes();
  expect(await first.stop()).toBe(0);
  expect(await panes()).toBe(before);
  const second = await start(service, fixture);
  expect(await panes()).toBe(before);
  expect(await second.stop()).toBe(0);
  const stop = await fixture.mgr("agents", "single", "--agent-name", "alice", "stop");
  expect(stop.exitCode).toBe(0);
}, 120_000);

// Where systemd is, it is asked; a key that it does not know is a word on stderr.
const units = processes.which("systemd-analyze") ? readdirSync(join(repository, "examples/systemd")) : [];
test.each(units)(
  "systemd has nothing to say of %s",
  async (unit) => {
    const { fixture, home } = createHome();
    await using _ = fixture;
    const verify = ["systemd-analyze", "--user", "verify", join(repository, "examples/systemd", unit)];
    const env = { ...fixture.env, XDG_RUNTIME_DIR: home };
    expect(await processes.run(verify, { env, timeoutMs: 60_000 })).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "",
    });
  },
  120_000,
);
