import { forgetAgent, planForgetting } from "../../../services/fleet/forget-agent.ts";
import { ServiceError } from "../../../system/errors.ts";
import { command } from "../../command.ts";
import { confirmed } from "../../confirm.ts";
import { openRecordTarget } from "../../target.ts";

export default command({
  name: "cleanup",
  description:
    "remove what an agent that has ended left: its record, its prompts, turns and logs; never mail",
  examples: [
    "svc-mgr agents single --agent-name worker cleanup --dry-run",
    "svc-mgr agents single --agent-name worker cleanup --yes",
  ],
  args: {
    "dry-run": { type: "boolean", description: "say what would be removed and change nothing" },
    yes: { type: "boolean", description: "do not ask at the terminal" },
  },
  async run(invocation) {
    const { args, io } = invocation;
    const { world, record } = openRecordTarget(invocation);
    const left = await planForgetting(world, record);
    const { agent_name, agent_id } = record;
    const answer = { agent_name, agent_id, session_root: left.sessionRoot };
    if (args["dry-run"]) {
      const what = left.sessionRoot ?? "no folder, only its record";
      return { json: { ...answer, removed: false }, text: `would remove "${agent_name}": ${what}` };
    }
    await confirmed(io, `Remove all that "${agent_name}" left, its prompts and turns included?`, args.yes);
    if (!(await forgetAgent(world, left))) {
      throw new ServiceError("conflict", `"${agent_name}" was launched again meanwhile; nothing was removed`);
    }
    return { json: { ...answer, removed: true }, text: `removed what "${agent_name}" left` };
  },
});
