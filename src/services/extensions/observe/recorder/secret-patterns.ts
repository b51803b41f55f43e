/**
 * One form in which secrets are written. The time to apply it grows with the length of a text and no faster,
 * whatever the text: no pattern begins with a repetition, has two beside each other that fit the same
 * characters, looks behind, or looks ahead without a bound. `tests/bench/redaction.bench.ts`
 * measures each.
 */
export interface SecretPattern {
  name: string;
  /** Global; its first group with a match is what is overwritten, without a group the whole match. */
  pattern: RegExp;
  /** Global; the pattern is looked for in what this one matches. */
  within?: RegExp;
}

/** A value ends at blanks, quotes and what closes a list. */
const value = String.raw`[^\s"'\`,;)}\]<>]`;
/** With a digit among its first 200 characters, or longer. */
const valueWithDigit = `(?=${value}{0,199}\\d|${value}{200})${value}{8,}`;
/** A quote, also one in a JSON text that is itself quoted. */
const quote = String.raw`\\?["']?`;
/** Between a name and its value: one sign, and the blanks that line values up. */
const sign = String.raw`${quote}\s?(?:=>|[:=])(?:[ \t]{2,40}|\s)?`;
const assigned = `${sign}${quote}`;

/** Tokens that are known by how they begin: these are found also where a row ends in them. */
export const tokenPatterns: readonly SecretPattern[] = [
  { name: "Anthropic, OpenAI and OpenRouter key", pattern: /\bsk-[A-Za-z0-9_-]{16,}/g },
  { name: "Stripe key", pattern: /\b[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}/g },
  { name: "GitHub token", pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})/g },
  { name: "GitLab token", pattern: /\bgl(?:pat|ptt|rt|dt|cbt|soat)-[A-Za-z0-9_.-]{16,}/g },
  { name: "Slack token", pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/g },
  { name: "AWS access key id", pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g },
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
  { name: "Slack app token", pattern: /\bxapp-\d-[A-Za-z0-9-]{10,}/g },
  { name: "Cerebras key", pattern: /\bcsk-[a-z0-9]{20,}/g },
  { name: "NVIDIA key", pattern: /\bnvapi-[A-Za-z0-9_-]{20,}/g },
  { name: "Atlassian token", pattern: /\bATATT3[A-Za-z0-9_=-]{20,}/g },
  { name: "Linear key", pattern: /\blin_api_[A-Za-z0-9]{20,}/g },
  { name: "Notion token", pattern: /\bntn_[A-Za-z0-9]{20,}/g },
  { name: "Figma token", pattern: /\bfigd_[A-Za-z0-9_-]{20,}/g },
  { name: "Shopify token", pattern: /\bshp(?:at|ca|pa|ss)_[A-Za-z0-9]{20,}/g },
  { name: "Tailscale key", pattern: /\btskey-[a-z]{2,12}-[A-Za-z0-9-]{16,}/g },
  { name: "Databricks token", pattern: /\bdapi[a-f0-9]{32}/g },
  { name: "Telegram bot token", pattern: /\b\d{8,10}:AA[A-Za-z0-9_-]{32,}/g },
];

/**
 * What looks like a secret in a text without escape sequences. A pattern matches within `longestPrefix`
 * characters of its beginning, so that a stream can be read in parts. The order does not matter: all of them
 * are applied.
 */
export const secretPatterns: readonly SecretPattern[] = [
  ...tokenPatterns,
  { name: "private key block", pattern: /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g },
  {
    name: "Slack web hook",
    pattern: /\bhooks\.slack\.com\/(?:services|workflows)\/([A-Za-z0-9_/-]{12,})/g,
  },
  {
    name: "AWS secret access key",
    pattern: /\baws.{0,24}?(?:secret|key).{0,8}?[=:\s]["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  { name: "bearer token", pattern: new RegExp(`\\bbearer\\s+(${valueWithDigit})`, "gi") },
  {
    name: "authorization header",
    pattern: new RegExp(
      `\\bauthorization${quote}\\s*[:=]\\s*${quote}(?:(?:basic|bearer|token|digest)\\s+)?(?!(?:basic|bearer|token|digest)\\b)(${value}{6,})`,
      "gi",
    ),
  },
  { name: "password in a URL", pattern: /:\/\/[^\s/@:"']*:([^\s/"']{1,400})@/g },
  {
    name: "password assignment",
    pattern: new RegExp(
      `(?:passw(?:or)?d|passphrase|passwd)\\w{0,20}${sign}(?:\\\\?"([^"\\s][^"\\n]{2,200})|\\\\?'([^'\\s][^'\\n]{2,200})|${quote}(${value}{3,}))`,
      "gi",
    ),
  },
  {
    name: "variable in capitals",
    pattern: new RegExp(
      `(?:^|[^a-z])(?:TOKEN|SECRET|KEY|CREDENTIALS?|COOKIE|_PASS|_PWD)[A-Z0-9_]{0,20}=${quote}(${value}{4,})`,
      "g",
    ),
  },
  {
    // Code assigns such names too, so only values with a digit count, and no plain number.
    name: "key assignment",
    pattern: new RegExp(
      `(?:token|secret|credential|cookie|(?:api|access|account|private|auth|secret|encryption)[_.-]?key)[\\w-]{0,20}${assigned}(?![\\d.,]+[kM]?(?![\\w-]))(${valueWithDigit})`,
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
  {
    // Of docker, two numbers are a user and a group.
    name: "user and password of a command line",
    pattern: new RegExp(
      `\\s(?:-u|--user)[\\s=]${quote}[^\\s:"']{1,200}:(?!\\d+(?:\\s|$))(${value}{3,})`,
      "g",
    ),
  },
  { name: "password of sshpass", pattern: new RegExp(`\\bsshpass\\s+-p\\s*${quote}(${value}{3,})`, "g") },
  { name: "entry of a .netrc", pattern: /\blogin\s+\S{1,200}\s+password\s+(\S{3,})/g },
  {
    name: "signature in a URL",
    pattern: new RegExp(`[?&](?:sig|(?:x-\\w{1,10}-)?signature)=(${value}{16,})`, "gi"),
  },
  {
    name: "cookie header",
    pattern: /[\w.-]=([^\s;"']{6,})/g,
    within: /\bcookie["']?:\s?[^\n]{1,400}/gi,
  },
];

/** Characters within which each of the patterns has matched. */
export const longestPrefix = 512;

/**
 * Whether a text may hold any of them: a single look at what nearly every output lacks. It has a hint of each
 * pattern.
 */
export const secretHint =
  /-----BEGIN|\bsk-|[rsp]k_(?:live|test)|gh[pousr]_|github_pat|\bgl[a-z]{2,4}-|xox[abeoprs]-|hooks\.slack|AKIA|ASIA|aws|AIza|ya29|GOCSPX|hf_|npm_|pypi-|SG\.|gsk_|xai-|pplx-|r8_|do[opr]_v1|dckr_|hv[sbr]\.|AGE-SECRET|eyJ|bearer|authorization|:\/\/[^\s/@]{0,200}@|pass|_pwd|token|secret|key|credential|cookie|xapp-|csk-|nvapi-|ATATT3|lin_api_|ntn_|figd_|shp[a-z]{2}_|dapi[a-f0-9]|:AA|\s-u\s|--user|[?&]sig=|signature=/i;

/** Blanks and the frame that tools draw, at the end of a row and at the begin of the next one. */
export const rowEnd = String.raw`[^\S\n]{0,400}(?:[│┃║|][^\S\n]{0,400})?`;
export const nextRow = String.raw`\n+${rowEnd}`;

/**
 * The begin of a token up to the row's end or a part of the next row: a row may cut it before it has its
 * form.
 */
export const cutToken = new RegExp(
  String.raw`\b(?:sk-|[rsp]k_(?:live|test)_|gh[pousr]_|github_pat_|gl[a-z]{2,4}-|xox[abeoprs]-|xapp-|A[KS]IA|AIza|ya29\.|GOCSPX-|hf_|npm_|pypi-|SG\.|gsk_|csk-|nvapi-|xai-|pplx-|r8_|do[opr]_v1_|dckr_|hv[sbr]\.|AGE-SECRET|eyJ|ATATT3|lin_api_|ntn_|figd_|shp[a-z]{2}_|tskey-|dapi)[\w.=-]{0,40}${rowEnd}(?:${nextRow}\S{0,400})?$`,
);
