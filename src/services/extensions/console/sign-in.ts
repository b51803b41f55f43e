import { type Clock, toTimestamp } from "../../../system/clock.ts";
import { sha256 } from "../../../system/digest.ts";
import type { Ids } from "../../../system/ids.ts";

/**
 * Signs browsers in at a server that asks for a token. A one-time code, given to a client that shows the
 * token, is exchanged for a cookie. Codes and cookies are kept in memory as digests: a server that starts
 * again knows none.
 */
export type SignIn = ReturnType<typeof createSignIn>;

const codeMs = 120_000;
/** Without a request for this long a browser is signed out. */
const sessionMs = 12 * 3600_000;
const maxCodes = 16;
const maxSessions = 64;

export function createSignIn({ clock, ids }: { clock: Clock; ids: Ids }) {
  // Browsers send a cookie to every port of a host: the name says which server it is for.
  const name = `svc-console-${ids.hex(8)}`;
  const attributes = "Path=/; HttpOnly; SameSite=Strict";
  /** Digest to the time at which it ends, the oldest first. */
  const codes = new Map<string, number>();
  const sessions = new Map<string, number>();

  function keep(map: Map<string, number>, secret: string, until: number, max: number): void {
    map.delete(secret);
    for (const [digest, end] of map) {
      if (map.size < max && end > clock.monotonicMs()) break;
      map.delete(digest);
    }
    map.set(secret, until);
  }

  function digestIn(cookieHeader: string | null): string | null {
    const pairs = (cookieHeader ?? "").split(";").map((pair) => pair.trim());
    const value = pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
    return value === undefined ? null : sha256(value);
  }

  return {
    createCode(): { code: string; expiresAtUtc: string } {
      const code = ids.hex(32);
      keep(codes, sha256(code), clock.monotonicMs() + codeMs, maxCodes);
      return { code, expiresAtUtc: toTimestamp(clock.nowMs() + codeMs) };
    },
    /** The value of `Set-Cookie`; null for a code that was used, is too old or is another server's. */
    redeem(code: string): string | null {
      const digest = sha256(code);
      const until = codes.get(digest) ?? 0;
      codes.delete(digest);
      if (until <= clock.monotonicMs()) return null;
      const session = ids.hex(32);
      keep(sessions, sha256(session), clock.monotonicMs() + sessionMs, maxSessions);
      return `${name}=${session}; ${attributes}; Max-Age=${sessionMs / 1000}`;
    },
    /** Whether a `Cookie` header has the cookie of a browser that signed in. */
    accepts(cookieHeader: string | null): boolean {
      const digest = digestIn(cookieHeader);
      if (digest === null || (sessions.get(digest) ?? 0) <= clock.monotonicMs()) return false;
      keep(sessions, digest, clock.monotonicMs() + sessionMs, maxSessions + 1);
      return true;
    },
    /** Ends the session of the cookie. Returns the value of `Set-Cookie` that removes it. */
    signOut(cookieHeader: string | null): string {
      const digest = digestIn(cookieHeader);
      if (digest !== null) sessions.delete(digest);
      return `${name}=; ${attributes}; Max-Age=0`;
    },
  };
}
