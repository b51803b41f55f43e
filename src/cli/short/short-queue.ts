import { command, UsageError } from "../command-line/command.ts";
import { wordsOf } from "../command-line/flag-values.ts";
import { nameOnly, textOf, toNamed } from "../command-line/shared-flags.ts";
import { gatewayCommands } from "../commands/agent/gateway.ts";
import { requestCommands } from "../commands/agent/requests.ts";

const { list, withdraw, resubmit } = requestCommands;

/** What waits for an agent, and what failed. */
export const queueCommands = {
  queue: command({
    name: "queue",
    description: "show what waits for the agent, the next one first: number, from whom, reason, text",
    examples: ["svc queue worker", "svc queue worker --json"],
    args: nameOnly,
    run: (invocation) => list.call(toNamed(invocation), { waiting: true }),
  }),
  drop: command({
    name: "drop",
    description: "take back prompts that wait, by the numbers that `svc queue` shows, or all",
    examples: ["svc drop worker 12", "svc drop worker 12 14", "svc drop worker --all"],
    args: { ...nameOnly, numbers: textOf("numbers of prompts"), all: withdraw.flags.all },
    run(invocation) {
      const { numbers: requests, all } = invocation.args;
      return withdraw.call(toNamed(invocation), { requests, all });
    },
  }),
  fix: command({
    name: "fix",
    description:
      "start its gateway where none runs, and open a queue that a relaunch closed: what the earlier instance did not do fails; --again submits failed prompts again",
    examples: ["svc fix worker", "svc fix worker --again", "svc fix worker --again 12 --yes"],
    args: {
      ...nameOnly,
      numbers: textOf(
        "with --again: numbers of the prompts; default: those after which nobody gave new work",
      ),
      again: {
        type: "boolean",
        description: "then submit again what failed or has an unknown outcome, after showing it",
      },
      yes: { ...resubmit.flags.yes, description: "with --again: do not ask" },
    },
    async run(invocation) {
      const { args, io, inherited, path } = invocation;
      if (!args.again && (wordsOf(args.numbers).length > 0 || args.yes)) {
        throw new UsageError("numbers and --yes go with --again", path);
      }
      const caller = toNamed(invocation);
      const attached = await gatewayCommands.attach.call(caller, { reconcile: true });
      if (!args.again) return attached;
      // One document is printed: what is submitted again.
      if (inherited["json"] !== true) await io.writeOut(`${attached.text}\n`);
      return resubmit.call(caller, { requests: args.numbers, yes: args.yes });
    },
  }),
};
