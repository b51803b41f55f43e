import { ServiceError } from "../../../system/errors.ts";
import type { Ids } from "../../../system/ids.ts";
import { createExclusive } from "../../../system/locks.ts";
import type { Steps } from "../../../system/steps.ts";
import { dropControl, stripControl } from "../../../system/visible.ts";
import type { KeyToken } from "../keys.ts";
import type { ControlConnection } from "./control.ts";
import type { TmuxMutex } from "./mutex.ts";
import { ifFormat, showFormat } from "./protocol.ts";

/**
 * The only way to write to one pane: tasks run one after another in the order asked, and a task's writer is
 * of use only while the task runs. A task that throws rejects its own caller only.
 */
export interface ExclusivePane {
  exclusive<T>(task: (pane: PaneWriter) => Promise<T>): Promise<T>;
  /** True while a task runs or waits: another one would have to wait, too. */
  busy(): boolean;
}

export function createExclusivePane(deps: PaneWriterDeps): ExclusivePane {
  const line = createExclusive();
  const writer = createPaneWriter(deps);
  return {
    busy: line.busy,
    exclusive: (task) =>
      line.run(async () => {
        let open = true;
        const inside =
          <A extends unknown[], R>(write: (...given: A) => Promise<R>) =>
          async (...given: A): Promise<R> => {
            if (!open) throw new Error("the pane was written to outside its exclusive task");
            return write(...given);
          };
        try {
          return await task({
            paste: inside(writer.paste),
            keys: inside(writer.keys),
            enter: inside(writer.enter),
            raw: inside(writer.raw),
            leaveMode: inside(writer.leaveMode),
          });
        } finally {
          open = false;
        }
      }),
  };
}

/** The pane, until it is disposed of. */
export interface ReservedPane extends Disposable {
  pane: PaneWriter;
}

/** Takes the pane as a task of `exclusive` does, for a caller that cannot be one task. */
export async function reservePane({ exclusive }: Pick<ExclusivePane, "exclusive">): Promise<ReservedPane> {
  const reserved = Promise.withResolvers<ReservedPane>();
  const released = Promise.withResolvers<void>();
  exclusive(async (pane) => {
    reserved.resolve({ pane, [Symbol.dispose]: released.resolve });
    await released.promise;
  }).catch(reserved.reject);
  return reserved.promise;
}

/**
 * Writes to one pane, for one caller at a time (see `ExclusivePane`). A write leaves copy mode first, takes
 * the pane out of those that tmux types into together (`synchronize-panes`), where an Enter would run in a
 * person's shell, and throws `unavailable` for a pane that is dead, closed to input or gone, or when tmux is
 * gone: nothing was typed then. Whether the right program reads the pane is for the caller to have looked at.
 * Steps: `pane.mode`, `pane.buffer`, `pane.paste`, `pane.keys`.
 */
export type PaneWriter = ReturnType<typeof createPaneWriter>;

interface PaneWriterDeps {
  control: ControlConnection;
  mutex: TmuxMutex;
  ids: Ids;
  steps: Steps;
  /** Asked at each write; null when the agent has no pane. */
  paneId: () => string | null;
}

/** Bytes of a prompt in one line to tmux; each becomes up to four characters. */
const CHUNK_BYTES = 16_384;
/** Bytes of one line that a keyboard sent. */
const RAW_BYTES = 1024;
/** How long a paste waits for its turn: what was seen of the pane before must still hold. */
const PASTE_TURN_WITHIN_MS = 200;

export function createPaneWriter(deps: PaneWriterDeps) {
  const { control, mutex, ids, steps } = deps;

  /** See `TmuxMutex`: copy mode ends, and a buffer comes and goes. */
  async function inTurn<T>(turn: Parameters<TmuxMutex["take"]>[0], act: () => Promise<T>): Promise<T> {
    const release = await mutex.take(turn);
    try {
      return await act();
    } finally {
      release();
    }
  }

  function pane(): string {
    const id = deps.paneId();
    if (id === null) throw new ServiceError("unavailable", "the agent has no pane");
    return id;
  }

  async function step<T>(label: string, run: () => Promise<T>): Promise<T> {
    steps.before(label);
    const result = await run();
    steps.after(label);
    return result;
  }

  /** Whether the pane is in a mode. What is typed into it reaches no other pane afterwards. */
  async function inMode(target: string): Promise<boolean> {
    const format = `#{pane_id} ${CLOSED} #{?pane_in_mode,1,0} #{?synchronize-panes,1,0}`;
    const [facts = ""] = await control.run([showFormat(target, format)]);
    const [found, closed, mode, synchronized] = facts.split(" ");
    // tmux answers for a pane that is no more, too: with nothing in it.
    if (found !== target) throw new ServiceError("unavailable", "the agent's pane is gone");
    if (closed !== "0") throw closedPane();
    if (synchronized === "1") {
      const setOff = ["set-option", "-p", "-t", target, "synchronize-panes", "off"];
      await step("pane.mode", () => control.run([setOff]));
    }
    return mode !== "0";
  }

  /** Every mode of the pane, also those that lie on top of another. */
  const endMode = (target: string) =>
    step("pane.mode", () => control.run([["copy-mode", "-q", "-t", target]]));

  async function leaveMode(): Promise<boolean> {
    const target = pane();
    const on = await inMode(target);
    // FIFO with the full wait: without the mutex this ends a tmux 3.3a server.
    if (on) await inTurn({}, () => endMode(target));
    return on;
  }

  async function paste(...pieces: string[]): Promise<void> {
    const clean = pieces.map((piece, at) =>
      at === pieces.length - 1 ? stripControl(piece) : dropControl(piece),
    );
    if (clean.join("").trim() === "") throw new ServiceError("invalid_request", "the text is blank");
    await inTurn({ waitMs: PASTE_TURN_WITHIN_MS, brief: true }, async () => {
      for (const piece of clean) if (piece !== "") await pasteBuffer(piece);
    });
  }

  async function pasteBuffer(clean: string): Promise<void> {
    const buffer = `svc-${ids.hex(8)}`;
    try {
      steps.before("pane.buffer");
      const bytes = Buffer.from(clean, "utf8");
      const filled = fill(buffer, bytes);
      // A buffer of one piece is there or not, and its paste fails without it: both go in one turn. Of more
      // it is awaited.
      if (bytes.length > CHUNK_BYTES) await filled;
      steps.after("pane.buffer");
      const pasted = step("pane.paste", () => release(buffer, UNFIT));
      const [taken] = await Promise.all([pasted, filled]);
      if (taken) return;
      const target = pane();
      if (await inMode(target)) await endMode(target);
      if (!(await step("pane.paste", () => release(buffer, CLOSED)))) throw closedPane();
    } catch (error) {
      control.run([["delete-buffer", "-b", buffer]]).catch(() => {});
      throw error;
    }
  }

  async function fill(buffer: string, bytes: Buffer): Promise<void> {
    const parts: Promise<string[]>[] = [];
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      const chunk = bytes.subarray(at, at + CHUNK_BYTES);
      parts.push(control.run([["set-buffer", ...(at > 0 ? ["-a"] : []), "-b", buffer, "--", chunk]]));
    }
    await Promise.all(parts);
  }

  /**
   * tmux itself looks at the pane and pastes in one go: tmux 3.3a loses its whole server to a paste into a
   * dead pane, so no moment may pass between the two. False when the pane is as `against` says, or gone.
   */
  async function release(buffer: string, against: string): Promise<boolean> {
    const target = pane();
    const unfit = `#{?#{==:#{pane_id},${target}},${against},1}`;
    const write = ["paste-buffer", "-d", "-p", "-r", "-b", buffer, "-t", target];
    const [answer] = await control.run([ifFormat(target, unfit, { met: refuse, unmet: write })]);
    return answer !== REFUSED;
  }

  async function keys(tokens: readonly KeyToken[]): Promise<void> {
    await leaveMode();
    const target = pane();
    for (const token of tokens) {
      const text = token.kind === "text" ? dropControl(token.text) : "";
      if (token.kind === "text" && text === "") continue;
      const press = token.kind === "key" ? [token.name] : ["-l", "--", text];
      await step("pane.keys", () => control.run([["send-keys", "-t", target, ...press]]));
    }
  }

  async function enter(at: { row: number; column: number } | null): Promise<boolean> {
    if (at === null) {
      await keys([{ kind: "key", name: "Enter" }]);
      return true;
    }
    const target = pane();
    const isThere = `#{&&:#{==:#{cursor_x},${at.column}},#{==:#{cursor_y},${at.row}}}`;
    const fit = `#{?#{==:#{pane_id},${target}},#{?${UNFIT},0,${isThere}},0}`;
    const press = ["send-keys", "-t", target, "Enter"];
    const guarded = ifFormat(target, fit, { met: press, unmet: refuse });
    const [answer] = await step("pane.keys", () => control.run([guarded]));
    if (answer !== REFUSED) return true;
    await leaveMode();
    return false;
  }

  async function raw(text: string): Promise<void> {
    await leaveMode();
    const target = pane();
    const bytes = Buffer.from(text, "utf8");
    for (let at = 0; at < bytes.length; at += RAW_BYTES) {
      const codes = [...bytes.subarray(at, at + RAW_BYTES)].map((byte) => byte.toString(16));
      await step("pane.keys", () => control.run([["send-keys", "-t", target, "-H", ...codes]]));
    }
  }

  return {
    /**
     * Puts each piece in front of the program as one bracketed paste (brackets only when the program asked for
     * them), byte for byte but without control characters, and presses nothing. Nothing but blanks is
     * `invalid_request`.
     */
    paste /** Presses and types in the order given; text without its control characters. No Enter is implied. */,
    keys /**
     * Presses Enter if the cursor is `at` that place at this very moment, which tmux decides. False, with
     * nothing pressed, when it is elsewhere, because somebody typed, or when a mode was on that would have
     * taken the key. Null: wherever it is.
     */,
    enter /** Sends what a keyboard sent, byte for byte. */,
    raw /** Ends copy mode and its kin, which would take the keys. Returns whether one was on. */,
    leaveMode,
  };
}

const CLOSED = "#{?#{||:#{pane_dead},#{pane_input_off}},1,0}";
/** Closed, in a mode that would take the text, or typed into together with other panes. */
const UNFIT = "#{?#{||:#{||:#{pane_in_mode},#{synchronize-panes}},#{||:#{pane_dead},#{pane_input_off}}},1,0}";
const REFUSED = "refused";
const refuse = ["display-message", "-p", REFUSED];

function closedPane(): ServiceError {
  return new ServiceError("unavailable", "the pane is dead or closed to input");
}
