import { command } from "../../command.ts";
import { toWholeNumber } from "../../flag-values.ts";
import { renderTable } from "../../format.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { renderTerminalLine } from "../../terminal-text.ts";

export default command({
  name: "history",
  description: "show what the agent's terminal showed, newest last",
  examples: ["svc-mgr agents single --agent-name worker gateway tui history --limit 20"],
  args: {
    limit: { type: "string", description: "how many samples, at most 1000", valueHint: "N", default: "100" },
  },
  async run(invocation) {
    const limit = toWholeNumber("limit", invocation.args.limit, 1, 1000) ?? 100;
    const { link } = await openLiveTarget(invocation);
    const history = bodyOf(await link.client.call("terminalHistory", { query: { limit } }));
    const rows = history.entries.map((entry) => [entry.recorded_at_utc, renderTerminalLine(entry)]);
    return { json: history, text: rows.length === 0 ? "nothing yet" : renderTable(["AT", "STATE"], rows) };
  },
});
