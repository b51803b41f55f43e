import { type Static, Type } from "@sinclair/typebox";
import { NonBlank, Nullable, Strict, StringEnum, shortList } from "./wire.ts";

const PermissionAction = StringEnum(["allow", "deny", "ask"]);
export type PermissionAction = Static<typeof PermissionAction>;

/** One rule of a policy; what it does not name fits. */
const PermissionRule = Strict({
  action: PermissionAction,
  kinds: Type.Optional(
    Type.Array(
      NonBlank("kind of a tool call: read, edit, delete, move, search, execute, fetch, ..."),
      shortList,
    ),
  ),
  title: Type.Optional(
    NonBlank("the title of the tool call, `*` for any text; without regard to case", { maxLength: 1000 }),
  ),
});

/** The first rule that fits decides; where none does, a person is asked. */
export const PermissionPolicy = Type.Array(PermissionRule, { maxItems: 1000 });
export type PermissionPolicy = Static<typeof PermissionPolicy>;

/** How an ACP agent is run, in the manifest and in each of its turns. */
export const AcpLaunch = Strict({
  mode: Nullable(
    Type.String({ description: "session mode that is set before a prompt; null: the agent's own" }),
  ),
  policy: PermissionPolicy,
  load: Type.Optional(
    StringEnum(["at_once", "next_minute"], {
      description: "next_minute: a load within the clock minute of the session's last use would lose it",
    }),
  ),
});
export type AcpLaunch = Static<typeof AcpLaunch>;
