import { type Static, Type } from "@sinclair/typebox";
import { AcpLaunch, PermissionPolicy } from "./acp-launch.ts";
import { AwaitingDecision } from "./terminal.ts";
import { NonBlank, Nullable, SchemaVersion1, Strict, Timestamp } from "./wire.ts";

/**
 * Agents that speak ACP: what is known of one as data, and the files by which its bridge and the gateway work
 * together.
 */

/** The file of `--permission-policy`. */
export const PermissionPolicyFile = Strict({ schema_version: SchemaVersion1, rules: PermissionPolicy });

const Variable = Type.Union([
  Type.String(),
  Strict({ program: NonBlank("the path of this program on PATH; left out where there is none") }),
]);

/** One ACP agent as data. */
export const AcpProfile = Strict({
  tool: Type.String({
    pattern: "^[a-z0-9][a-z0-9-]{0,40}-acp$",
    description: "its name for --tool; ends with -acp",
  }),
  command: Type.Array(NonBlank("executable, then arguments"), { minItems: 1, maxItems: 100 }),
  env: Type.Optional(Type.Record(Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]*$" }), Variable)),
  home_variable: Type.Optional(NonBlank("selects another home of the agent")),
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
  life: Nullable(Type.String({ description: "of the agent, as in its manifest" })),
  runner_pid: Type.Integer(),
  runner_start: Nullable(Type.String()),
  child_pid: Nullable(Type.Integer({ description: "the agent process; null while there is none" })),
  child_start: Nullable(Type.String()),
});
export type AcpBridgeRecord = Static<typeof AcpBridgeRecord>;

/** acp/next.json of a session: the turn that its bridge has to run. */
export const AcpNextTurn = Strict({ schema_version: SchemaVersion1, turn_id: Type.String() });

/** question.json of a turn: a permission that the agent asks for and nobody has answered. */
export const AcpQuestion = Strict({ schema_version: SchemaVersion1, decision: AwaitingDecision });
export type AcpQuestion = Static<typeof AcpQuestion>;

/** answer.json of a turn. */
export const AcpAnswer = Strict({
  schema_version: SchemaVersion1,
  id: Type.String({ description: "`decision.id` of the question" }),
  index: Type.Integer({ minimum: 1, description: "of the option" }),
  answered_at_utc: Timestamp,
});
