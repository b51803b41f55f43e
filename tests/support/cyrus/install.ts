import { existsSync, writeFileSync } from "node:fs";
import { installPackages } from "../debian-packages.ts";

const needed = ["/usr/lib/cyrus/bin/httpd", "/usr/lib/cyrus/bin/lmtpd", "/usr/sbin/saslpasswd2"];
const policy = "/usr/sbin/policy-rc.d";

/**
 * Installs the mail server that tests run against, once for a machine. Throws, with what to type, when it
 * cannot.
 */
export function installCyrus(): Promise<void> {
  return installPackages({
    purpose: "the tests of JMAP need Cyrus IMAP with httpd",
    packages: ["cyrus-imapd", "cyrus-caldav", "cyrus-admin", "sasl2-bin"],
    isThere: () => needed.every((path) => existsSync(path)),
    prepare() {
      // Without this the packages start servers of their own on all interfaces.
      if (!existsSync(policy)) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
    },
  });
}
