import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endTmux } from "../../support/end-tmux.ts";
import { until } from "../../support/until.ts";
import { createSharedMachine, ran, type SharedMachine } from "./shared-machine.ts";

const one = ["agents", "single", "--agent-name", "worker"];

/**
 * Writes `socket` into the manifest of a session, as whoever may write the working tree can. Returns its
 * session name.
 */
function name(sessionRoot: string, socket: string): string {
  const path = join(sessionRoot, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(path, JSON.stringify({ ...manifest, tmux: { ...manifest.tmux, socket } }));
  return String(manifest.tmux_session_name);
}

/** A tmux server of the other user that leaves a file in `trace` when a client attaches to its session. */
async function theirServer({ other, trace }: SharedMachine, socket: string, session: string): Promise<void> {
  const tmux = (...words: string[]) => other.run(["tmux", "-f", "/dev/null", "-S", socket, ...words]);
  expect((await tmux("new-session", "-d", "-s", session, "sleep 600")).exitCode).toBe(0);
  await tmux("set-hook", "-g", "client-attached", `run-shell "touch ${trace}/attached"`);
  // A server since 3.3 turns away users that it was not told of.
  await tmux("server-access", "-a", "-w", "root");
  chmodSync(socket, 0o777);
}

describe("a gateway whose tmux socket another user made or can replace", () => {
  const theirs = ({ other }: SharedMachine) => `belongs to user ${other.uid}`;
  const ways = [
    {
      id: "in a folder of the other user",
      place: (at: SharedMachine) => join(at.other.home, "server"),
      reason: theirs,
    },
    { id: "in a sticky folder", place: (at: SharedMachine) => join(at.sticky, "server"), reason: theirs },
    {
      id: "in an open folder of ours",
      place({ other }: SharedMachine) {
        const open = join(other.folder, "open");
        mkdirSync(open);
        chmodSync(open, 0o777);
        return join(open, "server");
      },
      reason: () => "is writable by its group or by others",
    },
  ];

  test.each(ways)(
    "$id attaches to no server of that user and says why",
    async ({ place, reason }) => {
      await using at = createSharedMachine();
      const sessionRoot = await at.launched();
      const socket = place(at);
      const session = name(sessionRoot, socket);
      await theirServer(at, socket, session);
      const environment = { ...at.fixture.env, SVC_TMUX_SOCKET: socket };
      const child = Bun.spawn(
        [...at.fixture.command("svc-gateway"), "serve", "--session-root", sessionRoot],
        {
          env: environment,
          stdout: "ignore",
          stderr: "pipe",
        } as const,
      );
      const complaints = new Response(child.stderr).text();
      const log = join(sessionRoot, "gateway/logs/gateway.log");
      const told = () => existsSync(log) && /tmux socket/.test(readFileSync(log, "utf8"));
      try {
        await until(
          "the gateway to attach or to say why not",
          () => ran(at) || told() || child.exitCode !== null,
        );
        expect(ran(at)).toBe(false);
        expect(child.exitCode === null ? readFileSync(log, "utf8") : await complaints).toContain(reason(at));
      } finally {
        child.kill("SIGKILL");
        await child.exited;
        await at.other.run(["tmux", "-S", socket, "kill-server"]);
      }
    },
    120_000,
  );

  test("that the other user can replace is not used, although the server is ours", async () => {
    await using at = createSharedMachine();
    const open = join(at.other.folder, "open");
    mkdirSync(open);
    const socket = join(open, "server");
    at.fixture.env["SVC_TMUX_SOCKET"] = socket;
    const sessionRoot = await at.launched();
    chmodSync(open, 0o777);
    try {
      const typed = await at.fixture.mgr(...one, "gateway", "attach");
      expect(typed.exitCode).not.toBe(0);
      expect(existsSync(join(sessionRoot, "gateway/run/current-instance.json"))).toBe(false);
      renameSync(socket, `${socket}-of-ours`);
      await theirServer(at, socket, "any");
      const relaunched = await at.fixture.mgr(...one, "relaunch", "--no-gateway");
      expect([relaunched.exitCode, relaunched.stderr]).toEqual([1, expect.stringContaining("is not used")]);
      expect(ran(at)).toBe(false);
    } finally {
      await at.other.run(["tmux", "-S", socket, "kill-server"]);
      if (existsSync(`${socket}-of-ours`)) renameSync(`${socket}-of-ours`, socket);
      chmodSync(open, 0o755);
      endTmux(socket);
    }
  }, 120_000);
});
