import type { ControlConnection } from "../../src/services/terminal/tmux/control.ts";
import { type Bench, durationRows } from "./bench.ts";
import { effort } from "./effort.ts";
import { createBenchFixture } from "./fixture.ts";

const rounds = effort(12, 2);
const prompt = "Say what you find.\nFAST";

/**
 * From the first byte of a request to the first byte that an idle agent paints of its prompt, as another tmux
 * client sees it. Beside a paste written straight to a control-mode client and a forked `tmux send-keys`, to
 * an agent of the same kind that has no gateway.
 */
const bench: Bench = {
  name: "deliver",
  async run() {
    await using fixture = await createBenchFixture();
    const served = await fixture.launch("served");
    const alone = await fixture.launch("alone");
    const gateway = await served.serve();
    const seen = await fixture.tmux.control(served.manifest.tmux_session_name);
    const raw = await fixture.tmux.control(alone.manifest.tmux_session_name);
    const contestants = {
      ours: async () => {
        await using request = await openRequest(gateway.baseUrl);
        return await timeToOutput(seen, served.paneId, request.send);
      },
      control: () => timeToOutput(raw, alone.paneId, () => paste(raw, alone.paneId)),
      forked: () =>
        timeToOutput(raw, alone.paneId, () =>
          fixture.tmux.run("send-keys", "-t", alone.paneId, "-l", "Say what you find."),
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
      ...durationRows((percent) => `${percent}_ms`, durations.ours, durations.control),
      ...durationRows("forked_send_keys", durations.forked),
    ];
  },
};

export default bench;

/** A request on a connection that stands, so that the time begins with its first byte. */
export async function openRequest(baseUrl: string): Promise<AsyncDisposable & { send(): Promise<void> }> {
  const { hostname, port, host } = new URL(baseUrl);
  const answered = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      data(_, bytes) {
        const status = bytes.toString("latin1", 9, 12);
        if (status === "202") answered.resolve();
        else answered.reject(new Error(`the prompt was answered with ${status}`));
      },
      close: () => answered.reject(new Error("the connection was closed without an answer")),
    },
  });
  const body = JSON.stringify({ kind: "submit_prompt", payload: { prompt } });
  const head = [
    "POST /v1/requests HTTP/1.1",
    `Host: ${host}`,
    "Connection: close",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return {
    async send() {
      socket.write([...head, "", body].join("\r\n"));
      await answered.promise;
    },
    async [Symbol.asyncDispose]() {
      socket.end();
    },
  };
}

/** Milliseconds from the call of `act` to the pane's next output. The pane must be quiet. */
export async function timeToOutput(
  control: ControlConnection,
  paneId: string,
  act: () => Promise<unknown>,
): Promise<number> {
  const painted = Promise.withResolvers<number>();
  const deaf = control.onOutput(paneId, () => painted.resolve(performance.now()));
  // An answered command comes after whatever the pane wrote before.
  await control.run([["display-message", "-p", "quiet"]]);
  const startedMs = performance.now();
  const [endedMs] = await Promise.all([painted.promise, act()]);
  deaf();
  return endedMs - startedMs;
}

async function paste(control: ControlConnection, paneId: string): Promise<void> {
  await Promise.all([
    control.run([["set-buffer", "-b", "bench", "--", Buffer.from(prompt)]]),
    control.run([["paste-buffer", "-d", "-p", "-r", "-b", "bench", "-t", paneId]]),
  ]);
}

/** Empties the composer and waits for the repaint. */
async function clear(control: ControlConnection, paneId: string): Promise<void> {
  await timeToOutput(control, paneId, () => control.run([["send-keys", "-t", paneId, "C-u"]]));
  await Bun.sleep(50);
}
