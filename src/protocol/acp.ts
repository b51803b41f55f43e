import { type Static, Type } from "@sinclair/typebox";
import { AcpLaunch, PermissionPolicy } from "./acp-launch.ts";
import { AwaitingDecision } from "./terminal.ts";
import { NonBlank, Nullable, SchemaVersion1, Strict, Timestamp } from "./wire.ts";

/**
 * ACP agents: their profiles, and the files that the bridge of an agent and its gateway exchange.
 */

/** The file of `--permission-policy`. */
export const PermissionPolicyFile = Strict({ schema_version: SchemaVersion1, rules: PermissionPolicy });

const Variable = Type.Union([
  Type.String(),
  Strict({
    program: NonBlank(
      "the value is this program's path on PATH; without the program, the variable is not set",
    ),
  }),
]);

/** The profile of one ACP agent. */
export const AcpProfile = Strict({
  tool: Type.String({
    pattern: "^[a-z0-9][a-z0-9-]{0,40}-acp$",
    description: "its name for --tool; ends with -acp",
  }),
  command: Type.Array(NonBlank("executable, then arguments"), { minItems: 1, maxItems: 100 }),
  env: Type.Optional(Type.Record(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }), Variable)),
  home_variable: Type.Optional(NonBlank("environment variable that selects the agent's home folder")),
  modes: Type.Optional(
    Strict({
      ask: Type.Optional(NonBlank("its mode that asks before it acts")),
      unattended: Type.Optional(NonBlank("its mode that asks nothing")),
    }),
  ),
  load: AcpLaunch.properties.load,
  install: Type.Optional(NonBlank("how to get it, as a sentence")),
});
export type AcpProfile = Static<typeof AcpProfile>;

/** The file that SVC_ACP_PROFILES names. */
export const AcpProfileFile = Strict({
  schema_version: SchemaVersion1,
  agents: Type.Array(AcpProfile, { maxItems: 1000 }),
});

/** acp/host.json of a session: the bridge that owns its agent process. */
export const AcpBridgeRecord = Strict({
  schema_version: SchemaVersion1,
  life: Nullable(Type.String({ description: "instance id of the agent, as in its manifest" })),
  runner_pid: Type.Integer(),
  runner_start: Nullable(Type.String()),
  child_pid: Nullable(Type.Integer({ description: "the agent process; null while there is none" })),
  child_start: Nullable(Type.String()),
});
export type AcpBridgeRecord = Static<typeof AcpBridgeRecord>;

/** acp/next.json of a session: the next turn of its bridge. */
export const AcpNextTurn = Strict({ schema_version: SchemaVersion1, turn_id: Type.String() });

/** question.json of a turn: a permission request of the agent that has no answer yet. */
export const AcpQuestion = Strict({ schema_version: SchemaVersion1, decision: AwaitingDecision });
export type AcpQuestion = Static<typeof AcpQuestion>;

/** answer.json of a turn: the option that was chosen. */
export const AcpAnswer = Strict({
  schema_version: SchemaVersion1,
  id: Type.String({ description: "`decision.id` of the question" }),
  index: Type.Integer({ minimum: 1, description: "number of the option, from 1" }),
  answered_at_utc: Timestamp,
});
