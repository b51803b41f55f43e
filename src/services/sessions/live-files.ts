import type { CurrentInstance, Manifest } from "../../protocol/files.ts";
import { type GatewayStatus, protocolVersion } from "../../protocol/gateway.ts";
import { renderJson } from "../../protocol/json.ts";
import { afterThisTurn, type Clock } from "../../system/clock.ts";
import { messageOf } from "../../system/errors.ts";
import type { Files } from "../../system/files.ts";
import type { HttpServer } from "../../system/http-server.ts";
import type { Processes } from "../../system/processes.ts";
import type { System } from "../../system/system.ts";
import type { Log } from "../diagnostics/gateway-log.ts";
import type { GatewayIdentity } from "../status/project.ts";
import type { OwnershipWatch } from "./ownership-watch.ts";
import { sessionPaths } from "./roots.ts";
import { openSessionFolder } from "./session-folder.ts";

/** current-instance.json of a gateway that is this very process. */
export function toCurrentInstance(facts: {
  identity: GatewayIdentity;
  processes: Pick<Processes, "selfPid" | "startToken">;
  host: string;
  port: number;
  epoch: number;
  instanceId: string | null;
}): CurrentInstance {
  const { identity, host, port, epoch, instanceId } = facts;
  const pid = facts.processes.selfPid();
  const start = facts.processes.startToken(pid);
  const { auxiliaryWindow: window } = identity;
  return {
    schema_version: 1,
    protocol_version: protocolVersion,
    pid,
    ...(start === null ? {} : { process_start: start }),
    host,
    port,
    execution_mode: identity.executionMode,
    managed_agent_instance_epoch: epoch,
    ...(instanceId === null ? {} : { managed_agent_instance_id: instanceId }),
    ...(window && {
      tmux_window_id: window.windowId,
      tmux_window_index: window.windowIndex,
      tmux_pane_id: window.paneId,
    }),
  };
}

const saveIntervalMs = 100;

export function createLiveFiles(deps: {
  files: Files;
  clock: Clock;
  manifest: Manifest;
  sessionRoot: string;
  /** Once it is gone the records are another gateway's, or nobody's. */
  place: Pick<OwnershipWatch, "gone" | "rewrite" | "keep">;
  onError: (error: unknown) => void;
}) {
  const { files, clock, manifest, sessionRoot, place, onError } = deps;
  const paths = sessionPaths(sessionRoot);
  const folder = openSessionFolder(files, sessionRoot);
  let latest: GatewayStatus | null = null;
  let armed = false;
  let retired = false;
  /** The current-instance record as it is on disk. */
  let recorded: CurrentInstance | null = null;

  /** What cannot be read wishes nothing. */
  function readWish(path: string): string {
    try {
      return files.read(path)?.trim() ?? "";
    } catch {
      return "";
    }
  }

  function saveRecord(instance: CurrentInstance): void {
    files.write("file:current-instance", paths.currentInstance, renderJson(instance));
    recorded = instance;
  }

  /** Tried again with each status while the disk refuses. */
  function followInstance(status: GatewayStatus): void {
    if (recorded === null || retired) return;
    const { managed_agent_instance_epoch, managed_agent_instance_id: id } = status;
    const next: CurrentInstance = {
      ...recorded,
      managed_agent_instance_epoch,
      ...(id === undefined ? {} : { managed_agent_instance_id: id }),
    };
    if (Bun.deepEquals(next, recorded)) return;
    try {
      place.rewrite(() => saveRecord(next));
    } catch (error) {
      onError(error);
    }
  }

  function flush(): void {
    if (latest === null || retired || place.gone()) return;
    const status = latest;
    latest = null;
    try {
      files.write("file:state", paths.state, renderJson(status), { durable: false });
    } catch (error) {
      onError(error);
    }
  }

  /** Our own clients need it as long as the gateway serves. */
  function writeAndKeep(path: string, write: () => void): void {
    write();
    place.keep(path, write);
  }

  return {
    /** Later statuses with another epoch or instance id rewrite the record at once (contract 2.7). */
    publish(instance: CurrentInstance): void {
      saveRecord(instance);
      writeAndKeep(paths.pidFile, () => files.write("file:pid", paths.pidFile, `${instance.pid}\n`));
      folder.writeGatewayManifest(manifest, instance);
    },
    /** The port that the system chose for the gateway before this one; 0 when it chose none. */
    lastPort(): number {
      const text = readWish(paths.lastPort);
      return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : 0;
    },
    /** Null: the port of this gateway was asked for. */
    keepPort(chosen: number | null): void {
      // What it costs is an address, not the gateway.
      try {
        if (chosen === null) files.removeFile("file:last-port", paths.lastPort);
        else files.write("file:last-port", paths.lastPort, `${chosen}\n`, { durable: false });
      } catch (error) {
        onError(error);
      }
    },
    /** Leaves the key of this gateway where our own clients read it, who ask it to prove itself. */
    publishKey: (key: string): void =>
      writeAndKeep(paths.challengeKey, () =>
        files.write("file:challenge-key", paths.challengeKey, `${key}\n`, { durable: false }),
      ),
    /** Leaves the token where our own clients find it by themselves (ruling 12); null removes a former one. */
    publishToken(token: string | null): void {
      if (token === null) files.removeFile("file:token", paths.token);
      else writeAndKeep(paths.token, () => files.write("file:token", paths.token, `${token}\n`));
    },
    /**
     * Written after this turn of the event loop and at most every 100 ms, the last one always; not synced,
     * since every part of it is derived. Nothing is written once the place is gone.
     */
    saveStatus(status: GatewayStatus): void {
      followInstance(status);
      latest = status;
      if (armed) return;
      armed = true;
      // What changed the status has more urgent things to do, such as the paste of a prompt.
      afterThisTurn(flush);
      clock.after(saveIntervalMs, () => {
        armed = false;
        flush();
      });
    },
    /** As `retireGateway` of the folder. Later saves are ignored. */
    retire(epoch: number): void {
      retired = true;
      // A full disk must not keep the gateway from its end: every part of these is derived.
      try {
        folder.retireGateway(manifest, epoch);
      } catch (error) {
        onError(error);
      }
    },
  };
}

/** On any port means on the last one while it is free: followers of a gateway come back there. */
export function listenAgain(
  network: System["network"],
  listener: Parameters<System["network"]["listen"]>[0],
  former: { last: () => number; log: Pick<Log, "line"> },
): HttpServer {
  const last = listener.port === 0 ? former.last() : 0;
  try {
    return network.listen({ ...listener, port: last || listener.port });
  } catch (error) {
    if (last === 0) throw error;
    former.log.line("its last port is not free", { port: last, error: messageOf(error) });
    return network.listen(listener);
  }
}
