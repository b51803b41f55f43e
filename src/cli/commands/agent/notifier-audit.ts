import { command } from "../../command.ts";
import { toWholeNumber } from "../../flag-values.ts";
import { renderTable } from "../../format.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";

export default command({
  name: "audit",
  description: "what each poll found and decided, newest first",
  examples: ["svc-mgr agents single --agent-name worker gateway mail-notifier audit --limit 20"],
  args: {
    limit: { type: "string", description: "at most this many polls", valueHint: "N", default: "50" },
    before: { type: "string", description: "only polls before this number", valueHint: "ID" },
  },
  async run(invocation) {
    const { args } = invocation;
    const limit = toWholeNumber("limit", args.limit, 1, 1000) ?? 50;
    const before = toWholeNumber("before", args.before, 1, Number.MAX_SAFE_INTEGER);
    const { link } = await openLiveTarget(invocation);
    const query = { limit, ...(before === undefined ? {} : { before }) };
    const audit = bodyOf(await link.client.call("notifierAudit", { query }));
    const rows = audit.rows.map((row) => [
      String(row.audit_id),
      row.poll_time_utc,
      row.trigger,
      row.outcome,
      String(row.unread_count ?? "-"),
      String(row.prompt_chars),
      row.enqueued_request_id ?? row.detail ?? "",
    ]);
    const more = audit.next_before === null ? "" : `\nolder polls: --before ${audit.next_before}`;
    const header = ["ID", "AT", "TRIGGER", "OUTCOME", "MAIL", "CHARS", "REQUEST OR REASON"];
    return {
      json: audit,
      text: rows.length === 0 ? "no polls yet" : `${renderTable(header, rows)}${more}`,
    };
  },
});
