import { resolve } from "node:path";
import type { JoinRequest } from "../services/sessions/join.ts";
import type { CliIo, Flags, Values } from "./command.ts";

/** Flags of every command that adopts an agent. */
export const joinFlags = {
  "agent-id": { type: "string", description: "its id; default: derived from the name", valueHint: "ID" },
  tool: { type: "string", description: "what it is, where more than one tool runs", valueHint: "TOOL" },
  workdir: { type: "string", description: "where it works; default: where its pane does", valueHint: "DIR" },
  "launch-args": {
    type: "string",
    multiple: true,
    description:
      "an argument it was started with, as --launch-args=ARG; an empty one says that there were none",
    valueHint: "ARG",
  },
} satisfies Flags;

/** What these flags ask for. Without `--launch-args` nobody can launch the agent again. Pure. */
export function readJoinFlags(
  args: Values<typeof joinFlags>,
  io: Pick<CliIo, "cwd">,
): Omit<JoinRequest, "tmuxSession" | "agentName"> {
  const given = args["launch-args"];
  return {
    agentId: args["agent-id"],
    tool: args.tool,
    workdir: args.workdir === undefined ? undefined : resolve(io.cwd, args.workdir),
    launchArgs: given.length === 0 ? undefined : given.filter((one) => one !== ""),
  };
}
