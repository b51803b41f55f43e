import type { Progress } from "../../../services/mail/filesystem/upkeep/maintenance.ts";
import { visibleLine } from "../../../system/visible.ts";
import type { CliIo } from "../../command-line/command.ts";
import { CommandFailure, exitCodes } from "../../command-line/dispatch.ts";

const leastStep = 0.01;

/** One line at the terminal that is painted over as the work goes on; nothing where nobody looks. */
function paintProgress(io: CliIo): { show: (progress: Progress) => void; clear: () => Promise<void> } {
  let shown = "";
  let lastShare = -1;
  const write = (text: string) => void io.writeScreen("stderr", text).catch(() => {});
  return {
    show({ step, done, total }) {
      if (!io.stderrIsTty) return;
      const share = total ? done / total : 0;
      const isNew = !shown.startsWith(step);
      if (!isNew && total !== null && share < 1 && share - lastShare < leastStep) return;
      lastShare = share;
      shown = total === null ? `${step} ${done}` : `${step} ${done} of ${total}`;
      write(`\r\x1b[K${visibleLine(shown).slice(0, io.columns - 1)}`);
    },
    async clear() {
      if (shown !== "") await io.writeScreen("stderr", "\r\x1b[K");
    },
  };
}

/**
 * Runs work that takes its time: it says how far it is, and Ctrl-C ends it where everything it did so far
 * holds. `afterInterrupt`: what a person may rely on then.
 */
export async function withProgress<T>(
  io: CliIo,
  afterInterrupt: string,
  work: (options: { signal: AbortSignal; onProgress: (progress: Progress) => void }) => Promise<T>,
): Promise<T> {
  const signal = io.interrupted();
  const { show, clear } = paintProgress(io);
  try {
    return await work({ signal, onProgress: show });
  } catch (error) {
    if (signal.aborted) throw new CommandFailure(exitCodes.interrupted, `interrupted; ${afterInterrupt}`);
    throw error;
  } finally {
    await clear();
  }
}
