import { rmSync } from "node:fs";
import { runStep } from "./steps.ts";

/**
 * Signs a file of a release with an SSH key, as `FILE.sig`. Throws unless `signers` has the public part of
 * the key for releases: nobody could verify the signature.
 */
export async function signFile(
  path: string,
  { key, signers }: { key: string; signers: string },
): Promise<void> {
  // ssh-keygen asks before it replaces one.
  rmSync(`${path}.sig`, { force: true });
  const sign = await runStep({
    name: "sign",
    command: ["ssh-keygen", "-Y", "sign", "-q", "-f", key, "-n", "svc-release", path],
  });
  if (!sign.ok) throw new Error(`${path} could not be signed\n${sign.output}`);
  const verify = 'ssh-keygen -Y verify -q -f "$1" -I release -n svc-release -s "$2.sig" < "$2"';
  const command = ["sh", "-c", verify, "sh", signers, path];
  const verified = await runStep({ name: "verify", command });
  if (!verified.ok) throw new Error(`${signers} does not verify the signature of ${key}\n${verified.output}`);
}
