/** One form in which secrets are written. */
export interface SecretPattern {
  name: string;
  /** Global; its first group is what is overwritten, without a group the whole match. */
  pattern: RegExp;
}

/** A value ends at blanks, quotes and what closes a list. */
const value = String.raw`[^\s"'\`,;)}\]<>]`;

/**
 * What looks like a secret in a text without escape sequences. A pattern matches within `longestPrefix` characters of
 * its beginning, so that a stream can be read in parts. The order does not matter: all of them are applied.
 */
export const secretPatterns: readonly SecretPattern[] = [
  { name: "private key block", pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g },
  { name: "Anthropic, OpenAI and OpenRouter key", pattern: /\bsk-[A-Za-z0-9_-]{16,}/g },
  { name: "Stripe key", pattern: /\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}/g },
  { name: "GitHub token", pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})/g },
  { name: "GitLab token", pattern: /\bgl(?:pat|ptt|rt|dt|cbt|soat)-[A-Za-z0-9_.-]{16,}/g },
  { name: "Slack token", pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g },
  {
    name: "Slack web hook",
    pattern: /\bhooks\.slack\.com\/(?:services|workflows)\/([A-Za-z0-9_/-]{12,})/g,
  },
  { name: "AWS access key id", pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
  {
    name: "AWS secret access key",
    pattern: /\baws.{0,24}?(?:secret|key).{0,8}?[=:\s]["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  {
    name: "Google key",
    pattern: /\b(?:AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_.-]{20,}|GOCSPX-[\w-]{20,})/g,
  },
  { name: "Hugging Face token", pattern: /\bhf_[A-Za-z0-9]{20,}/g },
  { name: "npm token", pattern: /\bnpm_[A-Za-z0-9]{30,}/g },
  { name: "PyPI token", pattern: /\bpypi-[A-Za-z0-9_-]{16,}/g },
  { name: "SendGrid key", pattern: /\bSG\.[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]+)?/g },
  { name: "Groq key", pattern: /\bgsk_[A-Za-z0-9]{20,}/g },
  { name: "xAI key", pattern: /\bxai-[A-Za-z0-9]{20,}/g },
  { name: "Perplexity key", pattern: /\bpplx-[A-Za-z0-9]{20,}/g },
  { name: "Replicate token", pattern: /\br8_[A-Za-z0-9]{20,}/g },
  { name: "DigitalOcean token", pattern: /\bdo[opr]_v1_[a-f0-9]{20,}/g },
  { name: "Docker token", pattern: /\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{16,}/g },
  { name: "Vault token", pattern: /\bhv[sbr]\.[A-Za-z0-9_-]{20,}/g },
  { name: "age key", pattern: /\bAGE-SECRET-KEY-1[A-Z0-9]{20,}/g },
  { name: "JSON Web Token", pattern: /\beyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,2}/g },
  { name: "bearer token", pattern: new RegExp(`\\bbearer\\s+((?=${value}*\\d)${value}{8,})`, "gi") },
  {
    name: "authorization header",
    pattern: new RegExp(
      `\\bauthorization["']?\\s*[:=]\\s*["']?(?:(?:basic|bearer|token|digest)\\s+)?(?!(?:basic|bearer|token|digest)\\b)(${value}{6,})`,
      "gi",
    ),
  },
  { name: "password in a URL", pattern: /:\/\/[^\s/@:"']*:([^\s/@"']{1,400})@/g },
  {
    name: "password assignment",
    pattern: new RegExp(
      `\\b[\\w.-]{0,60}(?:passw(?:or)?d|passphrase|passwd)\\w{0,20}["']?\\s?(?:=>|[:=])\\s?["']?(${value}{3,})`,
      "gi",
    ),
  },
  {
    name: "variable in capitals",
    pattern: new RegExp(
      `\\b[A-Z0-9_]{0,60}(?:TOKEN|SECRET|KEY|CREDENTIALS?|COOKIE)[A-Z0-9_]{0,20}=["']?(${value}{4,})`,
      "g",
    ),
  },
  {
    // Code assigns such names too, so only values with a digit count, and no plain number.
    name: "key assignment",
    pattern: new RegExp(
      `\\b[\\w.-]{0,60}(?:token|secret|credential|cookie|(?:api|access|private|auth|secret|encryption)[_.-]?key)[\\w-]{0,20}["']?\\s?(?:=>|[:=])\\s?["']?(?![\\d.,]+[kM]?(?![\\w-]))((?=${value}*\\d)${value}{8,})`,
      "gi",
    ),
  },
  {
    name: "option of a command line",
    pattern: new RegExp(
      `\\s--?(?:pass(?:word|wd|phrase)?|token|api-?key|secret|auth-token|access-token)(?:\\s+|=)["']?(?!-)(${value}{4,})`,
      "gi",
    ),
  },
];

/** Characters within which each of the patterns has matched. */
export const longestPrefix = 512;

/**
 * Whether a text may hold any of them: a single look at what nearly every output lacks. It has a hint of each pattern.
 */
export const secretHint =
  /-----BEGIN|\bsk-|[rsp]k_(?:live|test)|gh[pousr]_|github_pat|\bgl[a-z]{2,4}-|xox[abeoprs]-|hooks\.slack|AKIA|ASIA|aws|AIza|ya29|GOCSPX|hf_|npm_|pypi-|SG\.|gsk_|xai-|pplx-|r8_|do[opr]_v1|dckr_|hv[sbr]\.|AGE-SECRET|eyJ|bearer|authorization|:\/\/[^\s/@]{0,200}@|pass|token|secret|key|credential|cookie/i;
