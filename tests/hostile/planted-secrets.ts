import { createHash } from "node:crypto";

const mark = "planted-secret";

/** What every secret that a test plants looks like: what a whole run leaves is searched for it. */
export const plantedSecret = new RegExp(`${mark}-[a-z-]+-[0-9a-f]{12}`);

/** One secret of each kind, other ones for each seed. */
export function secretsOf(seed: string) {
  const secret = (kind: string) =>
    `${mark}-${kind}-${createHash("sha256").update(`${seed} ${kind}`).digest("hex").slice(0, 12)}`;
  return {
    gatewayToken: secret("gateway-token"),
    coordinatorToken: secret("coordinator-token"),
    prompt: secret("prompt"),
    mailBody: secret("mail-body"),
    typed: secret("typed"),
    variable: secret("variable"),
    sharedToken: secret("shared-token"),
  };
}
