import { type Static, Type } from "@sinclair/typebox";
import { patterns } from "./enforced.ts";
import { NotifierMode, WakePolicy } from "./notifier.ts";
import { NonBlank, Nullable, SchemaVersion1, Strict, StringEnum } from "./wire.ts";

/**
 * The file `svc.yaml`: the agents of a project and the people with a mailbox. Paths are relative to its
 * folder.
 */

const TeamNotifier = Strict(
  {
    enabled: Type.Optional(Type.Boolean({ description: "default: true" })),
    mode: Type.Optional({
      ...NotifierMode,
      description: "which mail wakes the agent: all of the inbox, or unread mail",
    }),
    interval_seconds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 86_400, description: "seconds between polls of the mailbox" }),
    ),
    wake_policy: Type.Optional({ ...WakePolicy, description: "default: on_change" }),
    max_wakes_per_hour: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 3600,
        description: "maximum wake-ups within an hour; default: 12; 0: no limit",
      }),
    ),
    max_hops: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 1000,
        description: "a message after this many replies wakes nobody; default: 20; 0: no limit",
      }),
    ),
    require_attestation: Type.Optional(
      StringEnum(["none", "verified"], {
        description: "verified: only mail that its sender's mailbox signed wakes the agent; default: none",
      }),
    ),
    appendix_text: Type.Optional(Type.String({ description: "guidance in every wake-up" })),
  },
  { description: "wakes the agent when mail arrives; needs `mailbox: true`" },
);

const eventName = "^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$";

const TeamReminder = Strict({
  prompt: NonBlank("the text to submit"),
  every_seconds: Type.Number({
    minimum: 1,
    maximum: 31_536_000,
    description: "seconds from one time to the next, and from `up` to the first",
  }),
});

const TeamSchedule = Strict({
  prompt: NonBlank("the text to submit"),
  cron: Type.String({
    pattern: patterns.cron,
    maxLength: 200,
    description: 'minute, hour, day of month, month, day of week, such as "30 9 * * 1-5"',
  }),
  time_zone: Type.Optional(NonBlank("an IANA name such as Europe/Berlin; default: UTC")),
});

export const TeamAgent = Strict({
  tool: StringEnum(["claude", "codex", "gemini", "opencode", "kimi", "demo"]),
  workdir: Type.Optional(NonBlank("working directory; default: the folder of the file")),
  worktree: Type.Optional(
    Type.Boolean({ description: "a separate git worktree on branch svc/NAME; not with `workdir`" }),
  ),
  role_file: Type.Optional(NonBlank("text file with the agent's role; below the folder of the file")),
  model: Type.Optional(NonBlank("model of its turns; needs `headless: true`")),
  args: Type.Optional(Type.Array(Type.String(), { maxItems: 64, description: "arguments of the tool" })),
  env: Type.Optional(Type.Record(Type.String(), Type.String(), { description: "variables of the agent" })),
  env_file: Type.Optional(
    NonBlank("further variables, NAME=VALUE on each line; below the folder of the file"),
  ),
  headless: Type.Optional(Type.Boolean({ description: "each turn is a separate process" })),
  unattended: Type.Optional(Type.Boolean({ description: "skip the tool's permissions and sandboxes" })),
  mailbox: Type.Optional(Type.Boolean({ description: "gives the agent the mailbox NAME@svc.localhost" })),
  notifier: Type.Optional(TeamNotifier),
  reminders: Type.Optional(
    Type.Record(Type.String({ pattern: eventName }), TeamReminder, {
      additionalProperties: false,
      description: "prompts at an interval, by name; they survive a restart of the gateway",
    }),
  ),
  schedules: Type.Optional(
    Type.Record(Type.String({ pattern: eventName }), TeamSchedule, {
      additionalProperties: false,
      description: "prompts at times of the calendar, by name; they survive a restart of the gateway",
    }),
  ),
});
export type TeamAgent = Static<typeof TeamAgent>;

const TeamPerson = Strict({
  address: Type.Optional(
    Type.String({ pattern: patterns.address, maxLength: 200, description: "default: NAME@svc.localhost" }),
  ),
});

export const TeamFile = Strict(
  {
    version: Type.Literal(1),
    agents: Type.Record(Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" }), TeamAgent, {
      additionalProperties: false,
      description: "by name",
    }),
    people: Type.Optional(
      Type.Record(Type.String({ pattern: "^[a-z0-9][a-z0-9._-]{0,63}$" }), TeamPerson, {
        additionalProperties: false,
        description: "people with a mailbox, by name",
      }),
    ),
    groups: Type.Optional(
      Type.Record(
        Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" }),
        Type.Array(Type.String(), { minItems: 1, maxItems: 200 }),
        {
          additionalProperties: false,
          description: "names of agents and people under one name, for prompts and mail to `@NAME`",
        },
      ),
    ),
  },
  { title: "svc.yaml", description: "the agents of a project" },
);
export type TeamFile = Static<typeof TeamFile>;

/** The launch options of an agent. Variables are a digest, since they may be secrets. */
export const TeamLaunch = Strict({
  tool: Type.String(),
  workdir: Type.String(),
  worktree: Type.Boolean(),
  args: Type.Array(Type.String()),
  headless: Type.Boolean(),
  unattended: Type.Boolean(),
  mailbox: Type.Boolean(),
  model: Nullable(Type.String()),
  role_sha256: Nullable(Type.String()),
  env_sha256: Type.String(),
});
export type TeamLaunch = Static<typeof TeamLaunch>;

/**
 * The agents that `up` launched, in the user's state folder. `agents`: by their name in the file, without
 * `prefix`.
 */
export const TeamRecord = Strict({
  schema_version: SchemaVersion1,
  team_file: Type.String(),
  prefix: Type.Optional(Type.String()),
  agents: Type.Record(
    Type.String(),
    Strict({
      agent_id: Type.String(),
      launch: TeamLaunch,
      /** The agent's registry record names its owner. Absent: an `up` of an earlier version launched it. */
      owned: Type.Optional(Type.Literal(true)),
      reminders: Type.Optional(
        Type.Record(Type.String(), Strict({ reminder_id: Type.String(), sha256: Type.String() })),
      ),
    }),
  ),
});
export type TeamRecord = Static<typeof TeamRecord>;
