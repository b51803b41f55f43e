import { group, lazyLeaves } from "./command-line/command.ts";
import { runProgram } from "./command-line/dispatch.ts";
import { createProcessIo } from "./command-line/process-io.ts";
import { mailboxAdminFlags, mailboxRootFlag, rootFlags } from "./command-line/shared-flags.ts";
import { programVersion } from "./command-line/version.ts";
import { extensionCommands } from "./extension-commands.ts";

const attention = group({
  name: "attention",
  description: "what waits for a person, over all agents",
  examples: ["svc-mgr attention list", "svc-mgr attention answer question-3f9a2b1c04de 1"],
  subCommands: {
    ...lazyLeaves(["list", "answer"], () =>
      import("./commands/attention.ts").then((module) => module.attentionCommands),
    ),
    ...extensionCommands("svc-mgr attention"),
  },
});

const mail = group({
  name: "mail",
  description: "mail of any registered mailbox, without an agent or a gateway",
  examples: [
    "svc-mgr mail list --address me@svc.localhost",
    'svc-mgr mail send --address me@svc.localhost --to worker@svc.localhost --subject "hello" --body-content "text"',
  ],
  args: {
    address: { type: "string", description: "whose mailbox", valueHint: "ADDRESS", offers: "addresses" },
    ...mailboxRootFlag,
  },
  subCommands: () => import("./commands/agent/mail.ts").then((module) => module.mailCommands),
});

const mailbox = group({
  name: "mailbox",
  description: "the mailboxes of a folder: who has one, and their upkeep",
  examples: [
    "svc-mgr mailbox init",
    "svc-mgr mailbox register --address ann@svc.localhost --principal-id SVC-ann",
    "svc-mgr mailbox status --mailbox-root /srv/mail",
  ],
  args: mailboxAdminFlags,
  subCommands: {
    ...lazyLeaves(["init", "status", "register", "unregister"], () =>
      import("./commands/mailbox.ts").then((module) => module.mailboxCommands),
    ),
    ...extensionCommands("svc-mgr mailbox"),
    keys: group({
      name: "keys",
      description: "the public keys with which mailboxes sign what they send, of this folder and other hosts",
      examples: ["svc-mgr mailbox keys list", "svc-mgr mailbox keys forget --address worker@build-2"],
      subCommands: () => import("./commands/mailbox-keys.ts").then((module) => module.keyCommands),
    }),
    accounts: group({
      name: "accounts",
      description: "the registered mailboxes, the present and the former",
      examples: ["svc-mgr mailbox accounts list", "svc-mgr mailbox accounts get --address ann@svc.localhost"],
      subCommands: () => import("./commands/mailbox.ts").then((module) => module.accountCommands),
    }),
    messages: group({
      name: "messages",
      description:
        "the mail of one mailbox by its place on disk; who read what is the mailbox's own business",
      examples: ["svc-mgr mailbox messages list --address ann@svc.localhost"],
      subCommands: {
        ...lazyLeaves(["list", "get"], () =>
          import("./commands/mailbox.ts").then((module) => module.messageCommands),
        ),
        ...extensionCommands("svc-mgr mailbox messages"),
      },
    }),
  },
});

const systemSkills = group({
  name: "system-skills",
  description: "the skills by which agents work with svc",
  examples: ["svc-mgr system-skills install --tool claude"],
  subCommands: () => import("./commands/system-skills.ts").then((module) => module.skillCommands),
});

const tools = group({
  name: "tools",
  description: "the agent CLIs that can be driven, and how their screens are read",
  examples: ["svc-mgr tools list", "svc-mgr tools explain --tool claude --screen recording.ansi.txt"],
  subCommands: () => import("./commands/tools.ts").then((module) => module.toolCommands),
});

/** All commands of `svc-mgr`. */
export const managerCommands = group({
  name: "svc-mgr",
  description: "Launch CLI coding agents, find them, and give them work through their gateways.",
  examples: [
    "svc-mgr doctor",
    "svc-mgr agents launch --tool demo --agent-name first",
    'svc-mgr agents single --agent-name first prompt --prompt "hello" --wait',
    "source <(svc-mgr completion bash)",
  ],
  args: rootFlags,
  subCommands: {
    agents: () => import("./commands/agents.ts").then((module) => module.agentsCommand),
    attention,
    mail,
    mailbox,
    overlay: () => import("./commands/overlay.ts").then((module) => module.default),
    "system-skills": systemSkills,
    tools,
    ...extensionCommands("svc-mgr"),
    completion: () =>
      import("./commands/completion.ts").then((module) => module.completionCommands("svc-mgr")),
  },
});

/** The command line `svc-mgr`; `argv` without the program's name. Resolves with the exit code. */
export function runManager(argv: readonly string[]): Promise<number> {
  return runProgram(managerCommands, programVersion, argv, createProcessIo());
}
