import { openTurns } from "../../agent-turns.ts";
import { command } from "../../command.ts";
import { writeArtifact } from "../../turn-artifact.ts";

export default command({
  name: "stdout",
  description: "print what a turn's tool wrote to its standard output, as it wrote it",
  examples: ["svc-mgr agents single --agent-name batch turn stdout turn-0123456789ab"],
  args: {
    turn: {
      type: "positional",
      required: false,
      description: "the turn's id; default: the newest that was begun",
    },
  },
  async run(invocation) {
    return writeArtifact(await openTurns(invocation), invocation, "stdout");
  },
});
