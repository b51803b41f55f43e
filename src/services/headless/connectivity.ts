import type { Manifest } from "../../protocol/files.ts";
import type { Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import { createLoop, type Lifecycle } from "../../system/lifecycle.ts";
import type { Connectivity as AgentConnectivity } from "../agent/agent.ts";
import { agentPane, type Tmux, type TmuxPane } from "../terminal/tmux/command.ts";
import { instanceMarkOf } from "./turn-request.ts";

/** Whether a headless agent is there: its tmux session with its own pane, and a manifest that can be read. */
export interface HeadlessConnectivity extends Lifecycle {
  /** By the latest look. */
  state(): ConnectivityState;
  /** Looks now. Never rejects. */
  look(): Promise<ConnectivityState>;
  /** Something may have changed: look soon. */
  wake(): void;
  onChange(listener: () => void): () => void;
}

export type ConnectivityState =
  | { connected: true; pane: TmuxPane; manifest: Manifest; instanceId: string }
  | { connected: false; detail: string; manifest: Manifest | null; unusable?: AgentConnectivity["unusable"] };

const resyncMs = 30_000;

export function createHeadlessConnectivity(deps: {
  clock: Clock;
  tmux: Pick<Tmux, "panes">;
  readManifest: () => Manifest;
  /** A look failed; the next one comes all the same. */
  onError: (error: unknown) => void;
  /** Why the values that turns need are lost, or null. */
  environmentFault: (manifest: Manifest) => string | null;
}): HeadlessConnectivity {
  const listeners = new Set<() => void>();
  let state: ConnectivityState = {
    connected: false,
    detail: "the agent was not looked for yet",
    manifest: null,
  };
  /** Looks so far, and the one that `state` is of. */
  let begun = 0;
  let newest = 0;

  async function observe(): Promise<ConnectivityState> {
    let manifest: Manifest | null = null;
    const absent = (detail: string) => ({ connected: false, detail, manifest }) as const;
    try {
      manifest = deps.readManifest();
    } catch (error) {
      return { ...absent(messageOf(error)), unusable: "manifest_unusable" };
    }
    const lost = deps.environmentFault(manifest);
    if (lost !== null) return { ...absent(lost), unusable: "launch_environment_lost" };
    try {
      const { tmux_session_name: session, tmux } = manifest;
      const panes = await deps.tmux.panes(session);
      const pane = agentPane(panes, tmux.primary_pane_id ?? null);
      if (!pane || pane.dead) {
        return absent(
          panes.length === 0
            ? `tmux session ${session} is gone`
            : "the agent's window is gone from its tmux session",
        );
      }
      return { connected: true, pane, manifest, instanceId: headlessInstanceId(pane, manifest) };
    } catch (error) {
      return absent(messageOf(error));
    }
  }

  async function look(): Promise<ConnectivityState> {
    begun += 1;
    const own = begun;
    const seen = await observe();
    // One that began later has read the newer manifest: an instance that was left does not come back.
    if (own < newest) return state;
    newest = own;
    const before = state;
    state = seen;
    if (before.connected !== state.connected || instanceOf(before) !== instanceOf(state)) {
      for (const tell of [...listeners]) tell();
    }
    return state;
  }

  const loop = createLoop({
    clock: deps.clock,
    async turn() {
      await look();
      return resyncMs;
    },
    onError: deps.onError,
  });

  return {
    state: () => state,
    look,
    wake: loop.wake,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    start: loop.start,
    stop: loop.stop,
  };
}

/**
 * Identifies the instance of the agent. Its pane has another process with each turn, so a relaunch changes a
 * mark in the manifest instead (ruling 5).
 */
export function headlessInstanceId(pane: TmuxPane, manifest: Manifest): string {
  const mark = instanceMarkOf(manifest) ?? manifest.registry_generation_id;
  return `tmux-${pane.sessionCreated}-${pane.sessionId}-${pane.paneId}-${mark}`;
}

function instanceOf(state: ConnectivityState): string | null {
  return state.connected ? state.instanceId : null;
}
