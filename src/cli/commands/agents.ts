import { type Flags, group, type LazyCommand } from "../command.ts";
import { mailCommands } from "../mail-commands.ts";
import { targetFlags } from "../shared-flags.ts";

const list =
  (words: string): LazyCommand =>
  () =>
    import("./agents-list.ts").then((module) => module.listCommand(words));

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
const ofOneAgent: Record<string, LazyCommand> = {
  state: () => import("./agent/state.ts").then((module) => module.default),
  prompt: () => import("./agent/prompt.ts").then((module) => module.default),
  interrupt: () => import("./agent/interrupt.ts").then((module) => module.default),
  relaunch: () => import("./agent/relaunch.ts").then((module) => module.default),
  mail: async () =>
    group({
      name: "mail",
      description: "the agent's mail, through its gateway or without one",
      examples: ["svc-mgr agents single --agent-name worker mail list"],
      subCommands: {
        "resolve-live": () => import("./agent/mail-resolve-live.ts").then((module) => module.default),
        ...mailCommands,
      },
    }),
  mailbox: async () =>
    group({
      name: "mailbox",
      description: "which mailbox the agent has",
      examples: ["svc-mgr agents single --agent-name worker mailbox register"],
      subCommands: {
        register: () => import("./agent/mailbox-register.ts").then((module) => module.default),
        unregister: () => import("./agent/mailbox-unregister.ts").then((module) => module.default),
        status: () => import("./agent/mailbox-status.ts").then((module) => module.default),
      },
    }),
  requests: async () =>
    group({
      name: "requests",
      description: "look into the gateway's queue",
      examples: ["svc-mgr agents single --agent-name worker requests list"],
      subCommands: {
        list: () => import("./agent/requests-list.ts").then((module) => module.default),
        show: () => import("./agent/requests-show.ts").then((module) => module.default),
      },
    }),
  turn: async () =>
    group({
      name: "turn",
      description: "the turns of a headless agent, each a process of its own",
      examples: ['svc-mgr agents single --agent-name batch turn submit --prompt "run the tests" --wait'],
      subCommands: {
        submit: () => import("./agent/turn-submit.ts").then((module) => module.default),
        status: () => import("./agent/turn-status.ts").then((module) => module.default),
        events: () => import("./agent/turn-events.ts").then((module) => module.default),
        stdout: () => import("./agent/turn-stdout.ts").then((module) => module.default),
        stderr: () => import("./agent/turn-stderr.ts").then((module) => module.default),
        wait: () => import("./agent/turn-wait.ts").then((module) => module.default),
      },
    }),
  gateway: async () =>
    group({
      name: "gateway",
      description: "the gateway beside the agent",
      examples: ["svc-mgr agents single --agent-name worker gateway status"],
      subCommands: {
        attach: () => import("./agent/gateway-attach.ts").then((module) => module.default),
        detach: () => import("./agent/gateway-detach.ts").then((module) => module.default),
        status: () => import("./agent/gateway-status.ts").then((module) => module.default),
        prompt: () => import("./agent/gateway-prompt.ts").then((module) => module.default),
        "send-keys": () => import("./agent/gateway-send-keys.ts").then((module) => module.default),
        interrupt: () => import("./agent/gateway-interrupt.ts").then((module) => module.default),
        reconcile: () => import("./agent/gateway-reconcile.ts").then((module) => module.default),
        tui: terminal,
        reminders,
        "mail-notifier": notifier,
      },
    }),
};

const targets: Flags = targetFlags;

export default group({
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
          // Neither is for `self`: whoever stops its own session is gone before the record says so.
          stop: () => import("./agent/stop.ts").then((module) => module.default),
          cleanup: () => import("./agent/cleanup.ts").then((module) => module.default),
        },
      }),
    self: async () =>
      group({
        name: "self",
        description: "the agent in whose session this runs",
        examples: ["svc-mgr agents self state"],
        subCommands: {
          ...ofOneAgent,
          identity: () => import("./agent/identity.ts").then((module) => module.default),
          join: () => import("./agent/self-join.ts").then((module) => module.default),
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
