import { openTurns, waitForTurn } from "../../agent-turns.ts";
import { command } from "../../command.ts";
import { toWholeNumber } from "../../flag-values.ts";

export default command({
  name: "wait",
  description: "wait until a turn has ended; exit code 1 when it failed or was interrupted",
  examples: ["svc-mgr agents single --agent-name batch turn wait turn-0123456789ab --timeout 3600"],
  args: {
    turn: {
      type: "positional",
      required: false,
      description: "the turn's id; default: that of the prompt submitted last, begun or not",
    },
    timeout: { type: "string", description: "how long to wait", valueHint: "SECONDS", default: "600" },
  },
  async run(invocation) {
    const { args } = invocation;
    const timeoutSeconds = toWholeNumber("timeout", args.timeout, 1, 7 * 86_400) ?? 600;
    return waitForTurn(await openTurns(invocation), args.turn, timeoutSeconds);
  },
});
