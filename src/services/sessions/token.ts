interface TokenFacts {
  /** The token that the server was started with. */
  given: string | null;
  /** `--no-token`. */
  declined: boolean;
  /** `--token`. */
  wanted?: boolean;
  /** A server here asked for a token before. */
  required: boolean;
  /** The token file of a server that did not end cleanly, as read. */
  left: string | null;
  /** Whether the operating system says which user calls. */
  knowsCallers: boolean;
  /** A new one. */
  make: () => string;
}

/** What an HTTP header can carry as a token: a file that was damaged holds none. */
const usable = /^[\x21-\x7e]{8,}$/;

/**
 * The token that a server asks its callers for; null lets everyone in who reaches the address. One that was
 * started with `--token`, or asked for a token once, asks for one after every restart, until somebody says
 * `--no-token`. Where callers of other users cannot be distinguished there is always one. Source: security.md
 * rule 5.
 */
export function decideToken(facts: TokenFacts): string | null {
  if (facts.given !== null) return facts.given;
  if (facts.declined) return null;
  if (facts.required || facts.wanted)
    return facts.left !== null && usable.test(facts.left) ? facts.left : facts.make();
  return facts.knowsCallers ? null : facts.make();
}
