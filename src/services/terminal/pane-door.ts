import { createExclusive } from "../../system/exclusive.ts";
import { createPaneWriter, type PaneWriter, type PaneWriterDeps } from "./tmux-pane-writer.ts";

export type { PaneWriter };

/**
 * The only way to write to one pane: tasks run one after another in the order asked, and a task's writer is of
 * use only while the task runs. A task that throws rejects its own caller only.
 */
export interface PaneDoor {
  exclusive<T>(task: (pane: PaneWriter) => Promise<T>): Promise<T>;
  /** True while a task runs or waits: another one would have to wait, too. */
  busy(): boolean;
}

export function createPaneDoor(deps: PaneWriterDeps): PaneDoor {
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
            leaveMode: inside(writer.leaveMode),
          });
        } finally {
          open = false;
        }
      }),
  };
}
