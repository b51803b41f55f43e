import { resolve } from "node:path";
import type { JoinRequest } from "../../services/sessions/join.ts";
import { type CliIo, type Flags, type Invocation, UsageError, type Values } from "./command.ts";

/** Flags of every command that touches agents: where their records and sessions are. */
export const rootFlags = {
  "runtime-root": { type: "string", description: "folder of the sessions", valueHint: "DIR", hidden: true },
  "registry-root": { type: "string", description: "folder of the registry", valueHint: "DIR", hidden: true },
} satisfies Flags;

/** Flags of `agents single`: they select the agent. */
export const targetFlags = {
  "agent-name": {
    type: "string",
    description: "the agent's name",
    valueHint: "NAME",
    offers: "agent-names",
  },
  "agent-id": {
    type: "string",
    description: "the agent's id, where a name is not enough",
    valueHint: "ID",
    offers: "agent-ids",
  },
} satisfies Flags;

/** The first word of the commands of `svc` for one agent. */
export const agentName = {
  type: "positional",
  description: "the agent's name",
  offers: "agent-names",
} as const;

export const nameOnly = { name: agentName };

/** Who calls such a command, and the agent of that name. Pure. */
export function toNamed({ io, inherited, path, args }: Invocation<typeof nameOnly>) {
  return { io, inherited, path, whom: { agentName: args.name } };
}

/** All words that are left. */
export const textOf = (description: string) =>
  ({ type: "positional", many: true, required: false, description }) as const;

/** Flag of every command that starts an agent in a terminal. */
export const noSignalsFlag = {
  "no-signals": {
    type: "boolean",
    description: "do not have the tool report what it does; its screen alone is read, also after a relaunch",
  },
} satisfies Flags;

/** Which root a mailbox is registered below. */
export const mailboxRootFlag = {
  "mailbox-root": {
    type: "string",
    description: "folder of the mailboxes; default: SVC_GLOBAL_MAILBOX_DIR, else .svc/mailbox of the project",
    valueHint: "DIR",
  },
} satisfies Flags;

/** The root of `svc-mgr mailbox`. */
export const mailboxAdminFlags = {
  "mailbox-root": {
    type: "string",
    description: "folder of the mailboxes; default: SVC_GLOBAL_MAILBOX_DIR, else the project's .svc/mailbox",
    valueHint: "DIR",
  },
} satisfies Flags;

/** They select the mailbox of a mail root. */
export const addressFlag = {
  address: {
    type: "string",
    required: true,
    description: "the full address",
    valueHint: "NAME@DOMAIN",
    offers: "addresses",
  },
} as const satisfies Flags;

/** The text of a prompt, for `readPrompt`. */
export const promptFlag = {
  prompt: { type: "string", description: "the text; without it standard input is read", valueHint: "TEXT" },
} satisfies Flags;

/** Flags of every command that adopts an agent. */
export const joinFlags = {
  "agent-id": { type: "string", description: "its id; default: derived from the name", valueHint: "ID" },
  tool: {
    type: "string",
    description: "what it is, where more than one tool runs",
    valueHint: "TOOL",
    offers: "tools",
  },
  workdir: { type: "string", description: "where it works; default: where its pane does", valueHint: "DIR" },
  "launch-args": {
    type: "string",
    multiple: true,
    description:
      "an argument it was started with, as --launch-args=ARG; an empty one says that there were none",
    valueHint: "ARG",
  },
  "launch-env": {
    type: "string",
    multiple: true,
    description: "a variable it was started with; without =VALUE each relaunch needs it in its environment",
    valueHint: "NAME[=VALUE]",
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
    launchEnv: Object.fromEntries(args["launch-env"].map(toVariable)),
  };
}

function toVariable(text: string): [string, string | null] {
  const match = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(text);
  if (match) return [match[1] ?? "", match[2] ?? null];
  throw new UsageError(`--launch-env wants NAME or NAME=VALUE, not "${text.split("=")[0]}"`);
}

export const teamFileFlag = {
  file: {
    type: "string",
    alias: "f",
    valueHint: "FILE",
    description: "the team's file; default: svc.yaml here or in a folder above",
  },
} as const satisfies Flags;
