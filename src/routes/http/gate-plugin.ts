import { Elysia, type PreContext } from "elysia";
import { type Guard, judge } from "./gate.ts";

/** Runs the guards before every route of an app. */
export function httpGate(guards: readonly Guard[]) {
  const onRequest = ({ request, set }: PreContext) => {
    const verdict = judge(guards, request, set.headers);
    if (verdict === null) return;
    set.status = verdict.status;
    return verdict.detail === null
      ? new Response(null, { status: verdict.status, headers: set.headers as Record<string, string> })
      : { detail: verdict.detail };
  };
  // `isAsync: false`: Elysia would await a hook that returns the result of a call.
  const hook = { fn: onRequest, isAsync: false } as unknown as typeof onRequest;
  return new Elysia({ name: "http-gate" }).onRequest(hook);
}
