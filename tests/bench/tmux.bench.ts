import { createTmux } from "../support/tmux.ts";
import { type Bench, durationRows, takeTurns } from "./bench.ts";
import { effort } from "./effort.ts";

/** What one look at a pane costs over the persistent connection, beside a tmux process started for it. */
const bench: Bench = {
  name: "tmux",
  async run() {
    await using server = await createTmux();
    const pane = await server.newSession("bench", ["cat"]);
    const control = await server.control("bench");
    const look = ["display-message", "-p", "-t", pane.paneId, "#{pane_id}"];
    const capture = ["capture-pane", "-p", "-t", pane.paneId];
    const durations = await takeTurns(
      [
        { name: "control", run: () => control.run([look]) },
        { name: "forked", run: () => server.run(...look) },
        { name: "control_capture", run: () => control.run([capture]) },
        { name: "forked_capture", run: () => server.run(...capture) },
      ],
      { rounds: effort(200, 50), warmUp: 10 },
    );
    const of = (name: string) => durations[name] ?? [];
    return [
      ...durationRows("control_round_trip", of("control"), of("forked")),
      ...durationRows("control_capture", of("control_capture"), of("forked_capture")),
    ];
  },
};

export default bench;
