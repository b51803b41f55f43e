import { performMail } from "../../agent-mail.ts";
import { command } from "../../command.ts";
import { toWholeNumber } from "../../flag-values.ts";
import { choice } from "../../mail-flags.ts";
import { openMailTarget } from "../../mail-target.ts";
import { renderMailList } from "../../mail-text.ts";

export default command({
  name: "list",
  description: "list the mail, newest first",
  examples: [
    "svc-mgr agents single --agent-name worker mail list --read-state unread",
    "svc-mgr agents self mail list --box sent --limit 10 --json",
  ],
  args: {
    box: {
      type: "string",
      description: "inbox (default), sent, archive, ...; with --archived it is archive",
      valueHint: "BOX",
    },
    "read-state": {
      type: "enum",
      options: ["any", "read", "unread"],
      description: "only mail in this state",
      default: "any",
    },
    "answered-state": {
      type: "enum",
      options: ["any", "answered", "unanswered"],
      description: "only mail in this state",
      default: "any",
    },
    archived: { type: "boolean", description: "only what is archived" },
    "not-archived": { type: "boolean", description: "only what is not" },
    limit: { type: "string", description: "at most this many; default: all", valueHint: "N" },
    since: { type: "string", description: "not older than this (RFC 3339)", valueHint: "TIME" },
    "include-body": { type: "boolean", description: "with the whole text of each (--json)" },
    query: {
      type: "string",
      description: "only what has these words in subject, sender or text",
      valueHint: "WORDS",
    },
    cursor: {
      type: "string",
      description: "what follows the page whose answer named it",
      valueHint: "CURSOR",
    },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const archived = choice(args.archived, args["not-archived"], ["archived", "not-archived"]);
    const limit = toWholeNumber("limit", args.limit, 1, Number.MAX_SAFE_INTEGER);
    const target = await openMailTarget(invocation);
    const { done } = await performMail(target, "list", {
      schema_version: 1,
      box: args.box ?? (archived === true ? "archive" : "inbox"),
      read_state: args["read-state"],
      answered_state: args["answered-state"],
      ...(archived === undefined ? {} : { archived }),
      ...(limit === undefined ? {} : { limit }),
      ...(args.since === undefined ? {} : { since: args.since }),
      ...(args["include-body"] ? { include_body: true } : {}),
      ...(args.query === undefined ? {} : { query: args.query }),
      ...(args.cursor === undefined ? {} : { cursor: args.cursor }),
    });
    return { json: done, text: renderMailList(done, io.columns) };
  },
});
