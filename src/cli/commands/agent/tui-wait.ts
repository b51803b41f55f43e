import type { WaitFor } from "../../../protocol/terminal.ts";
import { command, UsageError } from "../../command.ts";
import { exitCodes } from "../../dispatch.ts";
import { bodyOf } from "../../gateway-call.ts";
import { openLiveTarget } from "../../target.ts";
import { renderTerminal } from "../../terminal-text.ts";

/** How much later than the gateway the command gives up. */
const graceMs = 5000;

export default command({
  name: "wait",
  description:
    "wait until the agent is ready for a prompt, busy, or asks a person; exits 1 when time is over",
  examples: [
    "svc-mgr agents single --agent-name worker gateway tui wait --for ready",
    "svc-mgr agents single --agent-name worker gateway tui wait --for decision --timeout 600 --json",
  ],
  args: {
    for: {
      type: "enum",
      options: ["ready", "busy", "decision"] satisfies WaitFor[],
      required: true,
      description: "ready: a prompt could be given; busy: a turn runs; decision: a question is asked",
    },
    timeout: {
      type: "string",
      description: "how long to wait, at most 3600; 0 looks once",
      valueHint: "SECONDS",
      default: "30",
    },
  },
  async run(invocation) {
    const { for: wanted, timeout } = invocation.args;
    const seconds = toSeconds(timeout);
    const { link } = await openLiveTarget(invocation);
    const result = bodyOf(
      await link.client.call("wait", {
        query: { for: wanted, timeout_seconds: seconds },
        timeoutMs: seconds * 1000 + graceMs,
      }),
    );
    const { satisfied, waited_seconds, state } = result;
    const outcome = satisfied
      ? `${wanted} after ${waited_seconds} s`
      : `not ${wanted} within ${waited_seconds} s`;
    return {
      json: result,
      text: satisfied ? outcome : `${outcome}\n${renderTerminal(state)}`,
      exitCode: satisfied ? exitCodes.done : exitCodes.refused,
    };
  },
});

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (text.trim() !== "" && seconds >= 0 && seconds <= 3600) return seconds;
  throw new UsageError(`--timeout must be a number from 0 to 3600, not "${text}"`);
}
