import type { JmapLogin } from "./client.ts";

/**
 * Where accounts on a mail server come from. A server with a management API gets one that makes the account and a
 * random password for it; `preProvisioned` is for one whose accounts an administrator made (spec/mailbox-agui.md B).
 */
export interface JmapProvisioner {
  /** The base of the API that was asked, or null. Stands in the binding. */
  readonly managementUrl: string | null;
  /** An account that receives mail to `address` and how it logs in. Making the same one twice is safe. */
  ensure(account: { address: string; principalId: string }): Promise<JmapLogin>;
}

/** The account is there already. */
export function preProvisioned(login: JmapLogin): JmapProvisioner {
  return { managementUrl: null, ensure: async () => login };
}
