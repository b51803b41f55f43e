import { resolve } from "node:path";
import type { Values } from "../../command-line/command.ts";
import type { ServeExtension } from "../../extension.ts";
import {
  busFlags,
  hostNameFlag,
  readBusAddress,
  sshEnvironment,
  sshFlags,
  toHostName,
  toSshProgram,
  toSshTargets,
} from "./host-flags.ts";

const flags = { ...busFlags, ...sshFlags, ...hostNameFlag };

/** The flags by which a coordination server reaches other hosts. */
export const serveHosts: ServeExtension = {
  flags,
  async openHosts({ context, io, args: given, log }) {
    const args = given as Values<typeof flags>;
    const bus = readBusAddress(args, { io, files: context.files });
    if (bus === null && args.ssh.length === 0) return null;
    const localHost = toHostName("--host-name", args["host-name"]);
    const { openOperator } = await import("./coordinator-hosts.ts");
    return openOperator({
      context,
      bus,
      localHost,
      ssh: {
        targets: toSshTargets(args.ssh, localHost),
        configFile: args["ssh-config"] === undefined ? null : resolve(io.cwd, args["ssh-config"]),
        program: toSshProgram(args["ssh-program"]),
        env: sshEnvironment(io.env),
      },
      log,
    });
  },
};
