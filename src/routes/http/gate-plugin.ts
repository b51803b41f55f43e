import { Elysia, type PreContext } from "elysia";
import { createGate, type GateOptions } from "./gate.ts";

/** The gate before every route of an app. */
export function httpGate(options: GateOptions) {
  const judge = createGate(options);
  const onRequest = ({ request, set }: PreContext) => {
    const judged = judge(request, set.headers);
    if (judged === undefined || judged instanceof Response) return judged;
    set.status = judged.status;
    return { detail: judged.detail };
  };
  // By itself Elysia takes a hook that returns the result of a call for one that returns a promise, and
  // awaits it.
  const hook = { fn: onRequest, isAsync: false } as unknown as typeof onRequest;
  return new Elysia({ name: "http-gate", seed: options }).onRequest(hook);
}
