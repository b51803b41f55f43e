import { chooseTurn, openTurns, renderTurn } from "../../agent-turns.ts";
import { command } from "../../command.ts";

export default command({
  name: "status",
  description: "show one turn of a headless agent: running, or how it ended",
  examples: ["svc-mgr agents single --agent-name batch turn status"],
  args: {
    turn: {
      type: "positional",
      required: false,
      description: "the turn's id; default: the newest that was begun",
    },
  },
  async run(invocation) {
    const turn = await chooseTurn(await openTurns(invocation), invocation.args.turn);
    return { json: turn, text: renderTurn(turn) };
  },
});
