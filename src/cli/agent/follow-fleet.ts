import { createDirectory } from "../../services/fleet/directory.ts";
import { type AgentSnapshot, listSnapshots } from "../../services/fleet/fleet-list.ts";
import { createFleetReader, sessionBy } from "../../services/fleet/fleet-reader.ts";
import { createFleetWatch, type FleetChange, openFleetHints } from "../../services/fleet/fleet-watch.ts";
import { createLinks } from "../../services/fleet/links.ts";
import { createLiveness } from "../../services/fleet/liveness.ts";
import { sleep } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { CliContext } from "../command-line/cli-context.ts";
import { mailboxOpeners } from "../command-line/mailbox-openers.ts";

/** Between the end of one stream of hints and the next. */
const reopenMs = 500;

/**
 * Reports changes of all agents that run, until `stopped` aborts and `shown` has resolved. `onSource`: the
 * coordination server that the hints come through, or null. Rejects when `onChange` does: the reader has
 * gone.
 */
export async function followFleet(options: {
  context: CliContext;
  /** A fault that it goes on with. */
  onWarning: (text: string) => void;
  stopped: AbortSignal;
  onChange: (change: FleetChange<AgentSnapshot>) => Promise<void>;
  onSource?: (coordinator: string | null) => void;
  shown: Promise<void>;
}): Promise<void> {
  const { context, onWarning, onChange, onSource = () => {} } = options;
  const over = new AbortController();
  const stopped = AbortSignal.any([options.stopped, over.signal]);
  const unread = Promise.withResolvers<never>();
  const openers = mailboxOpeners(context, onWarning);
  const directory = createDirectory({ ...context, registryRoot: context.roots.registryRoot });
  const links = createLinks(context);
  const reader = createFleetReader({ ...context, links, sessionOf: sessionBy(createLiveness(context).of) });
  const watch = createFleetWatch<AgentSnapshot>({
    clock: context.clock,
    directory,
    look: (agents) => listSnapshots({ reader, openers, clock: context.clock }, agents),
    // A reader that has gone ends the command, not only this one look.
    onChange: (change) => onChange(change).catch(unread.reject),
    onError: (error) => onWarning(messageOf(error)),
  });

  async function followHints(): Promise<void> {
    const deps = {
      ...context,
      runtimeRoot: context.roots.runtimeRoot,
      directory,
      links,
      onError: (error: unknown) => onWarning(messageOf(error)),
    };
    while (!stopped.aborted) {
      const hints = await openFleetHints(deps, stopped);
      onSource(hints.via);
      for await (const agentId of hints.agentIds) watch.hint(agentId);
      await sleep(context.clock, reopenMs, stopped);
    }
  }

  try {
    watch.start();
    await Promise.race([Promise.all([options.shown, followHints()]), unread.promise]);
  } finally {
    over.abort();
    await watch.stop();
    for (const opener of Object.values(openers)) opener.close();
  }
}
