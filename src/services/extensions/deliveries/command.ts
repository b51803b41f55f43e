import type { CommandTarget, DeliveryBody } from "../../../protocol/delivery.ts";
import { type Clock, withinTime } from "../../../system/clock.ts";
import { messageOf } from "../../../system/errors.ts";
import type { Processes } from "../../../system/processes.ts";
import type { Environment } from "../../sessions/roots.ts";
import { defaultTimeoutSeconds, type SendResult } from "./message.ts";

/** What of our environment a program gets: no token of ours is among it. */
const passed = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "XDG_RUNTIME_DIR",
  "DBUS_SESSION_BUS_ADDRESS",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
];
/** Of what a program prints. */
const maxOutputBytes = 4096;
/** For the last output of a program that ended, whose pipes another process may keep open. */
const outputGraceMs = 100;

/** Runs the program, in a separate session, with the delivery on its standard input. Never throws. */
export async function runCommand(
  deps: { clock: Clock; processes: Processes; env: Environment; home: string },
  { argv, timeout_seconds }: CommandTarget,
  body: DeliveryBody,
): Promise<SendResult> {
  const { clock, processes } = deps;
  const env = Object.fromEntries(
    passed.flatMap((name) => (deps.env[name] === undefined ? [] : [[name, deps.env[name]]])),
  ) as Record<string, string>;
  const failed = (error: string, answer = ""): SendResult => ({
    ok: false,
    error,
    askedMs: null,
    forGood: false,
    answer,
  });
  let child: ReturnType<Processes["stream"]>;
  try {
    child = processes.stream("process:delivery", argv, {
      env: { ...env, SVC_DELIVERY_ID: body.data.delivery_id },
      cwd: deps.home,
    });
  } catch (error) {
    const { code } = error as { code?: string };
    return failed(`the program cannot be started (${code ?? messageOf(error)})`);
  }
  const output = { text: "", bytes: 0 };
  const read = Promise.all([drain(child.stdout, output), drain(child.stderr, output)]);
  child.give(`${JSON.stringify(body)}\n`);
  const seconds = timeout_seconds ?? defaultTimeoutSeconds;
  const ended = await withinTime(clock, seconds * 1000, child.exited);
  if (ended === null) {
    // The child is not reaped yet, so the group is its own.
    processes.signal(-child.pid, "SIGKILL");
    await child.exited;
    return failed(`the program did not end within ${seconds} s`, output.text);
  }
  await withinTime(clock, outputGraceMs, read);
  if (ended.exitCode === 0) return { ok: true, detail: "exit status 0", answer: output.text };
  const how = ended.signal === null ? `exit status ${ended.exitCode}` : `signal ${ended.signal}`;
  return failed(how, output.text);
}

/** Reads to the end, so that a program never waits for us, and keeps the beginning. */
async function drain(
  stream: AsyncIterable<Uint8Array>,
  into: { text: string; bytes: number },
): Promise<void> {
  for await (const part of stream) {
    const kept = part.subarray(0, Math.max(0, maxOutputBytes - into.bytes));
    into.bytes += kept.length;
    into.text += new TextDecoder().decode(kept);
  }
}
