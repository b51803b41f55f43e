import { join } from "node:path";
import {
  awaitConsole,
  type ConsoleLink,
  type ConsoleLinkDeps,
  findConsole,
  linkToConsole,
} from "../../services/fleet/console-link.ts";
import { environmentWithout } from "../../services/sessions/environment.ts";
import { ServiceError } from "../../system/errors.ts";
import { visible } from "../../system/visible.ts";
import { type CliContext, openCliContext } from "../command-line/cli-context.ts";
import { type CliIo, command } from "../command-line/command.ts";
import { rootFlags } from "../command-line/shared-flags.ts";
import { selfCommand } from "../command-line/version.ts";

export const consoleCommand = command({
  name: "console",
  description: "print where the console is in a browser; starts the coordination server when none runs",
  examples: ["svc-mgr console", "svc-mgr console --open", "svc-mgr console --json"],
  args: {
    open: { type: "boolean", description: "open it in your browser" },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const deps: ConsoleLinkDeps = {
      files: context.files,
      clock: context.clock,
      processes: context.processes,
      network: context.network,
      env: io.env,
      runtimeRoot: context.roots.runtimeRoot,
    };
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

/** The same in `svc`. */
export const shortConsole = command({
  name: "console",
  description: "print where the console is in a browser; starts its server when none runs",
  examples: ["svc console", "svc console --open"],
  args: consoleCommand.flags,
  run: (invocation) => consoleCommand.call(invocation, invocation.args),
});

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
      [...selfCommand(), "coord", "serve", ...more, ...flags],
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
