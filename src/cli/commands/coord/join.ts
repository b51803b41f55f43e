import { endOnUnhandled, untilStopped } from "../../../system/signals.ts";
import { openCliContext, prepareSessionPlace } from "../../cli-context.ts";
import { command, UsageError } from "../../command.ts";
import { busFlags, readBusAddress, toHostName } from "../../host-flags.ts";
import { warn } from "../../narrate.ts";

export default command({
  name: "join",
  description: "Let the operator of a fleet reach the agents of this user, until stopped",
  examples: ["svc-coord join --nats tls://bus.example.org:4222 --creds build-3.nk --host build-3"],
  args: {
    ...busFlags,
    host: {
      type: "string",
      valueHint: "NAME",
      description: "name of this host in the fleet; default: the machine's name",
    },
  },
  async run({ args, inherited, io }) {
    const context = openCliContext(io, inherited);
    const bus = readBusAddress(args, { io, files: context.files });
    if (bus === null) throw new UsageError("--nats URL is needed: the NATS server of the fleet");
    const host = toHostName("--host", args.host);
    await prepareSessionPlace(context, io);
    const { openJoin } = await import("../../coordinator-hosts.ts");
    const join = await openJoin({ context, io, host, bus, log: (line) => void warn(io, line) });
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
