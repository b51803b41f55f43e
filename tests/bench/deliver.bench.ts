import type { ControlConnection } from "../../src/services/terminal/tmux-control.ts";
import { quoteArgument } from "../../src/services/terminal/tmux-protocol.ts";
import { type Bench, durationRows, type Row } from "./bench.ts";
import { createBenchLab } from "./lab.ts";

const rounds = 12;
const prompt = "Say what you find.\nFAST";

/**
 * From the first byte of a request to the first byte that an idle agent paints of its prompt, as another tmux
 * client sees it. Beside a paste written straight to a control-mode client and a forked `tmux send-keys`, to an
 * agent of the same kind that has no gateway.
 */
const bench: Bench = {
  name: "deliver",
  async run() {
    await using lab = await createBenchLab();
    const served = await lab.launch("served");
    const alone = await lab.launch("alone");
    const gateway = await served.serve();
    const seen = await lab.tmux.control(served.manifest.tmux_session_name);
    const raw = await lab.tmux.control(alone.manifest.tmux_session_name);
    const contestants = {
      ours: () => timeToOutput(seen, served.paneId, () => gateway.submit(prompt)),
      control: () => timeToOutput(raw, alone.paneId, () => paste(raw, alone.paneId)),
      forked: () =>
        timeToOutput(raw, alone.paneId, () =>
          lab.tmux.run("send-keys", "-t", alone.paneId, "-l", "Say what you find."),
        ),
    };
    const durations: Record<"ours" | "control" | "forked", number[]> = { ours: [], control: [], forked: [] };
    for (let round = -2; round < rounds; round++) {
      for (const name of ["ours", "control", "forked"] as const) {
        await gateway.whenReady();
        const duration = await contestants[name]();
        if (round >= 0) durations[name].push(duration);
        if (name !== "ours") await clear(raw, alone.paneId);
      }
    }
    return [
      ...durationRows("deliver", durations.ours, durations.control).map(unprefixed),
      ...durationRows("forked_send_keys", durations.forked),
    ];
  },
};

export default bench;

/** The aim's own names: `p50_ms`, not `deliver_p50_ms`. */
function unprefixed(row: Row): Row {
  return { ...row, metric: row.metric.replace("deliver_", "") };
}

/** Milliseconds from the call of `act` to the pane's next output. The pane must be quiet. */
async function timeToOutput(
  control: ControlConnection,
  paneId: string,
  act: () => Promise<unknown>,
): Promise<number> {
  const painted = Promise.withResolvers<number>();
  const deaf = control.onOutput(paneId, () => painted.resolve(performance.now()));
  // An answered command comes after whatever the pane wrote before.
  await control.command("display-message -p quiet");
  const startedMs = performance.now();
  const [endedMs] = await Promise.all([painted.promise, act()]);
  deaf();
  return endedMs - startedMs;
}

async function paste(control: ControlConnection, paneId: string): Promise<void> {
  const text = quoteArgument(Buffer.from(prompt));
  await Promise.all([
    control.command(`set-buffer -b bench -- ${text}`),
    control.command(`paste-buffer -d -p -r -b bench -t ${paneId}`),
  ]);
}

/** Empties the composer and waits for the repaint. */
async function clear(control: ControlConnection, paneId: string): Promise<void> {
  await timeToOutput(control, paneId, () => control.command(`send-keys -t ${paneId} C-u`));
  await Bun.sleep(50);
}
