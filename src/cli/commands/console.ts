import { join } from "node:path";
import {
  awaitConsole,
  type ConsoleLink,
  type ConsoleLinkDeps,
  findConsole,
  linkToConsole,
  type StoppedConsoles,
  stopConsoles,
} from "../../services/fleet/console-link.ts";
import { environmentWithout } from "../../services/sessions/environment.ts";
import { ServiceError } from "../../system/errors.ts";
import { visible } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import {
  type Answer,
  type CliIo,
  type Command,
  command,
  type Flags,
  UsageError,
} from "../command-line/command.ts";
import { rootFlags } from "../command-line/shared-flags.ts";
import { selfCommand } from "../command-line/version.ts";

const consoleFlags = {
  open: { type: "boolean", description: "open it in your browser" },
  stop: { type: "boolean", description: "end the server that this command started before" },
} as const satisfies Flags;

/** `PROGRAM console`, for each of our programs. */
export const consoleCommand = (program: string): Command =>
  command({
    name: "console",
    description: "print where the console is in a browser; starts the coordination server when none runs",
    examples: [`${program} console`, `${program} console --open`, `${program} console --stop`],
    args: consoleFlags,
    async run({ args, inherited, io, path }) {
      if (args.open && args.stop) throw new UsageError("give --open or --stop, not both", path);
      const context = openCliContext(io, inherited);
      const deps: ConsoleLinkDeps = {
        files: context.files,
        clock: context.clock,
        processes: context.processes,
        network: context.network,
        env: io.env,
        runtimeRoot: context.roots.runtimeRoot,
      };
      if (args.stop) return answerStopped(await stopConsoles(deps));
      const running = await findConsole(deps);
      const link = await linkToConsole(deps, running ?? (await start(context, io, deps, inherited)));
      if (args.open) await open(context, link);
      return {
        json: {
          schema_version: 1,
          url: link.url,
          expires_at_utc: link.expiresAtUtc,
          started_coordinator: running === null,
        },
        text: [
          link.url,
          ...(link.expiresAtUtc === null
            ? []
            : ["This link signs one browser in, once, within two minutes. Give it to nobody."]),
        ].join("\n"),
      };
    },
  });

/** Pure. */
function answerStopped({ stopped, others }: StoppedConsoles): Answer {
  const first = stopped.length === 0 ? ["no server runs that `svc console` started"] : [];
  return {
    json: { schema_version: 1, stopped, others },
    text: [
      ...first,
      ...stopped.map((url) => `ended the server at ${url}`),
      ...others.map((url) => `${url} was started by another command and goes on`),
    ].join("\n"),
  };
}

/** Of the pane that we happen to run in: the server outlives it. */
const ofThisPane = ["TMUX", "TMUX_PANE", "SVC_MANIFEST_PATH", "SVC_AGENT_ID"];

/**
 * Starts `svc-coord serve` as a separate process that outlives this one: on its usual port, else on a free
 * one.
 */
async function start(
  { processes, files, roots }: CliContext,
  io: CliIo,
  deps: ConsoleLinkDeps,
  inherited: Readonly<Record<string, unknown>>,
) {
  const flags = Object.keys(rootFlags).flatMap((name) =>
    typeof inherited[name] === "string" ? [`--${name}=${inherited[name]}`] : [],
  );
  const env = environmentWithout(io.env, ofThisPane);
  files.ensureDirectory("file:coordinator-start", roots.runtimeRoot);
  const logPath = join(roots.runtimeRoot, "coordinator-start.log");
  const begin = (...more: string[]) => {
    const child = processes.detach(
      "process:coordinator",
      [...selfCommand(), "coord", "serve", "--of-console", ...more, ...flags],
      { env, cwd: roots.runtimeRoot, logPath },
    );
    let end: string | null = null;
    void child.exited.then((code) => {
      end = `ended with exit code ${code}; ${logPath} says why`;
    });
    return () => end;
  };
  return awaitConsole(deps, begin()).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    return awaitConsole(deps, begin("--port=0"));
  });
}

/**
 * An argument of a process is seen by every user: a link with a code goes through a file that only this user
 * reads.
 */
async function open({ processes, files, roots }: CliContext, link: ConsoleLink): Promise<void> {
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  let target = link.url;
  if (link.expiresAtUtc !== null) {
    target = join(roots.runtimeRoot, "console-sign-in.html");
    const page = `<!doctype html><meta http-equiv="refresh" content="0; url=${link.url}"><a href="${link.url}">svc</a>\n`;
    files.write("file:console-sign-in", target, page);
  }
  const said = await processes.run([opener, target]).catch(() => null);
  if (said?.exitCode !== 0) {
    const why = visible(said?.stderr.trim() ?? "it is not installed");
    throw new ServiceError(
      "unavailable",
      `${opener} opened no browser: ${why}. The console is at ${link.url}`,
    );
  }
}
