import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readBlocks, type ShellBlock } from "../../scripts/documents.ts";
import { natsServer } from "../support/bus.ts";
import { printed } from "../support/document-run.ts";
import { createNetworkFixture, type NetworkHost } from "../support/netns.ts";
import { until } from "../support/until.ts";

const root = join(import.meta.dir, "..", "..");
const minutes = 10;

/** A machine of the guide: a network of its own, an empty home in which its blocks are typed. */
function createMachine(folder: string, network: NetworkHost, path: string) {
  const places = {
    HOME: join(folder, "home"),
    TMPDIR: join(folder, "tmp"),
    TMUX_TMPDIR: join(folder, "tmux"),
  };
  for (const place of Object.values(places)) mkdirSync(place, { recursive: true, mode: 0o700 });
  const env = { ...places, PATH: path, LANG: "C.UTF-8", SHELL: "/bin/sh", TERM: "xterm-256color" };
  let typed = 0;
  return {
    home: places.HOME,
    /** What it leaves in the background goes on. */
    async type(script: string): Promise<{ exitCode: number; output: string }> {
      typed += 1;
      const [lines, output] = [join(folder, `${typed}.sh`), join(folder, `${typed}.txt`)];
      writeFileSync(lines, script);
      const child = Bun.spawn([...network.prefix, "sh", "-eu", lines], {
        env,
        cwd: places.HOME,
        stdin: "ignore",
        stdout: Bun.file(output),
        stderr: Bun.file(output),
      });
      const exitCode = await child.exited;
      return { exitCode, output: readFileSync(output, "utf8") };
    },
    async end() {
      await Bun.spawn(["tmux", "-N", "kill-server"], { env, stdout: "ignore", stderr: "ignore" }).exited;
    },
  };
}

test(
  "the guide leads from one host to three in ten minutes, on machines of a network",
  async () => {
    await using stack = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "hosts-guide-"));
    stack.defer(() => rmSync(folder, { recursive: true, force: true }));
    const network = stack.use(await createNetworkFixture());
    const path = `${join(root, "dist")}:${dirname(await natsServer())}:${process.env["PATH"]}`;
    const [operator, one, two] = [network.host(), network.host(), network.host()];
    const machineOf = (name: string, host: NetworkHost) => {
      const machine = createMachine(join(folder, name), host, path);
      stack.defer(machine.end);
      return machine;
    };
    const desk = machineOf("desk", operator);
    const machines = new Map([
      ["desk", desk],
      ["build-1", machineOf("build-1", one)],
      ["build-2", machineOf("build-2", two)],
    ]);
    const startMs = performance.now();
    for (const block of readBlocks("docs/guides/hosts.md")) {
      if (!block.mark?.run) {
        if (block.script.includes("scp")) copyKeys(machines, desk.home);
        continue;
      }
      const machine = machines.get(/^# on (\S+)\n/.exec(block.script)?.[1] ?? "");
      if (!machine) throw new Error(`${block.document}:${block.line} names no machine`);
      const run = await machine.type(block.script.replaceAll("10.0.0.5", operator.address));
      const output = run.output.replaceAll(operator.address, "10.0.0.5");
      expect(run.exitCode, `${where(block)} ended: ${output}`).toBe(0);
      expect(printed(block.shown ?? "…", output), `${where(block)} printed: ${output}`).toBe(true);
    }
    expect(performance.now() - startMs).toBeLessThan(minutes * 60_000);
    // What the guide says of a host without its key.
    await until("the host to say why", () =>
      readFileSync(join(folder, "build-2", "home", "join.log"), "utf8")
        .toLowerCase()
        .includes("authorization"),
    );
  },
  minutes * 60_000,
);

function copyKeys(machines: ReadonlyMap<string, { home: string }>, home: string): void {
  const keys = join(home, ".local", "state", "svc", "nats", "svc");
  for (const name of ["build-1", "build-2"]) {
    const there = machines.get(name)?.home ?? "";
    copyFileSync(join(keys, "hosts", `${name}.nk`), join(there, `${name}.nk`));
    copyFileSync(join(keys, "server.crt"), join(there, "server.crt"));
  }
}

function where({ document, line }: ShellBlock): string {
  return `${document}:${line}`;
}
