import type { CurrentInstance } from "../../protocol/files.ts";
import type { GatewayStatus } from "../../protocol/gateway.ts";
import { renderJson } from "../../protocol/json.ts";
import type { Clock } from "../../system/clock.ts";
import type { Files } from "../../system/files.ts";
import { sessionPaths } from "./roots.ts";

/**
 * What a running gateway keeps on disk about itself: the current-instance record and pid, by which others find
 * it, and state.json, the last status. Source: contract 2.7, 2.8.
 */
export interface LiveFiles {
  publish(instance: CurrentInstance): void;
  /** Leaves the token where our own clients find it by themselves (ruling 12); null removes a former one. */
  publishToken(token: string | null): void;
  /** Written at most every 100 ms, the last one always; not synced, since every part of it is derived. */
  saveStatus(status: GatewayStatus): void;
  /** Leaves `offline` as the status and removes the live records. Later saves are ignored. */
  retire(offline: GatewayStatus): void;
}

const saveEveryMs = 100;

export function createLiveFiles(deps: {
  files: Files;
  clock: Clock;
  sessionRoot: string;
  onError: (error: unknown) => void;
}): LiveFiles {
  const { files, clock, onError } = deps;
  const paths = sessionPaths(deps.sessionRoot);
  let latest: GatewayStatus | null = null;
  let armed = false;
  let retired = false;

  function flush(): void {
    if (latest === null || retired) return;
    const status = latest;
    latest = null;
    try {
      files.write("file:state", paths.state, renderJson(status), { durable: false });
    } catch (error) {
      onError(error);
    }
  }

  return {
    publish(instance) {
      files.write("file:current-instance", paths.currentInstance, renderJson(instance));
      files.write("file:pid", paths.pidFile, `${instance.pid}\n`);
    },
    publishToken(token) {
      if (token === null) files.remove("file:token", paths.token);
      else files.write("file:token", paths.token, `${token}\n`);
    },
    saveStatus(status) {
      latest = status;
      if (armed) return;
      armed = true;
      flush();
      clock.after(saveEveryMs, () => {
        armed = false;
        flush();
      });
    },
    retire(offline) {
      retired = true;
      files.remove("file:current-instance", paths.currentInstance);
      files.remove("file:pid", paths.pidFile);
      files.remove("file:token", paths.token);
      files.write("file:state", paths.state, renderJson(offline));
    },
  };
}
