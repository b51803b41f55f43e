import { aborted } from "../../system/clock.ts";
import { CommandFailure, exitCodes } from "./dispatch.ts";

/**
 * The value of `work`; exit 130 as soon as `signal` aborts, at once when it has: `work` is then not begun, or
 * left to itself. `state`: what holds then and what to do, for people. `facts`: for the JSON document.
 */
export async function unlessInterrupted<T>(
  signal: AbortSignal,
  state: string,
  work: () => Promise<T>,
  facts: object = {},
): Promise<T> {
  const interruption = () => {
    const detail = `interrupted; ${state}`;
    return new CommandFailure(exitCodes.interrupted, detail, { error: "interrupted", detail, ...facts });
  };
  if (signal.aborted) throw interruption();
  return Promise.race([
    work(),
    aborted(signal).then(() => {
      throw interruption();
    }),
  ]);
}
