import { chooseTurn, openTurns } from "../../agent-turns.ts";
import { command } from "../../command.ts";

export default command({
  name: "events",
  description: "list what a headless agent said and did in a turn, also while it runs",
  examples: [
    "svc-mgr agents single --agent-name batch turn events",
    "svc-mgr agents single --agent-name batch turn events --detail --json",
  ],
  args: {
    turn: {
      type: "positional",
      required: false,
      description: "the turn's id; default: the newest that was begun",
    },
    detail: { type: "boolean", description: "with what each event carries" },
  },
  async run(invocation) {
    const { args } = invocation;
    const on = await openTurns(invocation);
    const { turn_id, tracked_agent_id } = await chooseTurn(on, args.turn);
    const found = on.turns.events(turn_id, 0)?.toArray() ?? [];
    const entries = args.detail ? found : found.map((event) => ({ ...event, payload: null }));
    const lines = entries.map((event) => {
      const data = event.payload ? ` ${JSON.stringify(event.payload.data)}` : "";
      return `${event.timestamp_utc}  ${event.kind.padEnd(14)}  ${event.message}${data}`;
    });
    return {
      json: { tracked_agent_id, turn_id, entries },
      text: lines.length === 0 ? "no events yet" : lines.join("\n"),
    };
  },
});
