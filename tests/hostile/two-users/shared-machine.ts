import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { builtPrograms, type CliFixture, createCliFixture } from "../../support/cli-fixture.ts";
import { createSecondUser, type SecondUser } from "../../support/second-user.ts";

// Another user of the machine plants or swaps folders; our user works with the built executables.

const executable = join(builtPrograms, "svc-gateway");

export interface SharedMachine extends AsyncDisposable {
  fixture: CliFixture;
  other: SecondUser;
  /** As /tmp: everyone may make files there, and only their owners remove them. */
  sticky: string;
  /** A folder that is empty until `program` was run. */
  trace: string;
  /** A program of the other user that leaves a file in `trace`. */
  program: string;
  launched(...flags: string[]): Promise<string>;
}

/** A machine on which our user has a home and the other user is at work. */
export function createSharedMachine(): SharedMachine {
  const fixture = createCliFixture({ executable });
  const other = createSecondUser();
  const sticky = join(other.folder, "tmp");
  mkdirSync(sticky);
  chmodSync(sticky, 0o1777);
  const trace = join(other.folder, "trace");
  mkdirSync(trace);
  chmodSync(trace, 0o777);
  const program = join(other.folder, "program");
  other.write(program, `#!/bin/sh\ntouch ${trace}/run-$$\nexec sleep 600\n`, 0o755);
  return {
    fixture,
    other,
    sticky,
    trace,
    program,
    async launched(...flags) {
      const words = ["agents", "launch", "--tool", "demo", "--agent-name", "worker", "--no-gateway"];
      const run = await fixture.mgr(...words, ...flags, "--json");
      if (run.exitCode !== 0) throw new Error(run.stderr);
      return String(run.json()["session_root"]);
    },
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
    },
  };
}

export const ran = ({ trace }: SharedMachine) => readdirSync(trace).length > 0;

/** The manifest of a session, changed so that a relaunch would run `program`. */
export function bend(sessionRoot: string, program: string): string {
  const manifest = JSON.parse(readFileSync(join(sessionRoot, "manifest.json"), "utf8"));
  return JSON.stringify({
    ...manifest,
    launch_plan: { ...manifest.launch_plan, executable: program, args: [] },
  });
}

/** A listener of the other user that keeps what it gets for `heardBy`; its first line is its port. */
export function listener(other: SecondUser) {
  return other.start(
    other.script(
      `
      const { appendFileSync } = require("node:fs");
      const heard = process.argv[2];
      const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: {
        data(socket, bytes) { appendFileSync(heard, bytes); socket.end("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}"); },
      } });
      console.log(server.port);
      setInterval(() => {}, 1000);
    `,
      join(other.home, "heard"),
    ),
  );
}

export const heardBy = ({ other }: SharedMachine) => {
  const path = join(other.home, "heard");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};
