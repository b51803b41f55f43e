import { type Static, Type } from "@sinclair/typebox";
import { NonBlank, Nullable, Strict, StringEnum, shortList } from "./wire.ts";

const PermissionAction = StringEnum(["allow", "deny", "ask"]);
export type PermissionAction = Static<typeof PermissionAction>;

/** One rule of a policy. An omitted field matches every tool call. */
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

/** The first matching rule decides; without a match a person is asked. */
export const PermissionPolicy = Type.Array(PermissionRule, { maxItems: 1000 });
export type PermissionPolicy = Static<typeof PermissionPolicy>;

/** How an ACP agent is run, in the manifest and in each of its turns. */
export const AcpLaunch = Strict({
  mode: Nullable(
    Type.String({ description: "session mode that is set before a prompt; null: the agent's default mode" }),
  ),
  policy: PermissionPolicy,
  load: Type.Optional(
    StringEnum(["at_once", "next_minute"], {
      description:
        "next_minute: load only after the clock minute of the session's last use; an earlier load loses it",
    }),
  ),
});
export type AcpLaunch = Static<typeof AcpLaunch>;
