import { createSystem } from "../../src/system/system.ts";
import { serveUntilTold } from "./gateway-process.ts";

// The gateway of the session named by the first argument. A signal makes an error that reaches nobody: a
// rejected promise for SIGUSR1, an exception for SIGUSR2. Says `ready <base url>` when it serves.

process.on("SIGUSR1", () => void Promise.reject(new Error("nobody awaits this")));
process.on("SIGUSR2", () => {
  throw new Error("nobody catches this");
});
await serveUntilTold({ system: createSystem(), sessionRoot: process.argv[2] ?? "" });
