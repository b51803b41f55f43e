import { endOnUnhandled, untilStopped } from "../../../system/signals.ts";
import { type CliContext, openCliContext, prepareSessionPlace } from "../../command-line/cli-context.ts";
import { type CliIo, type Command, command, UsageError } from "../../command-line/command.ts";
import { exitCodes } from "../../command-line/dispatch.ts";
import { warn } from "../../command-line/narrate.ts";
import type { ExtensionLoaders } from "../../extension.ts";
import { busFlags, readBusAddress, toHostName } from "../../extensions/hosts/host-flags.ts";

/** `load`: what extensions add to the server that answers for this host. */
export const joinCommand = (load: ExtensionLoaders): Command =>
  command({
    name: "join",
    description: "Let the operator of a fleet reach the agents of this user, until stopped",
    examples: [
      "svc-coord join --nats tls://bus.example.org:4222 --creds build-3.nk --host build-3",
      "svc-coord join --stdio",
    ],
    args: {
      ...busFlags,
      host: {
        type: "string",
        valueHint: "NAME",
        description: "name of this host in the fleet; default: the machine's name",
      },
      stdio: {
        type: "boolean",
        description: "speak on standard input and output: what the ssh of svc-coord serve --ssh starts",
      },
    },
    async run({ args, inherited, io }) {
      const context = openCliContext(io, inherited);
      const bus = readBusAddress(args, { io, files: context.files });
      if (args.stdio) return overStdio({ args, context, io, load });
      if (bus === null) throw new UsageError("--nats URL is needed: the NATS server of the fleet");
      const host = toHostName("--host", args.host);
      await prepareSessionPlace(context, io);
      const { openJoin } = await import("../../extensions/hosts/coordinator-hosts.ts");
      const join = await openJoin({ context, io, host, bus, load, log: (line) => void warn(io, line) });
      endOnUnhandled(() => {});
      const stopped = untilStopped(() => join.stop());
      await join.start();
      const line =
        inherited["json"] === true
          ? JSON.stringify({ event: "ready", host, fleet: bus.fleet })
          : `the agents of this user are in the fleet "${bus.fleet}" as NAME@${host}\nCtrl-C leaves it; the agents live on.`;
      await io.writeOut(`${line}\n`);
      return stopped;
    },
  });

async function overStdio({
  args,
  context,
  io,
  load,
}: {
  args: { nats: string | undefined; host: string | undefined };
  context: CliContext;
  io: CliIo;
  load: ExtensionLoaders;
}): Promise<number> {
  if (args.nats !== undefined || args.host !== undefined) {
    throw new UsageError("--stdio goes alone: the operator names the host, and there is no server");
  }
  if (io.stdinIsTty || io.stdoutIsTty) {
    throw new UsageError(
      "--stdio is for a program: on the operator's machine, svc-coord serve --ssh user@HOST",
    );
  }
  await prepareSessionPlace(context, io);
  const { joinOverStdio } = await import("../../extensions/hosts/coordinator-hosts.ts");
  endOnUnhandled(() => {});
  await joinOverStdio({
    context,
    io,
    load,
    input: Bun.stdin.stream() as unknown as AsyncIterable<Uint8Array>,
    write: io.writeOut,
    signal: io.interrupted(),
    log: (line) => void warn(io, line),
  });
  // The input may stay open.
  return exitCodes.done;
}
