import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { startCoordinator } from "../../support/coord-server.ts";
import { bend, createSharedMachine, heardBy, listener, ran, type SharedMachine } from "./shared-machine.ts";

const one = ["agents", "single", "--agent-name", "worker"];

describe("a session that another user can change", () => {
  /** Each way starts from the session of an agent that our user launched and stopped in a folder `open`. */
  const ways: { id: string; swap: (at: SharedMachine, open: string, sessionRoot: string) => void }[] = [
    {
      id: "swapped for a folder of the other user",
      swap({ other, program }, open, sessionRoot) {
        const text = bend(sessionRoot, program);
        chmodSync(open, 0o777);
        renameSync(sessionRoot, `${sessionRoot}-old`);
        cpSync(`${sessionRoot}-old`, sessionRoot, { recursive: true });
        other.makeFolder(sessionRoot, 0o755);
        other.write(join(sessionRoot, "manifest.json"), text, 0o644);
      },
    },
    {
      id: "with a manifest of the other user in a folder of ours",
      swap({ other, program }, _open, sessionRoot) {
        other.write(join(sessionRoot, "manifest.json"), bend(sessionRoot, program), 0o644);
      },
    },
    {
      id: "with a manifest that its group may write",
      swap({ program }, _open, sessionRoot) {
        writeFileSync(join(sessionRoot, "manifest.json"), bend(sessionRoot, program));
        chmodSync(join(sessionRoot, "manifest.json"), 0o664);
      },
    },
    {
      id: "in a setgid folder of a group",
      swap({ program }, open, sessionRoot) {
        writeFileSync(join(sessionRoot, "manifest.json"), bend(sessionRoot, program));
        chmodSync(open, 0o2775);
      },
    },
    {
      id: "with a hard link to a manifest of the other user",
      swap({ other, program }, _open, sessionRoot) {
        const theirs = join(other.home, "manifest.json");
        other.write(theirs, bend(sessionRoot, program), 0o644);
        rmSync(join(sessionRoot, "manifest.json"));
        Bun.spawnSync(["ln", theirs, join(sessionRoot, "manifest.json")]);
      },
    },
    {
      id: "with a link to a manifest of the other user",
      swap({ other, program }, _open, sessionRoot) {
        const theirs = join(other.home, "manifest.json");
        other.write(theirs, bend(sessionRoot, program), 0o644);
        rmSync(join(sessionRoot, "manifest.json"));
        Bun.spawnSync(["ln", "-s", theirs, join(sessionRoot, "manifest.json")]);
      },
    },
    {
      id: "with a pipe in the place of its manifest",
      swap(_at, _open, sessionRoot) {
        rmSync(join(sessionRoot, "manifest.json"));
        Bun.spawnSync(["mkfifo", join(sessionRoot, "manifest.json")]);
      },
    },
  ];

  test.each(ways)(
    "$id runs no program and is not contacted",
    async ({ swap }) => {
      await using at = createSharedMachine();
      const { fixture } = at;
      const open = join(at.other.folder, "open");
      mkdirSync(open);
      fixture.env["SVC_GLOBAL_RUNTIME_DIR"] = join(open, "runtime");
      const sessionRoot = await at.launched();
      await fixture.mgr(...one, "stop");
      delete fixture.env["SVC_GLOBAL_RUNTIME_DIR"];
      swap(at, open, sessionRoot);

      const refused = await fixture.mgr(...one, "relaunch", "--no-gateway");
      expect(refused.exitCode).toBe(1);
      expect(await fixture.sessions()).toEqual([]);
      expect(ran(at)).toBe(false);
      const listed = await fixture.mgr("agents", "list", "--state", "all", "--json");
      expect(listed.json()["agents"]).toMatchObject([{ agent_name: "worker" }]);
    },
    120_000,
  );

  test("is refused by a coordination server, which asks no gateway that it names", async () => {
    await using at = createSharedMachine();
    const { fixture, other } = at;
    const sessionRoot = await at.launched();
    const listening = listener(other);
    const port = Number(await listening.line());
    const run = join(sessionRoot, "gateway/run");
    mkdirSync(run, { recursive: true });
    writeFileSync(
      join(run, "current-instance.json"),
      JSON.stringify({
        schema_version: 1,
        protocol_version: "v1",
        pid: listening.pid,
        host: "127.0.0.1",
        port,
        execution_mode: "detached_process",
        managed_agent_instance_epoch: 1,
        managed_agent_instance_id: "planted",
      }),
    );
    writeFileSync(join(run, "token"), "token-of-the-session\n", { mode: 0o600 });
    other.makeFolder(sessionRoot, 0o755);
    await using server = await startCoordinator(fixture);
    const { body } = await server.ask("/svc/agents");
    expect(body["agents"]).toMatchObject([{ agent_name: "worker", has_gateway: false }]);
    const state = await server.ask("/svc/agents/worker/state");
    const prompt = { request_kind: "submit_prompt", prompt: "a prompt of our user" };
    const sent = await server.ask("/svc/agents/worker/requests", prompt);
    expect([state.status, sent.status]).toEqual([503, 503]);
    expect(JSON.stringify(sent.body)).toContain(`belongs to user ${other.uid}`);
    const direct = await fixture.mgr(...one, "prompt", "--prompt", "a prompt of our user");
    expect(direct.exitCode).toBe(1);
    expect(heardBy(at)).toBe("");
  }, 120_000);

  test("that the environment names is not that of the caller", async () => {
    await using at = createSharedMachine();
    const sessionRoot = await at.launched();
    const theirs = join(at.other.home, "session");
    at.other.makeFolder(theirs, 0o755);
    at.other.write(join(theirs, "manifest.json"), bend(sessionRoot, at.program), 0o644);
    at.fixture.env["SVC_MANIFEST_PATH"] = join(theirs, "manifest.json");
    const refused = await at.fixture.mgr("agents", "self", "relaunch", "--no-gateway");
    expect(refused.exitCode).toBe(1);
    expect(refused.stderr).toContain(`belongs to user ${at.other.uid}`);
    expect(ran(at)).toBe(false);
  }, 120_000);
});

describe("a registry that was filled by another user", () => {
  test("has our agents alone, says what was passed over, and is cleaned of nothing of theirs", async () => {
    await using at = createSharedMachine();
    const { fixture, other } = at;
    const sessionRoot = await at.launched();
    const agents = join(fixture.env["HOME"] ?? "", ".local/state/svc/registry/live_agents");
    const [ours = ""] = readdirSync(agents);
    const record = JSON.parse(readFileSync(join(agents, ours, "record.json"), "utf8"));
    const session = join(other.home, "session");
    other.makeFolder(session, 0o755);
    other.write(join(session, "manifest.json"), bend(sessionRoot, at.program), 0o644);
    const plant = (id: string) =>
      JSON.stringify({
        ...record,
        agent_id: id,
        agent_name: id,
        runtime: { ...record.runtime, manifest_path: join(session, "manifest.json"), session_root: session },
      });
    for (let nth = 0; nth < 300; nth += 1) {
      const id = `planted-${nth}`;
      other.makeFolder(join(agents, id), 0o755);
      other.write(join(agents, id, "record.json"), plant(id), 0o644);
    }
    const odd = (id: string, make: (path: string) => void) => {
      mkdirSync(join(agents, id), { mode: 0o700 });
      make(join(agents, id, "record.json"));
    };
    const theirs = join(other.home, "record.json");
    other.write(theirs, plant("hard-link"), 0o644);
    odd("hard-link", (path) => void Bun.spawnSync(["ln", theirs, path]));
    odd("link", (path) => void Bun.spawnSync(["ln", "-s", theirs, path]));
    odd("pipe", (path) => void Bun.spawnSync(["mkfifo", path]));
    odd("owned", (path) => other.write(path, plant("owned"), 0o600));
    odd("open", (path) => {
      writeFileSync(path, plant("open"));
      chmodSync(path, 0o666);
    });
    odd("setgid", (path) => {
      writeFileSync(path, plant("setgid"), { mode: 0o600 });
      chmodSync(join(agents, "setgid"), 0o2770);
    });
    using socket = Bun.listen({ unix: join(fixture.folder, "socket"), socket: { data() {} } });
    odd("socket", (path) => renameSync(join(fixture.folder, "socket"), path));
    expect(socket.unix).toBeString();

    const listed = (await fixture.mgr("agents", "list", "--state", "all", "--json")).json();
    expect(listed["agents"]).toMatchObject([{ agent_name: "worker" }]);
    expect(listed["ignored"]).toHaveLength(307);
    for (const name of ["planted-7", "owned", "hard-link", "open", "setgid"]) {
      const refused = await fixture.mgr("agents", "single", "--agent-name", name, "relaunch");
      expect([name, refused.exitCode]).toEqual([name, 1]);
    }
    await using server = await startCoordinator(fixture);
    expect(((await server.ask("/svc/agents")).body["agents"] as unknown[]).length).toBe(1);
    await fixture.mgr("doctor", "--fix");
    expect(existsSync(join(agents, "planted-7", "record.json"))).toBe(true);
    expect([existsSync(theirs), existsSync(join(session, "manifest.json"))]).toEqual([true, true]);
    expect(ran(at)).toBe(false);
  }, 180_000);

  test("is refused whole when all may write to it", async () => {
    await using at = createSharedMachine();
    await at.launched();
    const agents = join(at.fixture.env["HOME"] ?? "", ".local/state/svc/registry/live_agents");
    chmodSync(agents, 0o777);
    const listed = (await at.fixture.mgr("agents", "list", "--json")).json();
    expect(listed["agents"]).toEqual([]);
    expect(listed["ignored"]).toMatchObject([{ path: agents }]);
    chmodSync(agents, 0o700);
  }, 60_000);
});
