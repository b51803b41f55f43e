import {
  type Command,
  type Commands,
  type Flags,
  group,
  type LazyCommand,
  lazyLeaves,
} from "../command-line/command.ts";
import { targetFlags } from "../command-line/shared-flags.ts";
import { extensionCommands } from "../extension-commands.ts";

const work = () => import("./agent/work.ts").then((module) => module.workCommands);
const lifecycle = () => import("./agent/lifecycle.ts").then((module) => module.lifecycleCommands);

const list =
  (commandPrefix: string): LazyCommand =>
  () =>
    import("./agents-list.ts").then((module) => module.listCommand(commandPrefix));

const terminal = group({
  name: "tui",
  description: "the agent's terminal as the gateway tracks it",
  examples: ["svc-mgr agents single --agent-name worker gateway tui state"],
  subCommands: () => import("./agent/tui.ts").then((module) => module.tuiCommands),
});

const notifier = group({
  name: "mail-notifier",
  description: "wake the agent when mail arrives",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier enable"],
  subCommands: () => import("./agent/notifier.ts").then((module) => module.notifierCommands),
});

const reminders = group({
  name: "reminders",
  description: "prompts and keys for later, kept by the live gateway alone",
  examples: ["svc-mgr agents single --agent-name worker gateway reminders list"],
  subCommands: () => import("./agent/reminders.ts").then((module) => module.reminderCommands),
});

/** What can be done to one agent, however it was named. */
const ofOneAgent: Commands = {
  ...lazyLeaves(["state", "prompt", "interrupt"], work),
  ...extensionCommands("svc-mgr agents single"),
  relaunch: () => import("./agent/lifecycle.ts").then((module) => module.relaunchCommand),
  mail: group({
    name: "mail",
    description: "the agent's mail, through its gateway or without one",
    examples: ["svc-mgr agents single --agent-name worker mail list"],
    subCommands: () => import("./agent/mail.ts").then((module) => module.agentMailCommands),
  }),
  mailbox: group({
    name: "mailbox",
    description: "which mailbox the agent has",
    examples: ["svc-mgr agents single --agent-name worker mailbox register"],
    subCommands: () => import("./agent/mailbox.ts").then((module) => module.agentMailboxCommands),
  }),
  requests: group({
    name: "requests",
    description: "look into the gateway's queue",
    examples: ["svc-mgr agents single --agent-name worker requests list"],
    subCommands: () => import("./agent/requests.ts").then((module) => module.requestCommands),
  }),
  turn: group({
    name: "turn",
    description: "the turns of a headless agent, each a separate process",
    examples: ['svc-mgr agents single --agent-name batch turn submit --prompt "run the tests" --wait'],
    subCommands: () => import("./agent/turn.ts").then((module) => module.turnCommands),
  }),
  gateway: group({
    name: "gateway",
    description: "the gateway beside the agent",
    examples: ["svc-mgr agents single --agent-name worker gateway status"],
    subCommands: {
      ...lazyLeaves(
        ["attach", "detach", "status", "prompt", "send-keys", "interrupt", "reconcile", "keep-requests"],
        () => import("./agent/gateway.ts").then((module) => module.gatewayCommands),
      ),
      tui: terminal,
      reminders,
      "mail-notifier": notifier,
    },
  }),
};

const targets: Flags = targetFlags;

export const agentsCommand: Command = group({
  name: "agents",
  description: "launch, find and drive agents",
  examples: ["svc-mgr agents launch --tool demo --agent-name first", "svc-mgr agents list"],
  subCommands: {
    launch: () => import("./agents-launch.ts").then((module) => module.default),
    list: list("svc-mgr agents"),
    watch: () => import("./agents-watch.ts").then((module) => module.default),
    single: async () =>
      group({
        name: "single",
        description: "one agent, by name or id",
        examples: ["svc-mgr agents single --agent-name worker state"],
        args: targets,
        subCommands: {
          ...ofOneAgent,
          // Not for `self`: an agent that stops its own session ends before it can update its record.
          ...lazyLeaves(["attach", "stop", "cleanup"], lifecycle),
        },
      }),
    self: async () =>
      group({
        name: "self",
        description: "the agent in whose session this runs",
        examples: ["svc-mgr agents self state"],
        subCommands: {
          ...ofOneAgent,
          ...lazyLeaves(["identity"], work),
          ...lazyLeaves(["join"], lifecycle),
        },
      }),
    global: async () =>
      group({
        name: "global",
        description: "all agents",
        examples: ["svc-mgr agents global list"],
        hidden: true,
        subCommands: { list: list("svc-mgr agents global") },
      }),
  },
});
